import type { RunInfo } from "../../api/types";
import { plural } from "../../format/number";
import { withProfiles } from "../../state/profiles";
import { catalogue, selection, toggleRun } from "../../state/store";

const SNIPPET = `from tb_aiperf.callbacks import PerfMonitor, StepProfiler

profiler = StepProfiler(steps="100:105")  # steps 100 to 104
trainer = L.Trainer(callbacks=[PerfMonitor(), profiler])`;

/** None of the selected runs holds a profile: how to get one. */
export function NoProfile() {
  const others = withProfiles(catalogue.value?.runs ?? []);
  const newest = others.reduce<RunInfo | null>(
    (best, run) => (best === null || (run.last_update_unix_s ?? 0) > (best.last_update_unix_s ?? 0) ? run : best),
    null,
  );
  const selected = selection.value.length;
  return (
    <section class="state state-empty" aria-labelledby="no-profile">
      <h2 id="no-profile">
        {selected === 1
          ? "The selected run holds no profile"
          : `None of the ${plural(selected, "selected run")} holds a profile`}
      </h2>
      {newest && (
        <p>
          {others.length === 1 ? "Another run has one" : `${plural(others.length, "other run")} have one`}:{" "}
          <button type="button" class="link" onClick={() => toggleRun(newest.run, true)}>
            Show {newest.run}
          </button>
        </p>
      )}
      <p>To profile steps of a training, add StepProfiler to the Trainer’s callbacks:</p>
      <pre class="snippet" tabIndex={0} aria-label="Python code that profiles steps of a training">
        {SNIPPET}
      </pre>
      <p>
        A training that is running and has one profiles its next steps on request, where RUN_DIR is the run’s folder:
      </p>
      <pre class="snippet" tabIndex={0} aria-label="Command that profiles a running training">
        aiperf profile RUN_DIR
      </pre>
      <p>A trace file that torch.profiler wrote becomes a run of its own, where DIR is this log directory:</p>
      <pre class="snippet" tabIndex={0} aria-label="Command that turns a trace file into a run">
        aiperf analyze TRACE --logdir DIR
      </pre>
      <p>TRACE is a file such as trace.json or rank0.pt.trace.json.gz; several ranks may be named at once.</p>
    </section>
  );
}
