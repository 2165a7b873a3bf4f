/** The column that shows a row's time by stage: a strip on the screen, `key=seconds` in the file. */

import type { Measured } from "../../api/types";
import type { PaintedStage } from "../../state/definitions";
import type { Column } from "../../ui/data-table";
import { StageStrip } from "../../ui/stage-strip";

interface Timed {
  stages_s: Record<string, Measured>;
}

/** whole: the time that fills the strip, in seconds. */
export function stagesColumn<Row extends Timed>(stages: readonly PaintedStage[], whole: number): Column<Row> {
  return {
    title: "Stages",
    name: "stages",
    raw: (row) =>
      Object.entries(row.stages_s)
        .map(([key, time]) => `${key}=${time}`)
        .join(" "),
    cell: (row) => <StageStrip stages={stages} times={row.stages_s} whole={whole} />,
  };
}
