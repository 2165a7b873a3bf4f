import { count } from "../../format/number";
import { setView, setZoom, view } from "../../state/store";
import type { XAxis } from "../../state/view";
import { Icon } from "../../ui/icons";
import { Segmented } from "../../ui/segmented";

const X_CHOICES: readonly { value: XAxis; title: string }[] = [
  { value: "step", title: "Step" },
  { value: "relative", title: "Relative" },
  { value: "wall", title: "Wall" },
];

/** Settings of all charts of the panel, and the window. */
export function StepsToolbar() {
  const { x, logY, ignoreOutliers, from, to } = view.value;
  const zoomed = from !== null || to !== null;
  return (
    <div class="toolbar" role="group" aria-label="Chart settings">
      <Segmented label="Horizontal axis" value={x} choices={X_CHOICES} onChange={(value) => setView({ x: value })} />
      <label class="check">
        <input type="checkbox" checked={logY} onChange={(event) => setView({ logY: event.currentTarget.checked })} />
        Log scale
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={ignoreOutliers}
          onChange={(event) => setView({ ignoreOutliers: event.currentTarget.checked })}
        />
        Ignore outliers
      </label>
      <span class="toolbar-gap" />
      {zoomed ? (
        <>
          <span class="window" role="status">
            Steps {from === null ? "first" : count(from)} – {to === null ? "last" : count(to)}
          </span>
          <button type="button" class="tool" onClick={() => setZoom(null, null)}>
            <Icon name="zoomOut" />
            All steps
          </button>
        </>
      ) : (
        <span class="hint">Drag or Alt + Scroll to zoom, double-click to reset</span>
      )}
    </div>
  );
}
