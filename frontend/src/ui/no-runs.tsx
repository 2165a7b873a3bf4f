/** The page of a log directory without our data. */

import { useEffect, useState } from "preact/hooks";
import { plural } from "../format/number";
import { runsOfHost } from "../host/guest";

const SNIPPET = `from tb_aiperf.callbacks import PerfMonitor

trainer = L.Trainer(callbacks=[PerfMonitor()])`;

interface SkippedRun {
  run: string;
  reason: string;
}

function sightedText(runs: readonly string[] | null): string {
  if (runs === null) return "TensorBoard found none in its log directory.";
  if (runs.length === 0) return "TensorBoard has found no run of any kind in its log directory yet.";
  return `TensorBoard knows ${plural(runs.length, "run")}, none with such summaries.`;
}

/** Nothing recorded: what was looked for, what was passed over, and how to get data. */
export function NoRuns({ skipped }: { skipped: readonly SkippedRun[] }) {
  const [runs, setRuns] = useState<readonly string[] | null>(null);
  useEffect(() => {
    void runsOfHost().then(setRuns);
  }, []);
  return (
    <section class="state state-empty" aria-labelledby="no-runs">
      <h2 id="no-runs">No step times and no profiles in this log directory yet</h2>
      <p>
        This page shows summaries that the <code>PerfMonitor</code> callback writes under the plugin name{" "}
        <code>tb_aiperf</code>. {sightedText(runs)} To record them, add the callback to the Trainer:
      </p>
      <pre class="snippet" tabIndex={0} aria-label="Python code to record a training">
        {SNIPPET}
      </pre>
      <p>The first steps appear some ten seconds after the training has started and TensorBoard has reloaded.</p>
      <p>
        A trace file of torch.profiler becomes a run, too: <code>aiperf analyze TRACE --logdir DIR</code>, where DIR is
        this log directory.
      </p>
      {skipped.length > 0 && <Skipped skipped={skipped} />}
    </section>
  );
}

function Skipped({ skipped }: { skipped: readonly SkippedRun[] }) {
  return (
    <>
      <p>Runs that hold our summaries but could not be read:</p>
      <ul class="plain-list">
        {skipped.map(({ run, reason }) => (
          <li key={run}>
            <strong>{run}</strong>: {reason}
          </li>
        ))}
      </ul>
    </>
  );
}
