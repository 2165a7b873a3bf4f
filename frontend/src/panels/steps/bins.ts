/** Bins of steps on their way to a chart: joining two resolutions, positions on the x axis, and windows in steps. */

import type { Bins, Measured } from "../../api/types";
import type { XAxis } from "../../state/view";

/** One bin, row-wise. Stages without an entry took no time. */
export interface Bin {
  count: number;
  stepFirst: number;
  stepLast: number;
  unix: Measured;
  mean: Measured;
  min: Measured;
  p5: Measured;
  median: Measured;
  p95: Measured;
  max: Measured;
  stages: Readonly<Record<string, Measured>>;
}

export function readBins(bins: Bins): Bin[] {
  const stages = Object.entries(bins.stages_s);
  return bins.count.map((count, index) => ({
    count,
    stepFirst: bins.step_first[index] ?? 0,
    stepLast: bins.step_last[index] ?? 0,
    unix: bins.unix_s[index] ?? null,
    mean: bins.time_s.mean[index] ?? null,
    min: bins.time_s.min[index] ?? null,
    p5: bins.time_s.p5[index] ?? null,
    median: bins.time_s.median[index] ?? null,
    p95: bins.time_s.p95[index] ?? null,
    max: bins.time_s.max[index] ?? null,
    stages: Object.fromEntries(stages.map(([key, values]) => [key, values.mean[index] ?? null])),
  }));
}

/** The whole run in coarse bins, with the window's fine bins in place of those it covers. */
export function spliceBins(coarse: readonly Bin[], fine: readonly Bin[]): Bin[] {
  const first = fine[0];
  const last = fine[fine.length - 1];
  if (!first || !last) return [...coarse];
  return [
    ...coarse.filter((bin) => bin.stepLast < first.stepFirst),
    ...fine,
    ...coarse.filter((bin) => bin.stepFirst > last.stepLast),
  ];
}

/** The moment from which relative time counts. */
export function originOf(bins: readonly Bin[]): number {
  return bins.reduce((earliest, bin) => Math.min(earliest, bin.unix ?? Infinity), Infinity);
}

export interface PlacedBin extends Bin {
  /** From `left` to `right` on the axis, `x` in the middle. */
  x: number;
  left: number;
  right: number;
}

/** Steps reach half a step to each side; on a time axis a bin lasts as long as its steps took. */
function ends(bin: Bin, x: XAxis, origin: number): [number, number] | null {
  if (x === "step") return [bin.stepFirst - 0.5, bin.stepLast + 0.5];
  if (bin.unix === null) return null;
  const [start, second] = x === "wall" ? [bin.unix * 1000, 1000] : [bin.unix - origin, 1];
  return [start, start + (bin.mean ?? 0) * bin.count * second];
}

/**
 * Bins with their place on the axis, from left to right. A later attempt can repeat earlier steps, so time is sorted.
 * Under gradient accumulation several rows share a step: they share its place, side by side.
 */
export function placeBins(bins: readonly Bin[], x: XAxis, origin: number): PlacedBin[] {
  const placed: PlacedBin[] = [];
  for (const bin of bins) {
    const span = ends(bin, x, origin);
    if (span) placed.push({ ...bin, left: span[0], right: span[1], x: (span[0] + span[1]) / 2 });
  }
  placed.sort((a, b) => a.x - b.x);
  if (x === "step") spreadSharedSteps(placed);
  return placed;
}

function spreadSharedSteps(bins: PlacedBin[]): void {
  for (let start = 0; start < bins.length;) {
    const { x, left, right } = bins[start] as PlacedBin;
    let end = start + 1;
    while (bins[end]?.x === x) end += 1;
    const width = (right - left) / (end - start);
    for (const [offset, bin] of bins.slice(start, end).entries()) {
      bin.left = left + offset * width;
      bin.right = bin.left + width;
      bin.x = (bin.left + bin.right) / 2;
    }
    start = end;
  }
}

/** A line breaks where this share of the axis holds no step: between attempts, or where a chunk is missing. */
const BREAK_SHARE = 0.02;

/** Points of a line through the bins, broken at gaps. */
export function linePoints(
  bins: readonly PlacedBin[],
  value: (bin: PlacedBin) => number | null,
): [number, number | null][] {
  const width = (bins[bins.length - 1]?.right ?? 0) - (bins[0]?.left ?? 0);
  const points: [number, number | null][] = [];
  let end: number | null = null;
  for (const bin of bins) {
    if (end !== null && bin.left - end > BREAK_SHARE * width) points.push([(end + bin.left) / 2, null]);
    points.push([bin.x, value(bin)]);
    end = bin.right;
  }
  return points;
}

/** The band's upper edge above its lower one, `bin.p5`. In a long run every bin holds an outlier, so not the extremes. */
export const bandHeight = (bin: Bin): number | null => (bin.p95 === null || bin.p5 === null ? null : bin.p95 - bin.p5);

/** The bin nearest to a place on the axis. */
export function nearestBin(bins: readonly PlacedBin[], x: number): PlacedBin | null {
  let best: PlacedBin | null = null;
  for (const bin of bins) if (best === null || Math.abs(bin.x - x) < Math.abs(best.x - x)) best = bin;
  return best;
}

export interface StepWindow {
  from: number;
  to: number;
}

/** The steps whose bins lie between two positions on the axis; the nearest bin when none does. */
export function stepsBetween(bins: readonly PlacedBin[], x: XAxis, from: number, to: number): StepWindow | null {
  if (bins.length === 0) return null;
  if (x === "step") return { from: Math.ceil(from), to: Math.max(Math.ceil(from), Math.floor(to)) };
  const inside = bins.filter((bin) => bin.x >= from && bin.x <= to);
  if (inside.length > 0) {
    return {
      from: Math.min(...inside.map((bin) => bin.stepFirst)),
      to: Math.max(...inside.map((bin) => bin.stepLast)),
    };
  }
  const middle = (from + to) / 2;
  const nearest = bins.reduce((best, bin) => (Math.abs(bin.x - middle) < Math.abs(best.x - middle) ? bin : best));
  return { from: nearest.stepFirst, to: nearest.stepLast };
}

/** Where the steps of a window lie on the axis; null when no bin is there. */
export function windowOnAxis(bins: readonly PlacedBin[], x: XAxis, window: StepWindow): [number, number] | null {
  if (x === "step") return [window.from - 0.5, window.to + 0.5];
  const inside = bins.filter((bin) => bin.stepLast >= window.from && bin.stepFirst <= window.to);
  if (inside.length === 0) return null;
  return [Math.min(...inside.map((bin) => bin.left)), Math.max(...inside.map((bin) => bin.right))];
}

/** What the y axis must reach to show the bulk of the steps: well above p95, never above the data. */
export function robustTop(top: number, p95: number | null, median: number | null): number {
  if (p95 === null || median === null) return top;
  return Math.min(top, Math.max(1.5 * p95, 2 * median));
}

/** The next number of the form 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 × 10^k at or above `value`, for an axis' end. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * (1 - 1e-9));
  return (digit ?? 10) * power;
}
