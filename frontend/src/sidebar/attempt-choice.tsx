import { moment, plural } from "../format/number";
import type { ShownRun } from "../state/shown";
import { setView, view } from "../state/store";

/** One attempt of a run, or all merged. */
export function AttemptChoice({ run }: { run: ShownRun }) {
  const choose = (attempt: string): void => {
    const { [run.name]: _, ...others } = view.value.attempts;
    setView({ attempts: attempt === "" ? others : { ...others, [run.name]: attempt } });
  };
  return (
    <label class="side-field">
      <span class="side-run">{run.name}</span>
      <select value={run.attempt?.attempt ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">All {run.loop.attempts.length} merged</option>
        {run.loop.attempts.map(({ attempt, started_unix_s: started, steps }) => (
          <option key={attempt} value={attempt}>
            {started === null ? attempt : moment(started)} ({plural(steps, "step")})
          </option>
        ))}
      </select>
    </label>
  );
}
