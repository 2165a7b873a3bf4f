/** Scales that all columns of the overview share. */

import type { OverviewAnswer } from "../../api/types";
import { robustTop } from "../steps/bins";

/** What all columns are drawn to. */
export interface Scales {
  /** Longest mean stage time, in seconds. */
  stage: number;
  /** Top of the step-time axis, in seconds. */
  stepTime: number;
  /** Longest wall-clock, in seconds. */
  wall: number;
}

export function scalesOf(answers: readonly OverviewAnswer[]): Scales {
  const most = (values: readonly (number | null | undefined)[]): number =>
    Math.max(0, ...values.map((value) => value ?? 0));
  return {
    stage: most(answers.flatMap((answer) => answer.stages.map((stage) => stage.mean_s))),
    stepTime: most(
      answers.map(({ step_time_s: time }) => (time === null ? null : robustTop(time.max ?? 0, time.p95, time.median))),
    ),
    wall: most(answers.map((answer) => answer.wall_s?.total)),
  };
}
