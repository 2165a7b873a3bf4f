/** Keys and mouse, on request. */

import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons";

const KEYS = [
  ["?", "Open this help"],
  ["← →", "Move the cursor along a focused chart; with Shift, faster"],
  ["Home, End", "First and last point of the chart"],
  ["+ and −", "Zoom in and out about the cursor"],
  ["0", "Show all steps"],
  ["Drag", "Zoom to the dragged stretch"],
  ["Alt + Scroll", "Zoom about the pointer"],
  ["Shift + Drag", "Move the window"],
  ["Double-click", "Show all steps"],
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
      <dl>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
