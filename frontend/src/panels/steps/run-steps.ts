/** A run's answer, ready to be drawn: bins on the axis, stages with their colours. */

import type { Measured, StepsAnswer } from "../../api/types";
import type { ThemeName } from "../../host/theme";
import { type PaintedStage, paintStages } from "../../state/definitions";
import type { ShownRun } from "../../state/shown";
import type { View } from "../../state/view";
import { type PlacedBin, type StepWindow, originOf, placeBins, readBins, spliceBins, windowOnAxis } from "./bins";
import { type PlacedWindow, placeWindows, profiledWindows, windowsBetween } from "./profiled";

export interface RunSteps {
  run: ShownRun;
  name: string;
  color: string;
  /** The answer for the window. */
  answer: StepsAnswer;
  /** The whole run, the window in finer bins. */
  bins: PlacedBin[];
  /** The bins in the window. */
  shown: PlacedBin[];
  stages: PaintedStage[];
  /** Ends of the whole run on the x axis. */
  extent: [number, number];
  /** Ends of the window on the x axis; the whole run when none of its steps is in the window. */
  window: [number, number];
  /** The profiled windows of what is shown of the run, and those in the window. */
  profiled: readonly PlacedWindow[];
  profiledShown: readonly PlacedWindow[];
  busy: boolean;
}

function windowOf(view: View, answer: StepsAnswer): StepWindow {
  return {
    from: view.from ?? answer.first_step ?? 0,
    to: view.to ?? answer.last_step ?? 0,
  };
}

export function runSteps(
  run: ShownRun,
  full: StepsAnswer,
  answer: StepsAnswer,
  view: View,
  theme: ThemeName,
  busy: boolean,
): RunSteps {
  const coarse = readBins(full.bins);
  const joined = full === answer ? coarse : spliceBins(coarse, readBins(answer.bins));
  const origin = originOf(joined);
  const bins = placeBins(joined, view.x, origin);
  const whole: StepWindow = { from: full.first_step ?? 0, to: full.last_step ?? 0 };
  const extent = windowOnAxis(bins, view.x, whole) ?? [0, 1];
  const wanted = windowOf(view, full);
  const overlaps = wanted.from <= whole.to && wanted.to >= whole.from;
  const clipped: StepWindow = { from: Math.max(wanted.from, whole.from), to: Math.min(wanted.to, whole.to) };
  const window = (overlaps ? windowOnAxis(bins, view.x, clipped) : null) ?? extent;
  const profiled = placeWindows(profiledWindows(run.info, run.loop, run.attempt), bins, view.x);
  return {
    run,
    name: run.name,
    color: run.color,
    answer,
    bins,
    shown: overlaps ? bins.filter((bin) => bin.stepLast >= clipped.from && bin.stepFirst <= clipped.to) : [],
    stages: paintStages(full.stages, theme),
    extent,
    window: [Math.max(window[0], extent[0]), Math.min(window[1], extent[1])],
    profiled,
    profiledShown: overlaps ? windowsBetween(profiled, clipped) : [],
    busy,
  };
}

/** Largest of the numbers that were measured; null when none was. */
export function largest(values: Iterable<Measured>): number | null {
  let top: number | null = null;
  for (const value of values) if (value !== null && (top === null || value > top)) top = value;
  return top;
}

/** "steps 0–399" of what is shown. */
export function scopeText(steps: RunSteps): string {
  const { from, to, steps: shown, steps_total: total } = steps.answer;
  const attempt = steps.run.attempt ? `attempt ${steps.run.attempt.attempt}` : null;
  const window =
    from === null || to === null ? "" : `steps ${from.toLocaleString("en-US")}–${to.toLocaleString("en-US")}`;
  const part =
    shown === total
      ? `all ${total.toLocaleString("en-US")} steps`
      : `${shown.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} steps`;
  return [part, window, attempt].filter(Boolean).join(", ");
}
