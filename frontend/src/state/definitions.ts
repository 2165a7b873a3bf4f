/** Names and wording: from the server where it sends them, else a sensible fallback. One place for every label. */

import type { SegmentInfo, StageInfo } from "../api/types";
import { wordsOf } from "../format/words";
import type { ThemeName } from "../host/theme";
import { stageColor } from "../theme/palette";
import { catalogue } from "./store";

const FALLBACK: Readonly<Record<string, string>> = {
  "step_time.n": "Number of steps behind the statistics.",
  "step_time.mean": "Arithmetic mean of the wall-clock time of a step.",
  "step_time.median": "Half of the steps took at most this wall-clock time.",
  "step_time.p5": "5 % of the steps took at most this wall-clock time.",
  "step_time.p25": "25 % of the steps took at most this wall-clock time.",
  "step_time.p75": "75 % of the steps took at most this wall-clock time.",
  "step_time.p95": "95 % of the steps took at most this wall-clock time.",
  "step_time.p99": "99 % of the steps took at most this wall-clock time.",
  "step_time.min": "The shortest step.",
  "step_time.max": "The longest step.",
  steps_per_s: "Steps divided by their summed wall-clock time; the time between steps is left out.",
  "stage.share": "The stage's summed time as a share of the summed wall-clock time of the steps.",
  "stage.total": "The stage's time summed over the steps of the window.",
  "stage.mean": "Mean time per step, steps without this stage counted as 0.",
  "stage.median": "Half of the steps spent at most this time in the stage.",
  "stage.p5": "5 % of the steps spent at most this time in the stage.",
  "stage.p25": "25 % of the steps spent at most this time in the stage.",
  "stage.p75": "75 % of the steps spent at most this time in the stage.",
  "stage.p95": "95 % of the steps spent at most this time in the stage.",
  "stage.p99": "99 % of the steps spent at most this time in the stage.",
  "stage.min": "The least time a step spent in the stage.",
  "stage.max": "The most time a step spent in the stage.",
  "stage.nonzero": "Number of steps in which the stage took any time.",
  "wall.steps": "Summed wall-clock time of the steps.",
  "wall.segments": "Wall-clock time between steps: start-up, epoch boundaries, shutdown.",
  "wall.total": "Measured wall-clock time of all attempts shown.",
  "segment.count": "How often this kind of stretch between steps occurred.",
  "segment.total": "Summed wall-clock time of this kind of stretch.",
  "segment.share": "Share of the wall-clock time between steps.",
  "segment.wall": "Wall-clock time of this stretch between two steps.",
  "bins.mean": "Mean over the steps of a bin; a bin is a run of neighbouring steps, often one.",
  "bins.median": "Median step time of a bin.",
  "bins.min": "Shortest step of a bin.",
  "bins.max": "Longest step of a bin.",
  histogram: "Steps per equal slice of time between the 0.5th and the 99.5th percentile.",
  "worst.wall": "Wall-clock time of this step.",
  "worst.times_median": "The step's time divided by the median step time of the window.",
  "worst.excess": "The stage furthest above its own median in this step, and by how much.",
  "resources.mean": "Mean of the samples.",
  "resources.median": "Median of the samples.",
  "resources.p95": "95 % of the samples lie at or below this.",
  "resources.max": "The largest sample.",
};

/** The definition of a statistic, such as "step_time.p95"; null when nobody wrote one. */
export function definition(key: string): string | null {
  return catalogue.value?.definitions?.[key] ?? FALLBACK[key] ?? null;
}

/** What is known about each stage of `keys`, in their order. A stage that a program named has no entry of its own. */
export function describeStages(keys: readonly string[]): StageInfo[] {
  const known = new Map((catalogue.value?.stages ?? []).map((stage) => [stage.key, stage]));
  let named = 0;
  return keys.map(
    (key) =>
      known.get(key) ?? {
        key,
        title: known.size > 0 ? key : wordsOf(key),
        // The same rule as on the server: the eight colours in order of appearance, then again.
        color: `user_${named++ % 8}`,
        meaning: `Stage "${key}", named by the program.`,
      },
  );
}

export function describeSegment(key: string): SegmentInfo {
  const known = catalogue.value?.segments.find((segment) => segment.key === key);
  return known ?? { key, title: wordsOf(key), meaning: "" };
}

export interface PaintedStage extends StageInfo {
  /** The resolved colour in the theme at hand. */
  paint: string;
}

export function paintStages(keys: readonly string[], theme: ThemeName): PaintedStage[] {
  return describeStages(keys).map((stage) => ({ ...stage, paint: stageColor(stage.color, theme) }));
}

const LOOP_TITLES: Readonly<Record<string, string>> = {
  train: "Training",
  validate: "Validation",
  test: "Test",
  predict: "Prediction",
  pipeline: "Pipeline",
};

export const loopTitle = (loop: string): string => LOOP_TITLES[loop] ?? wordsOf(loop);
