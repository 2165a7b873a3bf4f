import { type PaintedStage } from "../../state/definitions";
import { toggleStage } from "../../state/store";
import { Swatch } from "../../ui/swatch";

/** The stages in the order of the stack, each a switch. */
export function StageLegend({ stages, hidden }: { stages: readonly PaintedStage[]; hidden: readonly string[] }) {
  return (
    <div class="legend" role="group" aria-label="Stages shown">
      {stages.map((stage) => (
        <button
          key={stage.key}
          type="button"
          class="legend-item"
          aria-pressed={!hidden.includes(stage.key)}
          title={stage.meaning}
          onClick={() => toggleStage(stage.key)}
        >
          <Swatch color={stage.paint} />
          {stage.title}
        </button>
      ))}
    </div>
  );
}
