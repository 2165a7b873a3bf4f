/** The overview's stages, as the bar and the table show them. */

import type { OverviewAnswer, StageSummary } from "../../api/types";
import { type PaintedStage, paintStages } from "../../state/definitions";
import { theme } from "../../host/theme";

export interface StageRow extends StageSummary {
  stage: PaintedStage;
}

/** The stages that took any time, in stack order. */
export function stageRows(answer: OverviewAnswer): StageRow[] {
  const painted = paintStages(
    answer.stages.map((stage) => stage.key),
    theme.value,
  );
  return answer.stages.flatMap((summary, index) => {
    const stage = painted[index];
    return stage && summary.total_s !== 0 ? [{ ...summary, stage }] : [];
  });
}
