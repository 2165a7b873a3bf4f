/** Which recorded window is shown: pure functions over the list of runs. */

import type { ProfileInfo } from "../api/profile-types";
import type { RunInfo } from "../api/types";
import { count } from "../format/number";
import type { ProfileChoice } from "./view";

export interface ShownProfile {
  /** Whose profile it is: a rank's own run. */
  run: RunInfo;
  info: ProfileInfo;
  /** The selected run that stands for it in the sidebar: itself, or another rank of its group. */
  selected: RunInfo;
}

type Steps = Pick<ProfileInfo, "first_step" | "last_step">;

const profilesOf = (run: RunInfo): readonly ProfileInfo[] => run.profiles ?? [];

export const withProfiles = (runs: readonly RunInfo[]): RunInfo[] => runs.filter((run) => profilesOf(run).length > 0);

/** Newest first. */
export const newestProfiles = (run: RunInfo): ProfileInfo[] => [...profilesOf(run)].reverse();

const sameWindow = (info: ProfileInfo, { attempt, window }: Pick<ProfileInfo, "attempt" | "window">): boolean =>
  info.attempt === attempt && info.window === window;

/** "150–154", or "150" where that is all; null: the trace has no step marks. */
export function stepRange({ first_step: first, last_step: last }: Steps): string | null {
  if (first === null || last === null) return null;
  return first === last ? count(first) : `${count(first)}–${count(last)}`;
}

/** "steps 150–154" of a window. */
export function windowSteps(info: Steps): string {
  const range = stepRange(info);
  if (range === null) return "no step marks";
  return info.first_step === info.last_step ? `step ${range}` : `steps ${range}`;
}

/** Place of a step among those of a window; null where they do not follow one another. */
export function placeOfStep({ first_step: first, last_step: last, steps }: ProfileInfo, step: number): number | null {
  if (first === null || last === null || steps !== last - first + 1) return null;
  return step >= first && step <= last ? step - first : null;
}

/** The chosen window if it exists and a selected run is of its group. */
function chosenWindow(
  runs: readonly RunInfo[],
  selection: readonly RunInfo[],
  choice: ProfileChoice | null,
): ShownProfile | null {
  const run = choice && runs.find((each) => each.run === choice.run);
  const info = run && profilesOf(run).find((each) => sameWindow(each, choice));
  if (!run || !info) return null;
  const selected = selection.find((each) => each === run) ?? selection.find((each) => each.group === run.group);
  return selected ? { run, info, selected } : null;
}

/**
 * The chosen window if it exists and a selected run is of its group, else the newest one of the first selected run that
 * has any. null: none of them has.
 */
export function shownProfile(
  runs: readonly RunInfo[],
  selection: readonly RunInfo[],
  choice: ProfileChoice | null,
): ShownProfile | null {
  const chosen = chosenWindow(runs, selection, choice);
  if (chosen) return chosen;
  for (const run of withProfiles(selection)) {
    const [newest] = newestProfiles(run);
    if (newest) return { run, info: newest, selected: run };
  }
  return null;
}

/** The runs of the group that hold the same window, rank by rank. */
export function ranksWith(runs: readonly RunInfo[], { run, info }: ShownProfile): RunInfo[] {
  return runs
    .filter((each) => each.group === run.group && profilesOf(each).some((other) => sameWindow(other, info)))
    .sort((a, b) => a.rank - b.rank);
}

export interface RunWindow {
  run: RunInfo;
  info: ProfileInfo;
}

export interface Comparison {
  /** What can be compared with, run by run, the newest first. */
  choices: { run: RunInfo; windows: ProfileInfo[] }[];
  /** The chosen one, else the one before it in its run, else another run's newest; null: there is no other. */
  against: RunWindow | null;
}

/** The windows of the selected runs, and of the run of the profile shown, other than that profile. */
export function comparisonOf(
  runs: readonly RunInfo[],
  selection: readonly RunInfo[],
  shown: ShownProfile,
  choice: ProfileChoice | null,
): Comparison {
  const chosen = chosenWindow(runs, selection, choice);
  const isShown = (run: RunInfo, info: ProfileInfo): boolean => run === shown.run && sameWindow(info, shown.info);
  const listed = new Set([shown.run, ...withProfiles(selection), ...(chosen ? [chosen.run] : [])]);
  const choices = [...listed].flatMap((run) => {
    const windows = newestProfiles(run).filter((info) => !isShown(run, info));
    return windows.length > 0 ? [{ run, windows }] : [];
  });
  if (chosen && !isShown(chosen.run, chosen.info)) return { choices, against: chosen };
  const own = profilesOf(shown.run);
  const before = own[own.findIndex((info) => sameWindow(info, shown.info)) - 1];
  if (before) return { choices, against: { run: shown.run, info: before } };
  const [first] = choices.filter(({ run }) => run !== shown.run).concat(choices);
  return { choices, against: first?.windows[0] ? { run: first.run, info: first.windows[0] } : null };
}
