/** How the time of each stage spreads over the steps: a box per stage, and the histogram of one of them. */

import { type ChartOption, baseOption, secondsAxisOption, tooltipOption } from "../../charts/option";
import { hoveredIndex, tooltip } from "../../charts/tooltip";
import { axisShare, count, seconds, share } from "../../format/number";
import type { Distribution, Histogram } from "../../api/types";
import type { ChartColors } from "../../theme/palette";

export interface SpreadRow {
  title: string;
  color: string;
  values: Distribution;
}

/** Whiskers, box and median of a box. */
const BOX = ["p5_s", "p25_s", "median_s", "p75_s", "p95_s"] as const;

export function spreadOption(
  rows: readonly SpreadRow[],
  log: boolean,
  range: { floor: number; top: number },
  colors: ChartColors,
): ChartOption {
  // A logarithmic axis has no zero: such values stand at its lower end.
  const place = (value: number | null): number => (log ? Math.max(value ?? 0, range.floor) : (value ?? 0));
  const axis = secondsAxisOption(log, range.top, colors);
  return {
    ...baseOption(colors),
    grid: { left: 128, right: 20, top: 8, bottom: 28 },
    xAxis: { ...axis, ...(log ? { min: range.floor } : {}), axisLabel: { ...axis.axisLabel, showMaxLabel: true } },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((row) => row.title),
      axisLine: { lineStyle: { color: colors.line } },
      axisTick: { show: false },
      axisLabel: { color: colors.text, fontSize: 12, width: 116, overflow: "truncate" },
      splitLine: { show: true, lineStyle: { color: colors.grid } },
    },
    tooltip: {
      ...tooltipOption(colors),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (parameters: unknown) => {
        const row = rows[hoveredIndex(parameters) ?? -1];
        return row ? spreadTooltip(row) : "";
      },
    },
    series: [
      {
        type: "boxplot",
        name: "p5, p25, median, p75, p95",
        boxWidth: [6, 16],
        data: rows.map((row) => ({
          value: BOX.map((key) => place(row.values[key])),
          itemStyle: { color: `${row.color}55`, borderColor: row.color, borderWidth: 1.5 },
        })),
      },
      {
        type: "scatter",
        name: "p99",
        clip: true,
        symbol: "diamond",
        symbolSize: 7,
        itemStyle: { color: colors.text },
        data: rows.map((row, index) => [place(row.values.p99_s), index]),
      },
    ],
  };
}

function spreadTooltip({ title, color, values }: SpreadRow): HTMLElement {
  const lines = [
    ["p5", values.p5_s],
    ["p25", values.p25_s],
    ["median", values.median_s],
    ["p75", values.p75_s],
    ["p95", values.p95_s],
    ["p99", values.p99_s],
    ["longest", values.max_s],
  ] as const;
  const rows = lines.map(([name, value]) => ({ color, name, value: seconds(value) }));
  return tooltip(title, rows, `n = ${count(values.n)} steps`);
}

/** Share of the steps in each slice, so that runs of different length compare. */
export function histogramShares(histogram: Histogram): { middle: number; from: number; to: number; share: number }[] {
  const total = histogram.counts.reduce((sum, value) => sum + value, 0) + histogram.below + histogram.above;
  return histogram.counts.map((value, index) => {
    const from = histogram.edges_s[index] ?? 0;
    const to = histogram.edges_s[index + 1] ?? from;
    return { middle: (from + to) / 2, from, to, share: total > 0 ? value / total : 0 };
  });
}

export function histogramOption(
  row: SpreadRow,
  histogram: Histogram,
  range: { low: number; high: number; top: number },
  colors: ChartColors,
): ChartOption {
  const slices = histogramShares(histogram);
  const axis = secondsAxisOption(false, undefined, colors);
  return {
    ...baseOption(colors),
    grid: { left: 64, right: 20, top: 10, bottom: 28 },
    xAxis: {
      ...axis,
      min: range.low,
      max: range.high,
      splitLine: { show: false },
      splitNumber: 5,
      // The ends are no round numbers.
      axisLabel: { ...axis.axisLabel, showMinLabel: false, showMaxLabel: false },
    },
    yAxis: {
      ...axis,
      max: range.top,
      interval: range.top / 2,
      axisLabel: { ...axis.axisLabel, formatter: axisShare },
    },
    tooltip: {
      ...tooltipOption(colors),
      trigger: "axis",
      axisPointer: { type: "none" },
      formatter: (parameters: unknown) => {
        const slice = slices[hoveredIndex(parameters) ?? -1];
        if (!slice) return "";
        const value = { color: row.color, name: "share of steps", value: share(slice.share) };
        return tooltip(`${row.title}: ${seconds(slice.from)} – ${seconds(slice.to)}`, [value]);
      },
    },
    series: [
      {
        type: "bar",
        name: row.title,
        data: slices.map((slice) => [slice.middle, slice.share]),
        barCategoryGap: "6%",
        itemStyle: { color: row.color },
      },
    ],
  };
}
