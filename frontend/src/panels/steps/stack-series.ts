/**
 * The stack of stages: one shape per stage, bin by bin with upright edges. ECharts' own stepped areas leave out short
 * edges, which slants the steps of a dense chart; and a slope between bins would show times that nobody measured.
 */

import type { CustomSeriesOption } from "echarts/charts";
import type { PaintedStage } from "../../state/definitions";
import type { ChartColors } from "../../theme/palette";
import type { PlacedBin } from "./bins";

/** Up to here a bin is wide enough to be seen as a bar of its own. */
const MOST_BARS = 80;
/** Part of a bar's width that parts it from the next. */
const BAR_GAP = 0.12;

type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;
type Point = [number, number];

export interface Layer {
  bottom: number[];
  top: number[];
}

/** Where each stage begins and ends in each bin's stack. */
export function stackLayers(bins: readonly PlacedBin[], keys: readonly string[]): Layer[] {
  const heights = bins.map(() => 0);
  return keys.map((key) => {
    const bottom = [...heights];
    for (const [index, bin] of bins.entries()) heights[index] = (heights[index] ?? 0) + (bin.stages[key] ?? 0);
    return { bottom, top: [...heights] };
  });
}

export function stackSeries(
  bins: readonly PlacedBin[],
  shown: number,
  stages: readonly PaintedStage[],
  colors: ChartColors,
): CustomSeriesOption[] {
  const layers = stackLayers(
    bins,
    stages.map((stage) => stage.key),
  );
  const asBars = shown <= MOST_BARS;
  return stages.map((stage, index) => ({
    type: "custom",
    name: stage.title,
    // One item: the whole shape.
    data: [[bins[0]?.x ?? 0, 0]],
    itemStyle: { color: stage.paint },
    clip: true,
    silent: true,
    renderItem: drawLayer(bins, layers[index] ?? { bottom: [], top: [] }, stage.paint, asBars ? colors.surface : null),
  }));
}

function drawLayer(bins: readonly PlacedBin[], layer: Layer, fill: string, barEdge: string | null): RenderItem {
  return (params, api) => {
    const area = params.coordSys as unknown as { x: number; width: number };
    const shapes: Point[][] = [];
    let upper: Point[] = [];
    let lower: Point[] = [];
    const close = (): void => {
      if (upper.length > 0) shapes.push([...upper, ...lower.reverse()]);
      upper = [];
      lower = [];
    };
    for (const [index, bin] of bins.entries()) {
      const [low, high] = [layer.bottom[index] ?? 0, layer.top[index] ?? 0];
      const [left = 0, bottom = 0] = api.coord([bin.left, low]);
      const [right = 0, top = 0] = api.coord([bin.right, high]);
      if (right < area.x || left > area.x + area.width) continue;
      const margin = barEdge === null ? 0 : (BAR_GAP * (right - left)) / 2;
      // Whole pixels: neighbours meet without a seam.
      const [from, to] = [
        Math.round(left + margin),
        Math.max(Math.round(right - margin), Math.round(left + margin) + 1),
      ];
      const last = upper[upper.length - 1];
      // Bars stand alone; so do bins on both sides of a gap, and a stage that is absent in between.
      if (barEdge !== null || high === low || (last && from - last[0] > 1)) close();
      if (high === low) continue;
      const start = upper[upper.length - 1]?.[0] ?? from;
      upper.push([start, top], [to, top]);
      lower.push([start, bottom], [to, bottom]);
    }
    close();
    return {
      type: "group",
      children: shapes.map((points) => ({ type: "polygon", shape: { points }, style: { fill } })),
    };
  };
}
