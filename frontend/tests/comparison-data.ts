/** Two windows compared, for tests: one clear change, one that may be chance, and parts that took no time. */

import type { Compared, ComparisonAnswer } from "../src/api/profile-types";

export function compared(baseline: number, other: number, interval: [number, number] | null): Compared {
  const [low, high] = interval ?? [null, null];
  return {
    baseline_us: baseline,
    other_us: other,
    difference_us: other - baseline,
    low_us: low,
    high_us: high,
    clear: low === null || high === null ? null : low > 0 || high < 0,
  };
}

const ATTEMPT = "20261130T214150.123456Z";

export const COMPARISON: ComparisonAnswer = {
  baseline: { run: "a", attempt: ATTEMPT, window: 0, first_step: 5, last_step: 7, n: 2 },
  other: { run: "a", attempt: ATTEMPT, window: 1, first_step: 100, last_step: 102, n: 3 },
  headline: "A step takes 500 µs (50 %) longer than the mean of 1.0 ms before",
  step_time_us: compared(1000, 1500, [400, 600]),
  categories: [
    { key: "kernel", ...compared(600, 610, [-40, 60]) },
    { key: "data_loading", ...compared(400, 890, [450, 530]) },
    { key: "other", ...compared(0, 0, [0, 0]) },
  ],
  operators: [
    {
      name: "aten::mm",
      calls: { baseline: 2, other: 2 },
      host_self: compared(100, 160, [50, 70]),
      device: compared(300, 310, [-10, 30]),
    },
    {
      name: "aten::<i>add</i>",
      calls: { baseline: 1, other: 2.5 },
      host_self: compared(90, 20, [-80, -60]),
      device: compared(50, 0, [-60, -40]),
    },
    {
      name: "aten::zero_",
      calls: { baseline: 1, other: 1 },
      host_self: compared(10, 12, [-1, 5]),
      device: compared(5, 5, [-1, 1]),
    },
  ],
};

/** The same where one window has a single step. */
export function unjudged({ step_time_us: whole, categories, operators, ...rest }: ComparisonAnswer): ComparisonAnswer {
  const without = <Row extends Compared>(row: Row): Row => ({ ...row, low_us: null, high_us: null, clear: null });
  return {
    ...rest,
    step_time_us: whole && without(whole),
    categories: categories.map(without),
    operators:
      operators?.map((row) => ({ ...row, host_self: without(row.host_self), device: without(row.device) })) ?? null,
  };
}
