/** The stages' shares as one bar from 0 to 100 %. */

import { type ChartOption, baseOption, tooltipOption } from "../../charts/option";
import { tooltip } from "../../charts/tooltip";
import { axisShare, seconds, share } from "../../format/number";
import { inkOn } from "../../theme/contrast";
import type { ChartColors } from "../../theme/palette";
import type { StageRow } from "./stage-rows";

/** Below this a label does not fit into its part of the bar. */
const LABELLED_SHARE = 0.1;

export function shareBarOption(rows: readonly StageRow[], colors: ChartColors): ChartOption {
  return {
    ...baseOption(colors),
    grid: { left: 1, right: 1, top: 4, bottom: 26 },
    legend: { show: false, data: rows.map((row) => row.stage.title) },
    xAxis: {
      type: "value",
      min: 0,
      max: 1,
      interval: 0.25,
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { lineStyle: { color: colors.grid } },
      axisLabel: {
        color: colors.muted,
        formatter: axisShare,
        alignMinLabel: "left",
        alignMaxLabel: "right",
      },
    },
    yAxis: { type: "category", data: [""], show: false },
    tooltip: {
      ...tooltipOption(colors),
      trigger: "item",
      formatter: (parameters: unknown) => {
        const row = rows[hoveredSeries(parameters) ?? -1];
        if (!row) return "";
        const line = (name: string, value: string) => ({ color: row.stage.paint, name, value });
        return tooltip(row.stage.title, [
          line("share", share(row.share)),
          line("mean", seconds(row.mean_s)),
          line("total", seconds(row.total_s)),
        ]);
      },
    },
    series: rows.map((row) => ({
      type: "bar",
      name: row.stage.title,
      stack: "shares",
      barWidth: 30,
      data: [row.share],
      itemStyle: { color: row.stage.paint, borderColor: colors.surface, borderWidth: 0.5 },
      label: {
        show: (row.share ?? 0) >= LABELLED_SHARE,
        color: inkOn(row.stage.paint),
        formatter: () => share(row.share),
        fontSize: 12,
        fontWeight: 600,
      },
    })),
  };
}

function hoveredSeries(parameters: unknown): number | null {
  if (typeof parameters !== "object" || parameters === null || !("seriesIndex" in parameters)) return null;
  return typeof parameters.seriesIndex === "number" ? parameters.seriesIndex : null;
}
