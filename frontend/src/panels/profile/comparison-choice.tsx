/** The window that the profile shown is compared with. */

import { profileText, parseProfile } from "../../state/view";
import type { Comparison, ShownProfile } from "../../state/profiles";
import { setView } from "../../state/store";
import { windowText } from "./window-choice";

export function ComparisonChoice({ comparison, shown }: { comparison: Comparison; shown: ShownProfile }) {
  const { choices, against } = comparison;
  if (!against) return null;
  const keyOf = (run: string, { attempt, window }: { attempt: string; window: number }): string =>
    profileText({ run, attempt, window });
  const swap = (): void =>
    setView({
      profile: { run: against.run.run, attempt: against.info.attempt, window: against.info.window },
      against: { run: shown.run.run, attempt: shown.info.attempt, window: shown.info.window },
      profileStep: null,
    });
  return (
    <div class="toolbar" role="group" aria-label="What the profile is compared with">
      <label class="choice">
        Baseline
        <select
          value={keyOf(against.run.run, against.info)}
          onChange={(event) => setView({ against: parseProfile(event.currentTarget.value) })}
        >
          {choices.map(({ run, windows }) => (
            <optgroup key={run.run} label={run.run}>
              {windows.map((info) => (
                <option key={keyOf(run.run, info)} value={keyOf(run.run, info)}>
                  {windowText(info, new Set(windows.map(({ attempt }) => attempt)).size > 1)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="button button-small"
        title="Show the baseline, and compare it with this"
        onClick={swap}
      >
        Swap
      </button>
    </div>
  );
}
