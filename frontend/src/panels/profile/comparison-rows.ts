/** Two windows compared, part by part: rows of figures and the words for how certain a change is. */

import type { Compared, ComparedOperator, ComparisonAnswer } from "../../api/profile-types";
import { microsecondsChange, plural } from "../../format/number";
import { wordsOf } from "../../format/words";
import type { PaintedPart } from "../../state/definitions";

export interface ComparedRow extends Compared {
  key: string;
  title: string;
  paint: string;
  meaning: string;
}

/** Key of the row of the whole step. */
export const STEP_TIME = "step_time";

/** The step time, then every category in the server's order. */
export function comparedRows(
  { step_time_us: whole, categories }: ComparisonAnswer,
  parts: readonly PaintedPart[],
  plain: string,
): ComparedRow[] {
  const rows = categories.map((row): ComparedRow => {
    const part = parts.find(({ key }) => key === row.key);
    return {
      ...row,
      title: part?.title ?? wordsOf(row.key),
      paint: part?.paint ?? plain,
      meaning: part?.meaning ?? "",
    };
  });
  if (whole === null) return rows;
  return [{ ...whole, key: STEP_TIME, title: "Step time", paint: plain, meaning: "" }, ...rows];
}

/** Rows that took time on either side. */
export const tookTime = ({ baseline_us: baseline, other_us: other }: Compared): boolean => baseline > 0 || other > 0;

export const NO_INTERVAL = "one step: no interval";
export const UNCLEAR = "not distinguishable";

/** Whether a change can be told from chance, in words. */
export function certaintyText({ clear }: Compared): string {
  if (clear === null) return "no interval";
  return clear ? "clear" : UNCLEAR;
}

/** "+9.00 ms to +15.0 ms". */
export function intervalText({ low_us: low, high_us: high }: Compared): string {
  return low === null || high === null ? NO_INTERVAL : `${microsecondsChange(low)} to ${microsecondsChange(high)}`;
}

export type OperatorMeasure = "host_self" | "device";

/** Whether any operator worked on a device, on either side. */
export const anyDevice = (operators: readonly ComparedOperator[]): boolean =>
  operators.some(({ device }) => tookTime(device));

const MEASURE_WORDS: Readonly<Record<OperatorMeasure, string>> = { host_self: "host self", device: "device" };

/** How many operators changed for certain, and which most. */
export function operatorsFinding(operators: readonly ComparedOperator[]): string {
  if (operators.length === 0) return "Neither window recorded an operator";
  const changes = operators.flatMap((row) =>
    (["host_self", "device"] as const).map((measure) => ({ name: row.name, measure, ...row[measure] })),
  );
  const certain = changes.filter(({ clear }) => clear !== false);
  const largest = certain.reduce<(typeof changes)[number] | null>(
    (best, each) => (best === null || Math.abs(each.difference_us) > Math.abs(best.difference_us) ? each : best),
    null,
  );
  if (!largest) return "No operator's change is distinguishable from chance";
  const most = `${largest.name} changed most: ${microsecondsChange(largest.difference_us)} ${MEASURE_WORDS[largest.measure]} time per step`;
  if (largest.clear === null) return `${most} (${NO_INTERVAL})`;
  const names = new Set(certain.map(({ name }) => name)).size;
  return `${plural(names, "operator")} changed clearly; ${most}`;
}
