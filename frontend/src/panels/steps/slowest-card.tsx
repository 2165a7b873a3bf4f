/** The slowest steps, each a way into its surroundings. */

import type { WorstStep } from "../../api/types";
import { count, moment, seconds, times } from "../../format/number";
import { definition } from "../../state/definitions";
import { placeOfStep, stepRange, windowSteps } from "../../state/profiles";
import { openProfile } from "../../state/store";
import { Card } from "../../ui/card";
import { type Column, DataTable, runsCsv } from "../../ui/data-table";
import { Swatch } from "../../ui/swatch";
import { windowOfStep } from "./profiled";
import { RunGrid } from "./run-grid";
import { type RunSteps, largest, scopeText } from "./run-steps";
import { stagesColumn } from "./stages-column";

function slowestFinding(runs: readonly RunSteps[]): string {
  const all = runs.flatMap((run) => run.answer.worst.map((step) => ({ run, step })));
  const first = all.sort((a, b) => (b.step.wall_s ?? 0) - (a.step.wall_s ?? 0))[0];
  if (!first || first.step.wall_s === null) return "No steps in this window";
  const { run, step } = first;
  const where = runs.length > 1 ? ` of ${run.name}` : "";
  const ratio = step.times_median === null ? "" : `, ${times(step.times_median)} the median`;
  const stage = run.stages.find(({ key }) => key === step.excess_stage)?.title;
  return `Step ${count(step.step)}${where} was slowest: ${seconds(step.wall_s)}${ratio}${stage ? `, most of the excess in ${stage}` : ""}`;
}

interface Props {
  runs: readonly RunSteps[];
  /** Zoom to the surroundings of a step. */
  show: (run: RunSteps, step: number) => void;
}

export function SlowestCard({ runs, show }: Props) {
  const whole = largest(runs.flatMap((run) => run.answer.worst.map((step) => step.wall_s))) ?? 0;
  const [only] = runs;
  return (
    <Card
      kind="Slowest steps"
      finding={slowestFinding(runs)}
      {...(runs.length === 1 && only ? { scope: scopeText(only) } : {})}
      busy={runs.some((run) => run.busy)}
      csv={() =>
        runsCsv(
          runs,
          (run) => columnsOf(run, whole, show),
          (run) => run.answer.worst,
        )
      }
      definitions={[
        { term: "Time", text: definition("worst.wall") ?? "" },
        { term: "× median", text: definition("worst.times_median") ?? "" },
        { term: "Excess", text: definition("worst.excess") ?? "" },
      ]}
    >
      <RunGrid runs={runs}>
        {(run) => (
          <DataTable
            caption={`Slowest steps of ${run.name}`}
            columns={columnsOf(run, whole, show)}
            rows={run.answer.worst}
            rowKey={(step, index) => `${step.step} ${index}`}
          />
        )}
      </RunGrid>
    </Card>
  );
}

function columnsOf(run: RunSteps, whole: number, show: Props["show"]): Column<WorstStep>[] {
  const stageOf = (key: string | null) => run.stages.find((stage) => stage.key === key);
  return [
    {
      title: "Step",
      name: "step",
      raw: (row) => row.step,
      cell: (row) => (
        <button type="button" class="link" title="Zoom to this step" onClick={() => show(run, row.step)}>
          {count(row.step)}
        </button>
      ),
      numeric: true,
    },
    {
      title: "Time",
      name: "wall_s",
      raw: (row) => row.wall_s,
      cell: (row) => seconds(row.wall_s),
      numeric: true,
      definition: definition("worst.wall"),
    },
    {
      title: "× median",
      name: "times_median",
      raw: (row) => row.times_median,
      cell: (row) => times(row.times_median),
      numeric: true,
      definition: definition("worst.times_median"),
    },
    stagesColumn(run.stages, whole),
    {
      title: "Excess in",
      name: "excess_stage",
      raw: (row) => row.excess_stage,
      cell: (row) => {
        const stage = stageOf(row.excess_stage);
        if (!stage) return row.excess_stage ?? "none";
        return (
          <>
            <Swatch color={stage.paint} /> {stage.title} <span class="amount">+{seconds(row.excess_s)}</span>
          </>
        );
      },
      definition: definition("worst.excess"),
    },
    {
      title: "Excess",
      name: "excess_s",
      raw: (row) => row.excess_s,
      cell: (row) => seconds(row.excess_s),
      numeric: true,
      fileOnly: true,
    },
    ...profileColumn(run),
    {
      wide: true,
      title: "Epoch",
      name: "epoch",
      raw: (row) => row.epoch,
      cell: (row) => count(row.epoch),
      numeric: true,
    },
    {
      wide: true,
      title: "Batch",
      name: "batch",
      raw: (row) => row.batch,
      cell: (row) => count(row.batch),
      numeric: true,
    },
    { wide: true, title: "When", name: "unix_s", raw: (row) => row.unix_s, cell: (row) => moment(row.unix_s) },
  ];
}

/** The profile of a step that was profiled; no column where none of the steps was. */
function profileColumn(run: RunSteps): Column<WorstStep>[] {
  const windowOf = (row: WorstStep) => windowOfStep(run.profiled, row)?.info ?? null;
  if (run.answer.worst.every((row) => windowOf(row) === null)) return [];
  return [
    {
      title: "Profiled in",
      name: "profile_window",
      raw: (row) => windowOf(row)?.window ?? null,
      cell: (row) => {
        const info = windowOf(row);
        if (!info) return "";
        return (
          <button
            type="button"
            class="link"
            title={`Open the profile of ${windowSteps(info)}`}
            aria-label={`Open the profile of step ${count(row.step)}`}
            onClick={() => openProfile(run.name, info, placeOfStep(info, row.step))}
          >
            {stepRange(info)}
          </button>
        );
      },
    },
  ];
}
