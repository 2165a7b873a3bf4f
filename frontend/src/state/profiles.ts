/** Which recorded window is shown: pure functions over the list of runs. */

import type { ProfileInfo } from "../api/profile-types";
import type { RunInfo } from "../api/types";
import type { ProfileChoice } from "./view";

export interface ShownProfile {
  /** Whose profile it is: a rank's own run. */
  run: RunInfo;
  info: ProfileInfo;
  /** The selected run that stands for it in the sidebar: itself, or another rank of its group. */
  selected: RunInfo;
}

const profilesOf = (run: RunInfo): readonly ProfileInfo[] => run.profiles ?? [];

export const withProfiles = (runs: readonly RunInfo[]): RunInfo[] => runs.filter((run) => profilesOf(run).length > 0);

/** Newest first. */
export const newestProfiles = (run: RunInfo): ProfileInfo[] => [...profilesOf(run)].reverse();

const sameWindow = (info: ProfileInfo, { attempt, window }: Pick<ProfileInfo, "attempt" | "window">): boolean =>
  info.attempt === attempt && info.window === window;

/**
 * The chosen window if it exists and a selected run is of its group, else the newest one of the first selected run that
 * has any. null: none of them has.
 */
export function shownProfile(
  runs: readonly RunInfo[],
  selection: readonly RunInfo[],
  choice: ProfileChoice | null,
): ShownProfile | null {
  if (choice !== null) {
    const run = runs.find((each) => each.run === choice.run);
    const info = run && profilesOf(run).find((each) => sameWindow(each, choice));
    const selected = selection.find((each) => each === run) ?? selection.find((each) => each.group === run?.group);
    if (run && info && selected) return { run, info, selected };
  }
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
