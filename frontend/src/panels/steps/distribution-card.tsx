/** Spread of the step time and of every stage, with the percentiles as figures. */

import { useMemo, useState } from "preact/hooks";
import { count } from "../../format/number";
import { definition } from "../../state/definitions";
import type { View } from "../../state/view";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { tableCsv } from "../../ui/data-table";
import { roundUp } from "./bins";
import { HistogramChart, SpreadChart } from "./distribution-charts";
import { type DistributionRow, STEP, rowsOf, spreadFinding } from "./distribution-rows";
import { Percentiles, percentileColumns } from "./percentiles";
import { RunGrid } from "./run-grid";
import { type RunSteps, largest, scopeText } from "./run-steps";

interface Props {
  runs: readonly RunSteps[];
  view: View;
  colors: ChartColors;
}

export function DistributionCard({ runs, view, colors }: Props) {
  const [picked, setPicked] = useState(STEP);
  const rows = useMemo(() => new Map(runs.map((run) => [run.name, rowsOf(run, colors)])), [runs, colors]);
  const all = [...rows.values()].flat();
  const choices = new Map(all.map((row) => [row.key, row.title]));
  const key = choices.has(picked) ? picked : STEP;
  const columns = percentileColumns();
  const [only] = runs;

  const p99s = all.map((row) => row.values.p99_s);
  const p95s = all.map((row) => row.values.p95_s);
  const smallest = Math.min(...all.map((row) => row.values.p5_s ?? Infinity).filter((value) => value > 0));
  const whole = largest(p99s) ?? 1;
  const top = roundUp(1.02 * (view.ignoreOutliers ? Math.min(whole, 1.3 * (largest(p95s) || whole)) : whole));
  const beyond = p99s.filter((value) => (value ?? 0) > top).length;
  const floor = Number.isFinite(smallest) ? 10 ** Math.floor(Math.log10(Math.max(smallest, 1e-6))) : 1e-6;

  return (
    <Card
      kind="Distribution"
      finding={spreadFinding(runs)}
      {...(runs.length === 1 && only ? { scope: scopeText(only) } : {})}
      busy={runs.some((run) => run.busy)}
      hasChart
      csv={() => tableCsv([{ title: "Run", name: "run", raw: (row: DistributionRow) => row.run }, ...columns], all)}
      table={() => (
        <RunGrid runs={runs}>{(run) => <Percentiles run={run} rows={rows.get(run.name) ?? []} full />}</RunGrid>
      )}
      definitions={[
        {
          term: "Box",
          text: "From p25 to p75, with the median; whiskers reach from p5 to p95, the diamond marks p99.",
        },
        { term: "Histogram", text: definition("histogram") ?? "" },
        ...columns.flatMap(({ title, definition: text }) => (text ? [{ term: title, text }] : [])),
      ]}
    >
      <label class="inline-field">
        Histogram of
        <select value={key} onChange={(event) => setPicked(event.currentTarget.value)}>
          {[...choices].map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <RunGrid runs={runs}>
        {(run) => (
          <div class={runs.length === 1 ? "spread spread-wide" : "spread"}>
            <SpreadChart
              run={run}
              rows={rows.get(run.name) ?? []}
              log={view.logY}
              range={{ floor, top }}
              colors={colors}
            />
            <HistogramChart run={run} picked={key} rows={rows} ignoreOutliers={view.ignoreOutliers} colors={colors} />
          </div>
        )}
      </RunGrid>
      <p class="chart-note">
        Box: p25 to p75 with the median. Whiskers: p5 to p95. Diamond: p99. The histogram spans p0.5 to p99.5.
        {view.logY && " On the logarithmic axis, steps without the stage stand at the left end."}
        {beyond > 0 && ` ${count(beyond)} p99 ${beyond === 1 ? "lies" : "lie"} beyond the axis.`}
      </p>
      <RunGrid runs={runs}>{(run) => <Percentiles run={run} rows={rows.get(run.name) ?? []} />}</RunGrid>
    </Card>
  );
}
