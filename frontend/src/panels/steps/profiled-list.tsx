/** The profiled windows in sight, run by run, each a way to its profile. */

import { count, plural } from "../../format/number";
import { stepRange, windowSteps } from "../../state/profiles";
import { openProfile } from "../../state/store";
import type { RunSteps } from "./run-steps";

/** More buttons than this would bury the chart. */
const MOST_LISTED = 12;

export function ProfiledList({ runs }: { runs: readonly RunSteps[] }) {
  const profiled = runs.filter((run) => run.profiledShown.length > 0);
  if (profiled.length === 0) return null;
  return (
    <ul class="profiled-list" aria-label="Profiled steps">
      {profiled.map((run) => {
        const listed = run.profiledShown.slice(-MOST_LISTED);
        const left = run.profiledShown.length - listed.length;
        return (
          <li key={run.name}>
            <span class="mark-key" style={{ backgroundColor: run.color }} aria-hidden="true" />
            <span class="profiled-run">Profiled steps{runs.length > 1 && ` of ${run.name}`}:</span>
            {left > 0 && <span class="hint">{plural(left, "earlier window")}; zoom in to list them,</span>}
            {listed.map(({ info }) => (
              <button
                key={`${info.window} ${info.attempt}`}
                type="button"
                class="link"
                title={`Open the profile of ${windowSteps(info)}`}
                aria-label={`Open the profile of ${windowSteps(info)} of ${run.name}`}
                onClick={() => openProfile(run.name, info)}
              >
                {stepRange(info) ?? count(info.window)}
              </button>
            ))}
          </li>
        );
      })}
    </ul>
  );
}
