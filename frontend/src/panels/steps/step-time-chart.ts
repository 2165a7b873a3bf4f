/** Step time of all runs in one chart: the median as a line in the band from the shortest to the longest step. */

import {
  type ChartOption,
  type ChartSeries,
  baseOption,
  secondsAxisOption,
  axisTooltipOption,
  xAxisOption,
  xText,
  zoomOption,
} from "../../charts/option";
import { hoveredX, tooltip } from "../../charts/tooltip";
import { seconds } from "../../format/number";
import type { XAxis } from "../../state/view";
import type { ChartColors } from "../../theme/palette";
import { bandHeight, linePoints, nearestBin } from "./bins";
import { profiledText } from "./profiled";
import { MARKS, markSeries, topWithMarks } from "./profiled-marks";
import type { RunSteps } from "./run-steps";

/** Runs differ by dash as well as by colour. */
const DASHES = ["solid", "dashed", "dotted"] as const;

interface Settings {
  runs: readonly RunSteps[];
  x: XAxis;
  log: boolean;
  top: number | undefined;
  extent: [number, number];
  window: [number, number];
  colors: ChartColors;
}

export function stepTimeOption({ runs, x, log, top, extent, window, colors }: Settings): ChartOption {
  const series: ChartSeries[] = [];
  for (const [index, run] of runs.entries()) {
    const shared = { type: "line", symbol: "none", silent: true, color: run.color } as const;
    const hiddenLine = { width: 0 } as const;
    const dense = run.bins.length > 1;
    series.push(
      {
        ...shared,
        name: run.name,
        data: linePoints(run.bins, (bin) => bin.median),
        lineStyle: { width: 1.6, type: DASHES[index % DASHES.length] ?? "solid" },
        showSymbol: !dense,
        symbol: dense ? "none" : "circle",
        symbolSize: 6,
        z: 3,
      },
      {
        ...shared,
        data: linePoints(run.bins, (bin) => bin.p5),
        lineStyle: hiddenLine,
        stack: `band ${index}`,
        stackStrategy: "all",
      },
      {
        ...shared,
        data: linePoints(run.bins, bandHeight),
        lineStyle: hiddenLine,
        areaStyle: { color: run.color, opacity: runs.length > 2 ? 0.12 : 0.22 },
        stack: `band ${index}`,
        stackStrategy: "all",
      },
    );
  }
  // The first run's marks on top, as in the list below the chart.
  const marked = runs.filter((run) => run.profiled.length > 0).reverse();
  const first = runs.flatMap((run) => run.bins).find((bin) => bin.median !== null);
  const marks = markSeries({
    rows: marked.map((run) => ({ windows: run.profiled, color: run.color })),
    anchor: [first?.x ?? 0, first?.median ?? 1],
    over: false,
    color: colors.muted,
  });
  return {
    ...baseOption(colors),
    grid: { left: 64, right: 16, top: topWithMarks(marked.length), bottom: 62 },
    legend: {
      show: false,
      data: [...runs.map((run) => ({ name: run.name })), ...(marks.length > 0 ? [{ name: MARKS, icon: "rect" }] : [])],
    },
    xAxis: xAxisOption(x, extent, colors),
    yAxis: secondsAxisOption(log, top, colors),
    dataZoom: zoomOption(window, colors),
    tooltip: {
      ...axisTooltipOption(colors),
      formatter: (parameters: unknown) => {
        const at = hoveredX(parameters);
        return at === null ? "" : stepTimeTooltip(runs, x, at);
      },
    },
    series: [...series, ...marks],
  };
}

/** At most this many runs in a tooltip, as in TensorBoard's own charts. */
const TOOLTIP_RUNS = 5;

function stepTimeTooltip(runs: readonly RunSteps[], x: XAxis, at: number): HTMLElement {
  const rows = runs.slice(0, TOOLTIP_RUNS).flatMap((run) => {
    const bin = nearestBin(run.shown, at);
    if (!bin) return [];
    const value =
      bin.count > 1
        ? `${seconds(bin.median)} (${seconds(bin.min)} – ${seconds(bin.max)}, ${bin.count} steps)`
        : seconds(bin.median);
    const profiled = profiledText(run.profiled, bin);
    return [{ color: run.color, name: run.name, value, profiled }];
  });
  const more = runs.length - TOOLTIP_RUNS;
  if (runs.length === 1) return tooltip(xText(x, at), rows, rows[0]?.profiled);
  const marked = rows.map((row) => ({ ...row, value: row.profiled === "" ? row.value : `${row.value} · profiled` }));
  return tooltip(xText(x, at), marked, more > 0 ? `and ${more} more` : "");
}
