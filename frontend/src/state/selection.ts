/** Which runs are listed, selected and shown: pure functions over the list of runs. */

import type { AttemptInfo, LoopInfo, RunInfo } from "../api/types";
import { type TextFilter, textFilter } from "../format/filter";

/** More columns than this help nobody and would load the server for nothing. */
export const MAX_SHOWN = 8;
/** Without a choice, the newest trainings are shown: two, so that "before and after" is there at once. */
const DEFAULT_SHOWN = 2;

export const runFilter = (expression: string): TextFilter => textFilter(expression, "runs");

export interface RunGroup {
  group: string;
  /** Rank 0 first. */
  runs: RunInfo[];
}

const compareNames = new Intl.Collator("en", { numeric: true }).compare;

/** The ranks of each training together, trainings by name. */
export function groupRuns(runs: readonly RunInfo[]): RunGroup[] {
  const groups = new Map<string, RunInfo[]>();
  for (const run of runs) {
    const members = groups.get(run.group);
    if (members) members.push(run);
    else groups.set(run.group, [run]);
  }
  return [...groups]
    .map(([group, members]) => ({ group, runs: members.sort((a, b) => a.rank - b.rank || compareNames(a.run, b.run)) }))
    .sort((a, b) => compareNames(a.group, b.group));
}

/** The newest trainings, one rank of each. */
export function defaultSelection(runs: readonly RunInfo[]): string[] {
  return groupRuns(runs)
    .flatMap((group) => group.runs.slice(0, 1))
    .sort((a, b) => (b.last_update_unix_s ?? 0) - (a.last_update_unix_s ?? 0))
    .slice(0, DEFAULT_SHOWN)
    .map((run) => run.run);
}

/** The selected runs that exist, in the order of the list, whatever the order of the clicks. */
export function selectedRuns(runs: readonly RunInfo[], chosen: readonly string[] | null): RunInfo[] {
  const names = new Set(chosen ?? defaultSelection(runs));
  return groupRuns(runs)
    .flatMap((group) => group.runs)
    .filter((run) => names.has(run.run));
}

/** Every loop that one of `runs` has, in the server's order. */
export function loopsOf(runs: readonly RunInfo[]): string[] {
  const order = ["train", "validate", "test", "predict", "pipeline"];
  const present = new Set(runs.flatMap((run) => run.loops.map((loop) => loop.loop)));
  return [...order.filter((loop) => present.has(loop)), ...[...present].filter((loop) => !order.includes(loop))];
}

/** The loop shown of `run`: the chosen one, else its first. */
export function shownLoop(run: RunInfo, chosen: string | null): LoopInfo | null {
  if (chosen !== null) return run.loops.find((loop) => loop.loop === chosen) ?? null;
  return run.loops[0] ?? null;
}

/** The attempt shown of `run`, or null for all merged. A choice that the loop does not have is not one. */
export function shownAttempt(loop: LoopInfo, chosen: string | undefined): AttemptInfo | null {
  return loop.attempts.find((attempt) => attempt.attempt === chosen) ?? null;
}
