/** Keys and mouse, on request. */

import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons";

const CHART_KEYS = [
  ["?", "Open this help"],
  ["← →", "Move the cursor along a focused chart; with Shift, faster"],
  ["Home, End", "First and last point of the chart"],
  ["+ and −", "Zoom in and out about the cursor"],
  ["0", "Show all steps"],
  ["Drag", "Zoom to the dragged stretch"],
  ["Alt + Scroll", "Zoom about the pointer"],
  ["Shift + Drag", "Move the window"],
  ["Double-click", "Show all steps"],
  ["Enter", "Choose the profiled step at the cursor"],
] as const;

const TIMELINE_KEYS = [
  ["W and S", "Zoom in and out, about the pointer or the selected event; + and − do the same"],
  ["A and D", "Move the window; with Shift, faster"],
  ["← →", "Select the event before or after in its row"],
  ["↑ ↓", "Select the event around, or the longest inside"],
  ["F", "Zoom to the selected event"],
  ["L", "From device work to its launch, and back"],
  ["/", "Search"],
  ["N", "Next hit of the search; with Shift, the one before"],
  ["[ and ]", "Step before, next step"],
  ["0", "Show the whole step"],
  ["Esc", "Unselect"],
] as const;

export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (open && !element?.open) element?.showModal();
    if (!open && element?.open) element.close();
  }, [open]);
  return (
    <dialog class="help" ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys and mouse</h2>
        <button type="button" class="tool" onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </button>
      </header>
      <h3>Charts</h3>
      <KeyList keys={CHART_KEYS} />
      <h3>Timeline of a profiled step</h3>
      <KeyList keys={TIMELINE_KEYS} />
    </dialog>
  );
}

function KeyList({ keys }: { keys: readonly (readonly [key: string, meaning: string])[] }) {
  return (
    <dl>
      {keys.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
