import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Distribution, StepsAnswer } from "../src/api/types";
import { spreadFinding } from "../src/panels/steps/distribution-rows";
import { type RunSteps, runSteps, scopeText } from "../src/panels/steps/run-steps";
import { stagesFinding } from "../src/panels/steps/stages-card";
import { stepTimeFinding } from "../src/panels/steps/step-time-card";
import type { ShownRun } from "../src/state/shown";
import { DEFAULT_VIEW, type View } from "../src/state/view";

const plain = (text: string): string => text.replace(/\u00a0/g, " ");

function distribution(median: number, p95 = median, p99 = p95): Distribution {
  const values = { mean_s: median, min_s: median, p5_s: median, p25_s: median, median_s: median, p75_s: median };
  return { n: 4, ...values, p95_s: p95, p99_s: p99, max_s: p99, histogram: null };
}

/** Four steps in two bins, half data wait and half forward unless told otherwise. */
function answer(median: number, waiting = 0.5, change: Partial<StepsAnswer> = {}): StepsAnswer {
  const pair = (value: number): number[] => [value, value];
  const stage = (key: string, share: number, p95: number) => ({
    ...distribution(share * median, p95),
    key,
    share,
    total_s: 4 * share * median,
    nonzero: 4,
  });
  return {
    run: "a",
    loop: "train",
    attempt: null,
    first_step: 0,
    last_step: 3,
    from: 0,
    to: 3,
    steps: 4,
    steps_total: 4,
    stages: ["data_wait", "forward"],
    bins: {
      count: [2, 2],
      step_first: [0, 2],
      step_last: [1, 3],
      unix_s: [1000, 1001],
      time_s: {
        mean: pair(median),
        min: pair(median),
        p5: pair(median),
        median: pair(median),
        p95: pair(median),
        max: pair(median),
      },
      stages_s: {},
    },
    distribution: {
      step: distribution(median, median, 2 * median),
      stages: [
        stage("data_wait", waiting, 3 * waiting * median),
        stage("forward", 1 - waiting, (1 - waiting) * median),
      ],
    },
    worst: [],
    segments: [],
    segments_total: 0,
    ...change,
  };
}

function shown(name: string, full: StepsAnswer, view: Partial<View> = {}, window = full): RunSteps {
  const run = { name, color: "#000000", attempt: null, info: {}, loop: {} } as unknown as ShownRun;
  return runSteps(run, full, window, { ...DEFAULT_VIEW, ...view }, "light", false);
}

// Titles come from the list of runs; here it never arrives, so keys are made readable.
beforeAll(() => {
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
});

describe("findings", () => {
  it("say the median and the tail of one run", () => {
    expect(plain(stepTimeFinding([shown("a", answer(0.08))]))).toBe(
      "The median step takes 80.0 ms, p99 160 ms (2.00 × the median)",
    );
  });

  it("name the fastest of several", () => {
    const runs = [shown("slow", answer(0.08)), shown("fast", answer(0.02)), shown("middle", answer(0.05))];
    expect(plain(stepTimeFinding(runs))).toBe("fast is fastest: median step 20.0 ms, against up to 80.0 ms");
  });

  it("say so when nothing was measured", () => {
    const nothing = answer(0.1, 0.5, { distribution: { step: null, stages: [] } });
    expect(stepTimeFinding([shown("a", nothing)])).toBe("Step time was not measured");
    expect(stagesFinding([shown("a", nothing)])).toBe("No stage took any time");
  });

  it("name the largest stage, runs with the same one together", () => {
    expect(plain(stagesFinding([shown("a", answer(0.1, 0.75))]))).toBe(
      "Largest stage: Data wait, 75.0 % of the step time",
    );
    const runs = [0.75, 0.6, 0.2].map((waiting, index) => shown(`run ${index}`, answer(0.1, waiting)));
    expect(plain(stagesFinding(runs))).toBe(
      "Largest stage: Data wait in 2 runs (60.0 % to 75.0 %); Forward in run 2 (80.0 %)",
    );
  });

  it("name the stage with the longest tail", () => {
    expect(plain(spreadFinding([shown("a", answer(0.1, 0.5))]))).toBe(
      "Data wait varies most: p95 150 ms is 3.00 × its median",
    );
    const steady = answer(0.1);
    steady.distribution.stages = steady.distribution.stages.map((stage) => ({ ...stage, p95_s: 0.051 }));
    expect(plain(spreadFinding([shown("a", steady)]))).toBe(
      "Times are steady: p95 is at most 1.02 × the median of a large stage",
    );
  });
});

describe("a run in a window", () => {
  const full = answer(0.1);
  const window = answer(0.1, 0.5, { from: 2, to: 2, steps: 1, steps_total: 4 });
  window.bins = { ...window.bins, count: [1], step_first: [2], step_last: [2] };

  it("shows the fine bins and keeps the coarse ones outside", () => {
    const steps = shown("a", full, { from: 2, to: 2 }, window);
    expect(steps.bins.map(({ stepFirst, stepLast }) => [stepFirst, stepLast])).toEqual([
      [0, 1],
      [2, 2],
    ]);
    expect(steps.shown.map((bin) => bin.stepFirst)).toEqual([2]);
    expect(steps.window).toEqual([1.5, 2.5]);
    expect(steps.extent).toEqual([-0.5, 3.5]);
    expect(scopeText(steps)).toBe("1 of 4 steps, steps 2–2");
  });

  it("shows nothing of a run that ended before the window", () => {
    const steps = shown("a", full, { from: 100, to: 200 });
    expect(steps.shown).toEqual([]);
    expect(steps.window).toEqual(steps.extent);
  });
});
