/** Where the profiled windows of a run lie among its shown steps. */

import type { ProfileInfo } from "../../api/profile-types";
import type { AttemptInfo, LoopInfo, RunInfo } from "../../api/types";
import { windowSteps } from "../../state/profiles";
import type { XAxis } from "../../state/view";
import { type Bin, type PlacedBin, type StepWindow, windowOnAxis } from "./bins";

export interface ProfiledWindow {
  info: ProfileInfo;
  /** Its steps that are shown; more than one stretch where a newer attempt ran some of them again. */
  spans: readonly StepWindow[];
}

export interface PlacedWindow extends ProfiledWindow {
  /** Ends of each span on the x axis. */
  places: readonly (readonly [number, number])[];
}

const overlap = (a: StepWindow, b: StepWindow): boolean => a.from <= b.to && a.to >= b.from;

/** What is left of `span` without the steps of `taken`. */
function without(span: StepWindow, taken: StepWindow): StepWindow[] {
  if (!overlap(span, taken)) return [span];
  return [
    { from: span.from, to: taken.from - 1 },
    { from: taken.to + 1, to: span.to },
  ].filter(({ from, to }) => from <= to);
}

/** Steps of each attempt of the loop that is newer than `attempt`: merged, theirs stand for the older ones'. */
function newerSteps({ attempts }: LoopInfo, attempt: string): StepWindow[] {
  const place = attempts.findIndex((each) => each.attempt === attempt);
  return attempts
    .slice(place + 1)
    .flatMap(({ first_step: from, last_step: to }) => (from === null || to === null ? [] : [{ from, to }]));
}

/** The windows of the loop and the attempt shown (null: all, merged), by their steps. */
export function profiledWindows(run: RunInfo, loop: LoopInfo, attempt: AttemptInfo | null): ProfiledWindow[] {
  const windows = (run.profiles ?? []).flatMap((info): ProfiledWindow[] => {
    const { first_step: from, last_step: to } = info;
    const known = loop.attempts.some((each) => each.attempt === info.attempt);
    if (from === null || to === null || !known || info.loop !== loop.loop) return [];
    if (attempt !== null && attempt.attempt !== info.attempt) return [];
    const newer = attempt === null ? newerSteps(loop, info.attempt) : [];
    const spans = newer.reduce((left, taken) => left.flatMap((span) => without(span, taken)), [{ from, to }]);
    return spans.length > 0 ? [{ info, spans }] : [];
  });
  return windows.sort((a, b) => (a.spans[0]?.from ?? 0) - (b.spans[0]?.from ?? 0));
}

/** On a time axis a window reaches over the bins that hold its steps. */
export function placeWindows(windows: readonly ProfiledWindow[], bins: readonly PlacedBin[], x: XAxis): PlacedWindow[] {
  return windows.map((window) => ({
    ...window,
    places: window.spans.flatMap((span) => {
      const place = windowOnAxis(bins, x, span);
      return place ? [place] : [];
    }),
  }));
}

export function windowsBetween<Window extends ProfiledWindow>(windows: readonly Window[], steps: StepWindow): Window[] {
  return windows.filter(({ spans }) => spans.some((span) => overlap(span, steps)));
}

/** "profiled: steps 150–154" where a bin holds profiled steps, else "". */
export function profiledText(windows: readonly ProfiledWindow[], { stepFirst: from, stepLast: to }: Bin): string {
  const inside = windowsBetween(windows, { from, to });
  return inside.length > 0 ? `profiled: ${inside.map(({ info }) => windowSteps(info)).join(", ")}` : "";
}

/** The window that recorded this very step. */
export function windowOfStep(
  windows: readonly ProfiledWindow[],
  { step, attempt }: { step: number; attempt: string },
): ProfiledWindow | null {
  const inside = windowsBetween(windows, { from: step, to: step });
  return inside.find(({ info }) => info.attempt === attempt) ?? null;
}
