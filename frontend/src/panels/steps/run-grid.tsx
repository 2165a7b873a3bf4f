import type { ComponentChildren } from "preact";
import { RunName } from "../../ui/run-name";
import type { RunSteps } from "./run-steps";

interface Props {
  runs: readonly RunSteps[];
  children: (run: RunSteps) => ComponentChildren;
}

/** The runs side by side, or one by itself; a run without a step in the window says so. */
export function RunGrid({ runs, children }: Props) {
  return (
    <div class={runs.length > 1 ? "run-grid" : undefined}>
      {runs.map((run) => (
        <div key={run.name} class="run-cell">
          {runs.length > 1 && <RunName run={run.run} />}
          {run.shown.length > 0 ? (
            children(run)
          ) : (
            <p class="state">
              No step of this run lies in the window; it has steps {run.answer.first_step ?? "?"} to{" "}
              {run.answer.last_step ?? "?"}.
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
