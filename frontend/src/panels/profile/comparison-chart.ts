/** By how much each part of a step changed: a bar from zero with the interval of the change as whiskers. */

import type { CustomSeriesOption } from "echarts/charts";
import { type ChartOption, axisLook, axisTooltipOption, baseOption } from "../../charts/option";
import { hoveredIndex, tooltip } from "../../charts/tooltip";
import { axisSeconds, microseconds, microsecondsChange } from "../../format/number";
import type { ChartColors } from "../../theme/palette";
import { type ComparedRow, certaintyText, intervalText } from "./comparison-rows";

type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;

const LABEL_WIDTH = 128;
/** Right of the plot: the change in words. */
const TEXT_WIDTH = 142;
const BAR_HEIGHT = 14;
const CAP_HEIGHT = 10;
/** Of a bar whose change may be chance, and of one that cannot be judged. */
const UNCLEAR_OPACITY = 0.3;
const UNJUDGED_OPACITY = 0.6;
/** Beyond the longest whisker, of the range. */
const MARGIN = 0.05;
export const ROW_HEIGHT = 38;

/** Ends of the axis in microseconds, with zero inside. */
export function changeRange(rows: readonly ComparedRow[]): [number, number] {
  const ends = rows.flatMap((row) => [row.difference_us, row.low_us ?? 0, row.high_us ?? 0]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const margin = MARGIN * (high - low) || 1;
  return [low < 0 ? low - margin : 0, high > 0 || low === 0 ? high + margin : 0];
}

function axisChange(value: number): string {
  if (value === 0) return "0";
  return (value > 0 ? "+" : "−") + axisSeconds(Math.abs(value) / 1e6);
}

/** What stands beside the bar. */
export function changeText(row: ComparedRow): string {
  if (row.clear === false) return certaintyText(row);
  const change = microsecondsChange(row.difference_us);
  return row.clear === null ? `${change}, ${certaintyText(row)}` : change;
}

export const describeRow = (row: ComparedRow): string =>
  `${row.title}: baseline ${microseconds(row.baseline_us)}, this window ${microseconds(row.other_us)}, difference ${microsecondsChange(row.difference_us)}, 95 % interval ${intervalText(row)}${row.clear === null ? "" : `, ${certaintyText(row)}`}`;

export function comparisonOption(rows: readonly ComparedRow[], colors: ChartColors): ChartOption {
  const look = axisLook(colors);
  const [min, max] = changeRange(rows);
  return {
    ...baseOption(colors),
    grid: { left: LABEL_WIDTH, right: TEXT_WIDTH, top: 4, bottom: 24 },
    legend: { show: false, data: [] },
    xAxis: {
      ...look,
      type: "value",
      min,
      max,
      splitNumber: 4,
      axisLabel: { ...look.axisLabel, formatter: axisChange, showMinLabel: min === 0, showMaxLabel: max === 0 },
    },
    yAxis: {
      ...look,
      type: "category",
      inverse: true,
      data: rows.map((_, index) => String(index)),
      splitLine: { show: false },
      axisLabel: {
        ...look.axisLabel,
        interval: 0,
        formatter: (value: string) => {
          const row = rows[Number(value)];
          return row
            ? `{title|${row.title}}\n{times|${microseconds(row.baseline_us)} → ${microseconds(row.other_us)}}`
            : "";
        },
        rich: {
          title: { color: colors.text, fontSize: 12, lineHeight: 16, align: "right" },
          times: { color: colors.muted, fontSize: 11, lineHeight: 15, align: "right" },
        },
      },
    },
    tooltip: {
      ...axisTooltipOption(colors),
      axisPointer: { type: "shadow" },
      formatter: (parameters: unknown) => {
        const row = rows[hoveredIndex(parameters) ?? -1];
        return row ? rowTooltip(row) : "";
      },
    },
    series: [
      {
        type: "custom",
        name: "Difference",
        data: rows.map((row, index) => [row.difference_us, index]),
        // The text stands beside the plot.
        clip: false,
        renderItem: drawRow(rows, colors),
      },
    ],
  };
}

function drawRow(rows: readonly ComparedRow[], colors: ChartColors): RenderItem {
  return (params, api) => {
    const row = rows[params.dataIndex];
    if (!row) return null;
    const area = params.coordSys as unknown as { x: number; width: number };
    const at = (value: number): [number, number] => api.coord([value, params.dataIndex]) as [number, number];
    const [zero, middle] = at(0);
    const half = ((api.size?.([0, 1]) as [number, number])[1] ?? 0) / 2;
    const line = (x1: number, y1: number, x2: number, y2: number, stroke: string, lineWidth = 1) => ({
      type: "line" as const,
      shape: { x1, y1, x2, y2 },
      style: { stroke, lineWidth },
    });
    const end = at(row.difference_us)[0];
    const opacity = row.clear === null ? UNJUDGED_OPACITY : row.clear ? 1 : UNCLEAR_OPACITY;
    const bar = {
      type: "rect" as const,
      shape: {
        x: Math.min(zero, end),
        y: middle - BAR_HEIGHT / 2,
        width: Math.abs(end - zero),
        height: BAR_HEIGHT,
      },
      style: { fill: row.paint, opacity },
    };
    const children: NonNullable<Extract<ReturnType<RenderItem>, { type: "group" }>["children"]> = [bar];
    children.push(line(zero, middle - half, zero, middle + half, colors.muted));
    if (row.low_us !== null && row.high_us !== null) {
      const ink = row.clear ? colors.text : colors.muted;
      const [low, high] = [at(row.low_us)[0], at(row.high_us)[0]];
      const cap = CAP_HEIGHT / 2;
      children.push(
        line(low, middle, high, middle, ink, 1.5),
        line(low, middle - cap, low, middle + cap, ink, 1.5),
        line(high, middle - cap, high, middle + cap, ink, 1.5),
      );
    }
    children.push({
      type: "text",
      style: {
        x: area.x + area.width + 10,
        y: middle,
        text: changeText(row),
        fill: row.clear ? colors.text : colors.muted,
        font: `${row.clear ? 600 : 400} 12px ${baseOption(colors).textStyle.fontFamily}`,
        verticalAlign: "middle",
      },
    });
    return { type: "group", children };
  };
}

function rowTooltip(row: ComparedRow): HTMLElement {
  const line = (name: string, value: string) => ({ color: row.paint, name, value });
  const rows = [
    line("baseline", microseconds(row.baseline_us)),
    line("this window", microseconds(row.other_us)),
    line("difference", microsecondsChange(row.difference_us)),
    line("95 % interval", intervalText(row)),
  ];
  return tooltip(row.title, rows, row.clear === null ? "" : certaintyText(row));
}
