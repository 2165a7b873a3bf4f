/** A thin bar of a row's stages, drawn to the scale of the longest row. The table around it holds the numbers. */

import { seconds } from "../format/number";
import type { PaintedStage } from "../state/definitions";

interface Props {
  stages: readonly PaintedStage[];
  times: Readonly<Record<string, number | null>>;
  /** Time that fills the bar. */
  whole: number;
}

export function StageStrip({ stages, times, whole }: Props) {
  return (
    <span class="strip" aria-hidden="true">
      {stages.map((stage) => {
        const time = times[stage.key] ?? 0;
        if (!(time > 0) || !(whole > 0)) return null;
        return (
          <span
            key={stage.key}
            style={{ width: `${(100 * time) / whole}%`, backgroundColor: stage.paint }}
            title={`${stage.title}: ${seconds(time)}`}
          />
        );
      })}
    </span>
  );
}
