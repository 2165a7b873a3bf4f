/** The steps of a profile: which count, how they are called, and which one is looked at. */

import type { StepProfile } from "../../api/profile-types";
import { count } from "../../format/number";

/** The steps that figures cover: those that are not partial, or all if every one is. */
export function wholeSteps(steps: readonly StepProfile[]): readonly StepProfile[] {
  const whole = steps.filter((step) => !step.partial);
  return whole.length > 0 ? whole : steps;
}

/** "step 204", or "the whole trace" where the program marked no steps. */
export const stepName = (step: StepProfile | undefined): string =>
  step?.step == null ? "the whole trace" : `step ${count(step.step)}`;

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const ordered = [...values].sort((a, b) => a - b);
  const middle = (ordered.length - 1) / 2;
  return ((ordered[Math.floor(middle)] ?? 0) + (ordered[Math.ceil(middle)] ?? 0)) / 2;
}

/** Place of the chosen step; else of the whole step whose time is nearest to the median. */
export function chosenStep(steps: readonly StepProfile[], chosen: number | null): number {
  if (chosen !== null && chosen < steps.length) return chosen;
  const whole = wholeSteps(steps);
  const middle = median(whole.map((step) => step.duration_us)) ?? 0;
  const distance = (step: StepProfile): number => Math.abs(step.duration_us - middle);
  const typical = whole.reduce<StepProfile | null>(
    (best, step) => (best === null || distance(step) < distance(best) ? step : best),
    null,
  );
  return typical ? steps.indexOf(typical) : 0;
}

/** "5 steps, 200–204", or what stands for them. */
export function stepsText(steps: readonly StepProfile[]): string {
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (!first || first.step === null || last?.step == null) return "no step marks: the whole trace";
  if (steps.length === 1) return `1 step: ${count(first.step)}`;
  return `${count(steps.length)} steps: ${count(first.step)}–${count(last.step)}`;
}
