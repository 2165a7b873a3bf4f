/** The runs, and what of them is shown. */

import { count, plural } from "../format/number";
import { loopTitle } from "../state/definitions";
import { MAX_SHOWN, loopsOf, runFilter, groupRuns } from "../state/selection";
import { columns, runColors } from "../state/shown";
import { catalogue, selection, setView, toggleRun, view } from "../state/store";
import { AttemptChoice } from "./attempt-choice";
import { RunList } from "./run-list";

export function Sidebar() {
  const answer = catalogue.value;
  if (!answer) return null;
  const { filter, loop } = view.value;
  const { matches, error } = runFilter(filter);
  const groups = groupRuns(answer.runs.filter((run) => matches(run.run)));
  const listed = groups.flatMap((group) => group.runs.map((run) => run.run));
  const selected = new Set(selection.value.map((run) => run.run));
  const loops = loopsOf(selection.value);
  const several = columns.value.filter((run) => run.loop.attempts.length > 1);
  const select = (names: readonly string[]): void => setView({ runs: names });
  const skipped = answer.skipped ?? [];

  return (
    <>
      <section class="side-section" aria-labelledby="runs-title">
        <div class="side-head">
          <h2 id="runs-title">Runs</h2>
          <span class="side-count">
            {count(selected.size)} of {count(answer.runs.length)}
          </span>
          <span class="side-actions">
            <button
              type="button"
              class="link"
              onClick={() => select([...selected, ...listed.filter((run) => !selected.has(run))])}
            >
              All
            </button>
            <button
              type="button"
              class="link"
              onClick={() => select([...selected].filter((run) => !listed.includes(run)))}
            >
              None
            </button>
          </span>
        </div>
        <input
          class="text-field"
          type="search"
          placeholder="Filter runs (regex)"
          aria-label="Filter runs (regex)"
          aria-invalid={error !== null}
          aria-describedby={error ? "filter-error" : undefined}
          value={filter}
          onInput={(event) => setView({ filter: event.currentTarget.value })}
        />
        {error && (
          <p class="field-error" id="filter-error">
            {error}
          </p>
        )}
        <RunList groups={groups} selected={selected} colors={runColors.value} onToggle={toggleRun} />
        {groups.length === 0 && <p class="side-note">No run matches the filter.</p>}
        {selected.size > MAX_SHOWN && (
          <p class="side-note" role="status">
            The first {MAX_SHOWN} of {plural(selected.size, "selected run")} are shown.
          </p>
        )}
      </section>
      {(loops.length > 1 || loop !== null) && (
        <section class="side-section">
          <label class="side-field">
            <span class="side-title">Loop</span>
            <select
              value={loop ?? ""}
              onChange={(event) => setView({ loop: event.currentTarget.value || null, from: null, to: null })}
            >
              <option value="">First of each run</option>
              {[...new Set([...loops, ...(loop === null ? [] : [loop])])].map((name) => (
                <option key={name} value={name}>
                  {loopTitle(name)}
                </option>
              ))}
            </select>
          </label>
        </section>
      )}
      {several.length > 0 && (
        <section class="side-section" aria-labelledby="attempts-title">
          <h2 id="attempts-title">Attempts</h2>
          {several.map((run) => (
            <AttemptChoice key={run.name} run={run} />
          ))}
        </section>
      )}
      {skipped.length > 0 && (
        <details class="side-section side-skipped">
          <summary>{plural(skipped.length, "run")} not readable</summary>
          <ul class="plain-list">
            {skipped.map(({ run, reason }) => (
              <li key={run}>
                <strong>{run}</strong>: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
