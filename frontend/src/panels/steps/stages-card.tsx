/** Where the time of each step goes: one stacked chart per run, all on the same y axis. */

import { useMemo } from "preact/hooks";
import { Chart, type ChartZoom } from "../../charts/chart";
import { count, seconds, share } from "../../format/number";
import { definition } from "../../state/definitions";
import type { View } from "../../state/view";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, runsCsv } from "../../ui/data-table";
import { type PlacedBin, robustTop, roundUp } from "./bins";
import { RunGrid } from "./run-grid";
import { profiledText } from "./profiled";
import { type RunSteps, largest, scopeText } from "./run-steps";
import { binTitle, stageOption, stagesByTime, visibleStages } from "./stage-chart";
import { StageLegend } from "./stage-legend";

/** The stage with the largest share of a run's step time. */
function largestStage(run: RunSteps): { title: string; share: number } | null {
  const ranked = [...run.answer.distribution.stages].sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
  const first = ranked[0];
  if (!first || first.share === null) return null;
  return { title: run.stages.find((stage) => stage.key === first.key)?.title ?? first.key, share: first.share };
}

/** "Data wait is the largest stage: 52 % of the step time", in each run or in each group of runs. */
export function stagesFinding(runs: readonly RunSteps[]): string {
  const shares = new Map<string, { run: string; share: number }[]>();
  for (const run of runs) {
    const largest = largestStage(run);
    if (largest)
      shares.set(largest.title, [...(shares.get(largest.title) ?? []), { run: run.name, share: largest.share }]);
  }
  const parts = [...shares].map(([title, members]) => {
    const values = members.map((member) => member.share);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const range = low === high ? share(low) : `${share(low)} to ${share(high)}`;
    const [only] = members;
    if (runs.length === 1) return `${title}, ${range} of the step time`;
    return members.length === 1 && only
      ? `${title} in ${only.run} (${range})`
      : `${title} in ${members.length} runs (${range})`;
  });
  return parts.length > 0 ? `Largest stage: ${parts.join("; ")}` : "No stage took any time";
}

interface Props {
  runs: readonly RunSteps[];
  view: View;
  colors: ChartColors;
  zoom: (run: RunSteps) => ChartZoom;
  links: readonly { title: string; href: string }[];
}

export function StagesCard({ runs, view, colors, zoom, links }: Props) {
  const heights = runs.map((run) => stackTop(run, view));
  const top = view.logY ? undefined : roundUp(Math.max(...heights));
  // Stages by key, in stack order, over all runs: one legend serves every chart.
  const present = new Map(runs.flatMap((run) => visibleStages(run, []).map((stage) => [stage.key, stage] as const)));
  const order = [...new Set(runs.flatMap((run) => run.stages.map((stage) => stage.key)))];
  const legend = order.flatMap((key) => present.get(key) ?? []);
  const [only] = runs;

  return (
    <Card
      kind="Stages over the run"
      finding={stagesFinding(runs)}
      {...(runs.length === 1 && only ? { scope: scopeText(only) } : {})}
      busy={runs.some((run) => run.busy)}
      hasChart
      links={links}
      csv={() => runsCsv(runs, columnsOf, (run) => run.shown)}
      table={() => (
        <RunGrid runs={runs}>
          {(run) => (
            <DataTable
              caption={`Mean time of each stage by bin, ${run.name}`}
              columns={columnsOf(run)}
              rows={run.shown}
              rowKey={(_, index) => String(index)}
            />
          )}
        </RunGrid>
      )}
      definitions={[
        { term: "Height", text: `${definition("bins.mean") ?? ""} The stages of a step sum to its wall-clock time.` },
        ...legend.map((stage) => ({ term: stage.title, text: stage.meaning })),
      ]}
    >
      <StageLegend stages={legend} hidden={view.hidden} />
      <RunGrid runs={runs}>
        {(run) => <StageChart run={run} view={view} top={top} colors={colors} zoom={zoom(run)} />}
      </RunGrid>
      <p class="chart-note">
        {view.logY
          ? "On a logarithmic axis the stages are lines, not a stack."
          : "Mean time of each stage, stacked to the mean step time."}
        {runs.some((run) => run.profiled.length > 0) && " Marks above a chart: profiled steps."}
        {view.hidden.length > 0 && " Stages switched off are left out of the stack."}
      </p>
    </Card>
  );
}

/** Top of the stack in the window, outliers cut if wanted. */
function stackTop(run: RunSteps, view: View): number {
  const stages = visibleStages(run, view.hidden).map((stage) => stage.key);
  const sum = (bin: PlacedBin): number => stages.reduce((total, key) => total + (bin.stages[key] ?? 0), 0);
  const highest = largest(run.shown.map(sum)) ?? 0;
  const step = run.answer.distribution.step;
  return view.ignoreOutliers ? robustTop(highest, step?.p95_s ?? null, step?.median_s ?? null) : highest;
}

interface ChartProps {
  run: RunSteps;
  view: View;
  top: number | undefined;
  colors: ChartColors;
  zoom: ChartZoom;
}

function StageChart({ run, view, top, colors, zoom }: ChartProps) {
  const option = useMemo(
    () => stageOption({ run, hidden: view.hidden, x: view.x, log: view.logY, top, colors }),
    [run, view.hidden, view.x, view.logY, top, colors],
  );
  const stages = visibleStages(run, view.hidden);
  return (
    <Chart
      name={run.name}
      label={`Stages over the steps of ${run.name}, ${scopeText(run)}. ${stagesFinding([run])}.`}
      height={300}
      option={option}
      zoom={zoom}
      cursor={{
        items: run.shown.map((bin) => ({ axis: "x", at: bin.x })),
        describe: (index) => {
          const bin = run.shown[index];
          if (!bin) return "";
          const parts = stagesByTime(stages, bin).map(([stage, time]) => `${stage.title} ${seconds(time)}`);
          const profiled = profiledText(run.profiled, bin);
          return `${binTitle(bin, "step")}: step time ${seconds(bin.mean)}${profiled && `, ${profiled}`}. ${parts.join(", ")}`;
        },
      }}
    />
  );
}

function columnsOf(run: RunSteps): Column<PlacedBin>[] {
  return [
    { title: "First step", name: "step_first", raw: (bin) => bin.stepFirst, numeric: true },
    { title: "Last step", name: "step_last", raw: (bin) => bin.stepLast, numeric: true },
    { title: "n", name: "n", raw: (bin) => bin.count, cell: (bin) => count(bin.count), numeric: true },
    {
      title: "Step, mean",
      name: "step_mean_s",
      raw: (bin) => bin.mean,
      cell: (bin) => seconds(bin.mean),
      numeric: true,
    },
    ...visibleStages(run, []).map((stage): Column<PlacedBin> => ({
      title: stage.title,
      name: `${stage.key}_mean_s`,
      raw: (bin) => bin.stages[stage.key] ?? null,
      cell: (bin) => seconds(bin.stages[stage.key]),
      numeric: true,
      definition: stage.meaning,
    })),
  ];
}
