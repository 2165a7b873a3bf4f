/** What a panel of steps says about selected runs that it has nothing to show of. */

import { loopTitle } from "../state/definitions";
import { openProfile, shownRuns, view } from "../state/store";
import { withoutLoop, withoutSteps } from "../state/shown";
import { Notice } from "./states";

export function RunsLeftOut() {
  return (
    <>
      {withoutLoop.value.map((run) => (
        <Notice kind="info" key={run}>
          {run} has no loop “{loopTitle(view.value.loop ?? "")}”.
        </Notice>
      ))}
      {withoutSteps.value.map(({ run, profiles = [] }) => {
        const name = shownRuns.value.length > 1 ? run : "This run";
        if (profiles.length === 0) {
          return (
            <Notice kind="info" key={run}>
              {name} holds no recorded steps.
            </Notice>
          );
        }
        const newest = profiles[profiles.length - 1];
        const open = (): void => {
          if (newest) openProfile(run, newest);
        };
        return (
          <Notice kind="info" key={run}>
            {name} holds no recorded steps; see Profile.{" "}
            <button type="button" class="link" onClick={open}>
              Open its profile
            </button>
          </Notice>
        );
      })}
    </>
  );
}
