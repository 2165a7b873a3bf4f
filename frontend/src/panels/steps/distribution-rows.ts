/** What the distribution card shows of a run, row by row. */

import type { StageDistribution } from "../../api/types";
import { seconds, times } from "../../format/number";
import type { ChartColors } from "../../theme/palette";
import type { SpreadRow } from "./distribution-options";
import type { RunSteps } from "./run-steps";

export interface DistributionRow extends SpreadRow {
  run: string;
  key: string;
  share: number | null;
  nonzero: number | null;
}

/** Key of the row of the whole step. */
export const STEP = "step";

/** The step itself, then its stages that took any time, in stack order. */
export function rowsOf(run: RunSteps, colors: ChartColors): DistributionRow[] {
  const { step, stages } = run.answer.distribution;
  const byKey = new Map(stages.map((stage): [string, StageDistribution] => [stage.key, stage]));
  const rows: DistributionRow[] = step
    ? [{ run: run.name, key: STEP, title: "Whole step", color: colors.muted, values: step, share: null, nonzero: null }]
    : [];
  for (const { key, title, paint } of run.stages) {
    const values = byKey.get(key);
    if (!values || (values.max_s ?? 0) <= 0) continue;
    rows.push({ run: run.name, key, title, color: paint, values, share: values.share, nonzero: values.nonzero });
  }
  return rows;
}

/** A p95 nearer to the median than this is no news. */
const STEADY_RATIO = 1.15;

/** The stage with a real share whose tail is longest against its middle. */
export function spreadFinding(runs: readonly RunSteps[]): string {
  const candidates = runs.flatMap((run) =>
    run.answer.distribution.stages.flatMap((stage) => {
      const { share: part, median_s: median, p95_s: p95 } = stage;
      if (part === null || part < 0.05 || median === null || median <= 0 || p95 === null) return [];
      const title = run.stages.find(({ key }) => key === stage.key)?.title ?? stage.key;
      return [{ title, run: run.name, median, p95, ratio: p95 / median }];
    }),
  );
  const worst = candidates.sort((a, b) => b.ratio - a.ratio)[0];
  if (!worst) return "How the time of each stage spreads over the steps";
  if (worst.ratio < STEADY_RATIO)
    return `Times are steady: p95 is at most ${times(worst.ratio)} the median of a large stage`;
  const where = runs.length > 1 ? ` in ${worst.run}` : "";
  return `${worst.title} varies most${where}: p95 ${seconds(worst.p95)} is ${times(worst.ratio)} its median`;
}
