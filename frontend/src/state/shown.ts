/** The runs with a column, each with its colour and what the server is to be asked about it. */

import { computed } from "@preact/signals";
import type { Parameters } from "../api/client";
import type { AttemptInfo, LoopInfo, RunInfo } from "../api/types";
import { theme } from "../host/theme";
import { runColor } from "../theme/palette";
import { groupRuns, shownAttempt, shownLoop } from "./selection";
import { catalogue, shownRuns, view } from "./store";

export interface ShownRun {
  info: RunInfo;
  name: string;
  color: string;
  loop: LoopInfo;
  attempt: AttemptInfo | null;
  /** `run`, `loop` and `attempt` of a request. */
  parameters: Parameters;
}

/** Colours go by the place in the whole list, so that a run keeps its own whatever is selected. */
export const runColors = computed(() => {
  const runs = groupRuns(catalogue.value?.runs ?? []).flatMap((group) => group.runs);
  return new Map(runs.map((run, index) => [run.run, runColor(index, theme.value)]));
});

export const columns = computed<ShownRun[]>(() => {
  const result: ShownRun[] = [];
  for (const info of shownRuns.value) {
    const loop = shownLoop(info, view.value.loop);
    if (!loop) continue;
    const attempt = shownAttempt(loop, view.value.attempts[info.run]);
    result.push({
      info,
      name: info.run,
      color: runColors.value.get(info.run) ?? "",
      loop,
      attempt,
      parameters: { run: info.run, loop: loop.loop, attempt: attempt?.attempt },
    });
  }
  return result;
});

/** Selected runs that do not have the chosen loop, but others. */
export const withoutLoop = computed(() =>
  shownRuns.value
    .filter((info) => info.loops.length > 0 && shownLoop(info, view.value.loop) === null)
    .map((info) => info.run),
);

/** Selected runs that hold no recorded steps. */
export const withoutSteps = computed(() => shownRuns.value.filter((info) => info.loops.length === 0));
