/** Time in collectives by rank: transfer and waiting, or by how much each rank is late. */

import { type ChartOption, axisLook, axisTooltipOption, baseOption } from "../../charts/option";
import { hoveredIndex, tooltip } from "../../charts/tooltip";
import { axisSeconds, microseconds } from "../../format/number";
import type { ChartColors } from "../../theme/palette";
import type { RankRow } from "./collective-rows";

export type RankMeasure = "time" | "late";

export interface RankPaint {
  transfer: string;
  wait: string;
  late: string;
}

const toSeconds = (time: number | null): number | null => (time === null ? null : time / 1e6);

export function ranksOption(
  rows: readonly RankRow[],
  measure: RankMeasure,
  paint: RankPaint,
  colors: ChartColors,
): ChartOption {
  const look = axisLook(colors);
  const bars = (name: string, color: string, value: (row: RankRow) => number | null) => ({
    type: "bar" as const,
    name,
    stack: "rank",
    barMaxWidth: 60,
    barCategoryGap: "15%",
    itemStyle: { color },
    data: rows.map((row) => toSeconds(value(row))),
  });
  return {
    ...baseOption(colors),
    grid: { left: 64, right: 16, top: 12, bottom: 44 },
    legend: { show: false, data: measure === "time" ? ["transfer", "wait"] : ["late"] },
    xAxis: {
      ...look,
      type: "category",
      data: rows.map((row) => String(row.rank)),
      name: "rank",
      nameLocation: "middle",
      nameGap: 24,
      splitLine: { show: false },
    },
    yAxis: { ...look, type: "value", min: 0, splitNumber: 4, axisLabel: { ...look.axisLabel, formatter: axisSeconds } },
    tooltip: {
      ...axisTooltipOption(colors),
      axisPointer: { type: "shadow" },
      formatter: (parameters: unknown) => {
        const row = rows[hoveredIndex(parameters) ?? -1];
        if (!row) return "";
        return tooltip(`rank ${row.rank}`, [
          { color: paint.transfer, name: "transfer", value: microseconds(row.transfer) },
          { color: paint.wait, name: "wait", value: microseconds(row.wait) },
          { color: paint.late, name: "late", value: microseconds(row.late) },
        ]);
      },
    },
    series:
      measure === "time"
        ? [bars("transfer", paint.transfer, (row) => row.transfer), bars("wait", paint.wait, (row) => row.wait)]
        : [bars("late", paint.late, (row) => row.late)],
  };
}
