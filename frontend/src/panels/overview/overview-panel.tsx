/** Overview: each selected run in a column of the same cards, on shared scales. */

import { address } from "../../api/client";
import { type SlotState, useSlots } from "../../api/queries";
import type { OverviewAnswer, StepsAnswer } from "../../api/types";
import { type ShownRun, columns } from "../../state/shown";
import { ErrorBoundary } from "../../ui/error-boundary";
import { RunName } from "../../ui/run-name";
import { Failure, Loading } from "../../ui/states";
import type { Panel } from "../panel";
import { EnvironmentCard } from "./environment-card";
import { HeadlineCard } from "./headline-card";
import { Notices } from "./notices";
import { ResourcesCard } from "./resources-card";
import { type Scales, scalesOf } from "./scales";
import { StepTrendCard } from "./step-trend-card";
import { WallClockCard } from "./wall-clock-card";

/** Enough for a small chart. */
const TREND_BINS = 200;

function OverviewPanel() {
  const runs = columns.value;
  const overviews = useSlots<OverviewAnswer>(
    new Map(runs.map((run) => [run.name, address("api/v1/overview", run.parameters)])),
  );
  const trends = useSlots<StepsAnswer>(
    new Map(runs.map((run) => [run.name, address("api/v1/steps", { ...run.parameters, bins: TREND_BINS, worst: 0 })])),
  );
  const scales = scalesOf([...overviews.values()].flatMap((state) => state.data ?? []));
  return (
    <div class={runs.length > 1 ? "overview overview-columns" : "overview overview-single"}>
      {runs.map((run) => (
        <RunColumn
          key={run.name}
          run={run}
          overview={overviews.get(run.name)}
          trend={trends.get(run.name)}
          scales={scales}
        />
      ))}
    </div>
  );
}

interface ColumnProps {
  run: ShownRun;
  overview: SlotState<OverviewAnswer> | undefined;
  trend: SlotState<StepsAnswer> | undefined;
  scales: Scales;
}

function RunColumn({ run, overview, trend, scales }: ColumnProps) {
  const answer = overview?.data ?? null;
  return (
    <article class="run-column" aria-label={run.name}>
      <div class="run-head">
        <RunName run={run} as="h2" />
        {overview?.error && (
          <Failure what={`the overview of ${run.name}`} message={overview.error} retry={overview.retry} />
        )}
        {answer && <Notices answer={answer} />}
      </div>
      {!answer && !overview?.error && <Loading what="overview" />}
      {answer && (
        <ErrorBoundary what={`The overview of ${run.name}`}>
          <HeadlineCard run={run} answer={answer} scales={scales} busy={overview?.loading ?? false} />
          <StepTrendCard run={run} answer={answer} trend={trend} scales={scales} />
          <WallClockCard answer={answer} scales={scales} />
          <ResourcesCard answer={answer} />
          <EnvironmentCard answer={answer} />
        </ErrorBoundary>
      )}
    </article>
  );
}

export const overviewPanel: Panel = { id: "overview", title: "Overview", component: OverviewPanel, ofSteps: true };
