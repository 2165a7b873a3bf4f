/** Marks above a chart where steps were profiled, each with a faint band below it. They take no part in the axes. */

import type { CustomSeriesOption } from "echarts/charts";
import type { PlacedWindow } from "./profiled";

export interface MarkRow {
  windows: readonly PlacedWindow[];
  color: string;
}

/** Name of the series, for the legend of an exported image. */
export const MARKS = "Profiled steps";

/** What lies above the plot without marks, in pixels. */
const PLAIN_TOP = 12;
const ROW_HEIGHT = 4;
const ROW_GAP = 1;
/** Narrower marks would not be seen in a long run. */
const NARROWEST_PX = 3;
const BAND_OPACITY = 0.12;

type Span = [from: number, to: number];

/** Room above the plot for as many rows of marks. */
export const topWithMarks = (rows: number): number => Math.max(PLAIN_TOP, 2 + rows * (ROW_HEIGHT + ROW_GAP));

/** Spans in whole pixels between two edges, each wide enough to be seen; those that touch are one. */
export function pixelSpans(spans: readonly Span[], left: number, right: number): Span[] {
  const joined: Span[] = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (end < left || start > right) continue;
    const missing = Math.max(0, NARROWEST_PX - (end - start)) / 2;
    const from = Math.round(Math.max(start - missing, left));
    const to = Math.round(Math.min(end + missing, right));
    const last = joined[joined.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (to > from) joined.push([from, to]);
  }
  return joined;
}

interface Settings {
  /** From the bottom up; a run without marks has none. */
  rows: readonly MarkRow[];
  /** A point of the chart's data: the series needs one, and it must not stretch an axis. */
  anchor: readonly [number, number];
  /** The bands lie over the data, which would hide them. */
  over: boolean;
  /** Of the legend's entry. */
  color: string;
}

export function markSeries({ rows, anchor, over, color }: Settings): CustomSeriesOption[] {
  if (rows.length === 0) return [];
  return [
    {
      type: "custom",
      name: MARKS,
      data: [[...anchor]],
      itemStyle: { color },
      silent: true,
      // The marks lie above the plot.
      clip: false,
      tooltip: { show: false },
      z: over ? 4 : 1,
      renderItem: (params, api) => {
        const area = params.coordSys as unknown as { x: number; y: number; width: number; height: number };
        const pixel = (value: number): number => api.coord([value, anchor[1]])[0] ?? 0;
        const children = rows.flatMap((row, index) => {
          const spans = row.windows.flatMap(({ places }) => places.map(([from, to]): Span => [pixel(from), pixel(to)]));
          return pixelSpans(spans, area.x, area.x + area.width).flatMap(([from, to]) => {
            const rectangle = (y: number, height: number, opacity: number) => ({
              type: "rect" as const,
              shape: { x: from, y, width: to - from, height },
              style: { fill: row.color, opacity },
            });
            return [
              rectangle(area.y, area.height, BAND_OPACITY),
              rectangle(area.y - (index + 1) * (ROW_HEIGHT + ROW_GAP), ROW_HEIGHT, 1),
            ];
          });
        });
        return { type: "group", children };
      },
    },
  ];
}
