/** Which recorded window the panel shows: run, window and rank. */

import type { ProfileInfo } from "../../api/profile-types";
import type { RunInfo } from "../../api/types";
import { count, moment, plural } from "../../format/number";
import { loopTitle } from "../../state/definitions";
import { type ShownProfile, newestProfiles, ranksWith, windowSteps, withProfiles } from "../../state/profiles";
import { catalogue, selection, setView } from "../../state/store";

/** Several attempts of a run are told apart by their ids. */
export function windowText(info: ProfileInfo, withAttempt: boolean): string {
  const loop = info.loop === "train" ? "" : `${loopTitle(info.loop)}, `;
  const attempt = withAttempt ? `, attempt ${info.attempt}` : "";
  return `${loop}${windowSteps(info)}, recorded ${moment(info.recorded_unix_s)}${attempt}`;
}

const keyOf = (info: ProfileInfo): string => `${info.window}@${info.attempt}`;

export function WindowChoice({ shown }: { shown: ShownProfile }) {
  const runs = catalogue.value?.runs ?? [];
  const candidates = withProfiles(selection.value);
  // A rank that is not selected itself stands under the selected run of its group.
  const listed = candidates.includes(shown.selected) ? candidates : [shown.selected, ...candidates];
  const windows = newestProfiles(shown.run);
  const severalAttempts = new Set(windows.map((info) => info.attempt)).size > 1;
  const ranks = ranksWith(runs, shown);
  const show = (run: RunInfo, info: ProfileInfo | undefined): void => {
    if (info) setView({ profile: { run: run.run, attempt: info.attempt, window: info.window }, profileStep: null });
  };
  // The steps of a window are the same on every rank.
  const showRank = (run: RunInfo): void =>
    setView({ profile: { run: run.run, attempt: shown.info.attempt, window: shown.info.window } });

  return (
    <div class="toolbar window-choice" role="group" aria-label="Recorded window">
      <label class="choice choice-run">
        Run
        <select
          value={shown.selected.run}
          onChange={(event) => {
            const run = listed.find((each) => each.run === event.currentTarget.value);
            if (run) show(run, newestProfiles(run)[0]);
          }}
        >
          {listed.map(({ run }) => (
            <option key={run} value={run}>
              {run}
            </option>
          ))}
        </select>
      </label>
      <label class="choice">
        Window
        <select
          value={keyOf(shown.info)}
          onChange={(event) =>
            show(
              shown.run,
              windows.find((info) => keyOf(info) === event.currentTarget.value),
            )
          }
        >
          {windows.map((info) => (
            <option key={keyOf(info)} value={keyOf(info)}>
              {windowText(info, severalAttempts)}
            </option>
          ))}
        </select>
      </label>
      {(ranks.length > 1 || shown.run.rank > 0) && (
        <label class="choice">
          Rank
          <select
            value={shown.run.run}
            onChange={(event) => {
              const run = ranks.find((each) => each.run === event.currentTarget.value);
              if (run) showRank(run);
            }}
          >
            {ranks.map(({ run, rank }) => (
              <option key={run} value={run}>
                {rank}
              </option>
            ))}
          </select>
        </label>
      )}
      {ranks.length > 1 && shown.run.world_size !== null && ranks.length < shown.run.world_size && (
        <span class="hint">
          {plural(ranks.length, "rank")} of {count(shown.run.world_size)} recorded
        </span>
      )}
    </div>
  );
}
