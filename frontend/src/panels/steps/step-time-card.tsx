/** Step time over the run, all runs in one chart. */

import { useMemo } from "preact/hooks";
import type { ChartCursor, ChartZoom } from "../../charts/chart";
import { Chart } from "../../charts/chart";
import { xText } from "../../charts/option";
import { count, seconds, times } from "../../format/number";
import { definition } from "../../state/definitions";
import type { View } from "../../state/view";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { type PlacedBin, robustTop, roundUp } from "./bins";
import { profiledText } from "./profiled";
import { ProfiledList } from "./profiled-list";
import { type RunSteps, largest, scopeText } from "./run-steps";
import { stepTimeOption } from "./step-time-chart";
import { binTitle } from "./stage-chart";

interface Row {
  run: string;
  bin: PlacedBin;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Run", name: "run", raw: (row) => row.run },
  { title: "First step", name: "step_first", raw: (row) => row.bin.stepFirst, numeric: true },
  { title: "Last step", name: "step_last", raw: (row) => row.bin.stepLast, numeric: true },
  { title: "n", name: "n", raw: (row) => row.bin.count, cell: (row) => count(row.bin.count), numeric: true },
  ...(["mean", "min", "p5", "median", "p95", "max"] as const).map((key): Column<Row> => ({
    title: key.charAt(0).toUpperCase() + key.slice(1),
    name: `${key}_s`,
    raw: (row) => row.bin[key],
    cell: (row) => seconds(row.bin[key]),
    numeric: true,
  })),
];

/** "Median step 79 ms, p99 140 ms": of one run, or which of several is fastest. */
export function stepTimeFinding(runs: readonly RunSteps[]): string {
  const known = runs.flatMap((run) => {
    const step = run.answer.distribution.step;
    return step?.median_s != null ? [{ name: run.name, median: step.median_s, p99: step.p99_s }] : [];
  });
  const [first, ...others] = [...known].sort((a, b) => a.median - b.median);
  if (!first) return "Step time was not measured";
  const slowest = others[others.length - 1];
  if (!slowest) {
    const tail =
      first.p99 === null ? "" : `, p99 ${seconds(first.p99)} (${times(first.p99 / first.median)} the median)`;
    return `The median step takes ${seconds(first.median)}${tail}`;
  }
  return `${first.name} is fastest: median step ${seconds(first.median)}, against up to ${seconds(slowest.median)}`;
}

const union = (ranges: readonly (readonly [number, number])[]): [number, number] => [
  Math.min(...ranges.map(([low]) => low)),
  Math.max(...ranges.map(([, high]) => high)),
];

interface Props {
  runs: readonly RunSteps[];
  view: View;
  colors: ChartColors;
  zoom: (run: RunSteps) => ChartZoom;
}

export function StepTimeCard({ runs, view, colors, zoom }: Props) {
  const inWindow = runs.filter((run) => run.shown.length > 0);
  const extent = union(runs.map((run) => run.extent));
  const window = union((inWindow.length > 0 ? inWindow : runs).map((run) => run.window));
  const highest = largest(inWindow.flatMap((run) => run.shown.map((bin) => bin.max))) ?? 1;
  const robust = Math.max(
    ...inWindow.map((run) => {
      const step = run.answer.distribution.step;
      return robustTop(highest, step?.p95_s ?? null, step?.median_s ?? null);
    }),
  );
  // A logarithmic axis has room for outliers.
  const top = view.ignoreOutliers && !view.logY && Number.isFinite(robust) ? roundUp(robust) : undefined;
  const cut = top === undefined ? 0 : inWindow.flatMap((run) => run.shown).filter((bin) => (bin.p95 ?? 0) > top).length;

  const option = useMemo(
    () => stepTimeOption({ runs, x: view.x, log: view.logY, top, extent, window, colors }),
    [runs, view.x, view.logY, top, colors],
  );
  // The longest run guides the cursor and, since the chart spans it, the zoom.
  const guide = [...inWindow].sort((a, b) => b.shown.length - a.shown.length)[0];
  const cursor: ChartCursor | undefined = guide && {
    items: guide.shown.map((bin) => ({ axis: "x", at: bin.x })),
    describe: (index) => {
      const bin = guide.shown[index];
      if (!bin) return "";
      const profiled = profiledText(guide.profiled, bin);
      return `${guide.name}, ${binTitle(bin, "step")}: median ${seconds(bin.median)}, shortest ${seconds(bin.min)}, longest ${seconds(bin.max)}${profiled && `, ${profiled}`}`;
    },
  };
  const rows = inWindow.flatMap((run) => run.shown.map((bin) => ({ run: run.name, bin })));
  const widest = [...runs].sort((a, b) => b.answer.steps_total - a.answer.steps_total)[0];
  const [only] = runs;

  return (
    <Card
      kind="Step time"
      finding={stepTimeFinding(runs)}
      scope={runs.length === 1 && only ? scopeText(only) : `${runs.length} runs`}
      busy={runs.some((run) => run.busy)}
      hasChart
      csv={() => tableCsv(COLUMNS, rows)}
      table={() => (
        <DataTable
          caption="Step time by bin"
          columns={COLUMNS}
          rows={rows}
          rowKey={(row, index) => `${row.run} ${index}`}
        />
      )}
      definitions={[
        { term: "Line", text: definition("bins.median") ?? "" },
        { term: "Band", text: definition("bins.band") ?? "" },
        { term: "Median", text: definition("step_time.median") ?? "" },
        { term: "p99", text: definition("step_time.p99") ?? "" },
      ]}
    >
      {runs.length > 1 && <RunKey runs={runs} />}
      <Chart
        name="all runs"
        label={`Step time over ${xText(view.x, window[0])} to ${xText(view.x, window[1])}. ${stepTimeFinding(runs)}.`}
        height={260}
        option={option}
        cursor={cursor}
        zoom={widest && zoom(widest)}
      />
      <p class="chart-note">
        Line: median of each bin. Band: 5th to 95th percentile.
        {runs.some((run) => run.profiled.length > 0) && " Marks above the chart: profiled steps."}
        {cut > 0 && ` ${count(cut)} of ${count(rows.length)} bins reach above the axis.`}
      </p>
      <ProfiledList runs={runs} />
    </Card>
  );
}

const DASH_CLASSES = ["solid", "dashed", "dotted"] as const;

function RunKey({ runs }: { runs: readonly RunSteps[] }) {
  return (
    <ul class="run-key">
      {runs.map((run, index) => (
        <li key={run.name}>
          <span
            class={`dash dash-${DASH_CLASSES[index % DASH_CLASSES.length]}`}
            style={{ borderTopColor: run.color }}
            aria-hidden="true"
          />
          {run.name}
        </li>
      ))}
    </ul>
  );
}
