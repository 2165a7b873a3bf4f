/** Where the time of the profiled steps goes: rows of figures for chart, table and file. */

import type { StepProfile } from "../../api/profile-types";
import { microseconds, share } from "../../format/number";
import type { PaintedPart } from "../../state/definitions";
import { median, wholeSteps } from "./steps";

/** `categories`: parts of the step. `idle`: parts of the device's idle time in it. */
export type Breakdown = "categories" | "idle";

export const timesOf = (step: StepProfile, what: Breakdown): Readonly<Record<string, number>> | null =>
  what === "categories" ? step.categories_us : step.idle_us;

export interface PartRow {
  part: PaintedPart;
  /** Of the summed time of the steps; null where they took none. */
  share: number | null;
  mean: number | null;
  median: number | null;
  min: number | null;
  max: number | null;
  n: number;
}

/** A row per part over the whole steps, in the order of `parts`. */
export function partRows(steps: readonly StepProfile[], parts: readonly PaintedPart[], what: Breakdown): PartRow[] {
  const counted = wholeSteps(steps).filter((step) => timesOf(step, what) !== null);
  const whole = counted.reduce((sum, step) => sum + step.duration_us, 0);
  return parts.map((part) => {
    const times = counted.map((step) => timesOf(step, what)?.[part.key] ?? 0);
    const total = times.reduce((sum, time) => sum + time, 0);
    const known = times.length > 0;
    return {
      part,
      share: known && whole > 0 ? total / whole : null,
      mean: known ? total / times.length : null,
      median: median(times),
      min: known ? Math.min(...times) : null,
      max: known ? Math.max(...times) : null,
      n: times.length,
    };
  });
}

/** The largest two shares in words: "Data loading 51 % and Kernels 30 % of the step time". */
export function breakdownFinding(
  steps: readonly StepProfile[],
  categories: readonly PartRow[],
  idle: readonly PartRow[],
): string {
  const ranked = [...categories].filter((row) => (row.share ?? 0) > 0).sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
  const [first, second] = ranked;
  if (!first) return "The steps took no time";
  const parts = [first, second].flatMap((row) =>
    row && (row.share ?? 0) >= 0.01 ? [`${row.part.title} ${share(row.share)}`] : [],
  );
  const middle = median(wholeSteps(steps).map((step) => step.duration_us));
  const idleShare = idle.reduce((sum, row) => sum + (row.share ?? 0), 0);
  const idles = idle.length > 0 && idle[0]?.n ? `; the device idles ${share(idleShare)}` : "";
  return `${parts.join(", ")} of the step time (median ${microseconds(middle)})${idles}`;
}
