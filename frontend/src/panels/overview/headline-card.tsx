/** The finding of a run, its step time, and the share of each stage as a bar and as a table. */

import { useMemo } from "preact/hooks";
import type { OverviewAnswer } from "../../api/types";
import { Chart } from "../../charts/chart";
import { count, quantity, seconds, share } from "../../format/number";
import { theme } from "../../host/theme";
import { definition } from "../../state/definitions";
import type { ShownRun } from "../../state/shown";
import { CHART_COLORS } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { StageStrip } from "../../ui/stage-strip";
import { Swatch } from "../../ui/swatch";
import type { Scales } from "./scales";
import { shareBarOption } from "./share-bar";
import { type StageRow, stageRows } from "./stage-rows";

interface Props {
  run: ShownRun;
  answer: OverviewAnswer;
  scales: Scales;
  busy: boolean;
}

export function HeadlineCard({ run, answer, scales, busy }: Props) {
  const rows = stageRows(answer);
  const colors = CHART_COLORS[theme.value];
  const option = useMemo(() => shareBarOption(rows, colors), [answer, colors]);
  const columns = stageColumns(scales);
  const absent = answer.stages.length - rows.length;
  const spoken = rows.map((row) => `${row.stage.title} ${share(row.share)}`).join(", ");
  const { first_step: first, last_step: last } = answer;
  const window = first === null || last === null ? "" : `, steps ${count(first)}–${count(last)}`;
  const attempts = answer.attempts.length > 1 && !run.attempt ? `, ${answer.attempts.length} attempts merged` : "";

  return (
    <Card
      kind="Where the time goes"
      finding={answer.headline}
      scope={`${count(answer.steps)} steps${window}${attempts}`}
      busy={busy}
      hasChart
      level={3}
      wide
      csv={() => tableCsv(columns, rows)}
      table={() => (
        <DataTable caption={`Stages of ${answer.run}`} columns={columns} rows={rows} rowKey={(row) => row.key} full />
      )}
      definitions={[
        ...KEY_FIGURES.map(({ term, key }) => ({ term, text: definition(key) ?? "" })),
        { term: "Steps per second", text: definition("steps_per_s") ?? "" },
        ...columns.flatMap(({ title, definition: text }) => (text ? [{ term: title, text }] : [])),
        ...rows.map(({ stage }) => ({ term: stage.title, text: stage.meaning })),
      ]}
    >
      <KeyFigures answer={answer} />
      <Chart
        name={answer.run}
        label={`Share of the step time by stage: ${spoken}`}
        height={66}
        option={option}
        cursor={{
          items: rows.map((_, index) => ({ seriesIndex: index, dataIndex: 0 })),
          describe: (index) => {
            const row = rows[index];
            return row ? `${row.stage.title}: ${share(row.share)}, mean ${seconds(row.mean_s)} per step` : "";
          },
        }}
      />
      <DataTable caption={`Stages of ${answer.run}`} columns={columns} rows={rows} rowKey={(row) => row.key} />
      {absent > 0 && <p class="chart-note">{absent} further stages took no time.</p>}
    </Card>
  );
}

const KEY_FIGURES = [
  { term: "Median step", key: "step_time.median", field: "median" },
  { term: "p95", key: "step_time.p95", field: "p95" },
  { term: "p99", key: "step_time.p99", field: "p99" },
  { term: "Longest", key: "step_time.max", field: "max" },
] as const;

function KeyFigures({ answer }: { answer: OverviewAnswer }) {
  const time = answer.step_time_s;
  const figures = [
    ...KEY_FIGURES.map(({ term, key, field }) => ({ term, key, value: seconds(time?.[field]) })),
    { term: "Throughput", key: "steps_per_s", value: quantity(answer.steps_per_s, "steps/s") },
  ];
  return (
    <dl class="figures">
      {figures.map(({ term, key, value }) => (
        <div key={key} title={`${definition(key) ?? ""} n = ${count(time?.n)} steps.`}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div>
        <dt>n</dt>
        <dd>{count(time?.n)}</dd>
      </div>
    </dl>
  );
}

function stageColumns(scales: Scales): Column<StageRow>[] {
  const time = (title: string, field: "mean_s" | "median_s" | "p95_s" | "p99_s" | "max_s"): Column<StageRow> => ({
    title,
    name: field,
    raw: (row) => row[field],
    cell: (row) => seconds(row[field]),
    numeric: true,
    definition: definition(`stage.${field.replace("_s", "")}`),
  });
  return [
    {
      title: "Stage",
      name: "stage",
      raw: (row) => row.key,
      cell: (row) => (
        <span title={row.stage.meaning}>
          <Swatch color={row.stage.paint} /> {row.stage.title}
        </span>
      ),
    },
    {
      title: "Share",
      name: "share",
      raw: (row) => row.share,
      cell: (row) => share(row.share),
      numeric: true,
      definition: definition("stage.share"),
    },
    {
      ...time("Mean", "mean_s"),
      cell: (row) => (
        <span class="bar-cell">
          <StageStrip stages={[row.stage]} times={{ [row.key]: row.mean_s }} whole={scales.stage} />
          <span>{seconds(row.mean_s)}</span>
        </span>
      ),
    },
    time("Median", "median_s"),
    time("p95", "p95_s"),
    { ...time("p99", "p99_s"), wide: true },
    { ...time("Max", "max_s"), wide: true },
    {
      wide: true,
      title: "Total",
      name: "total_s",
      raw: (row) => row.total_s,
      cell: (row) => seconds(row.total_s),
      numeric: true,
      definition: definition("stage.total"),
    },
    {
      wide: true,
      title: "Nonzero",
      name: "nonzero",
      raw: (row) => row.nonzero,
      cell: (row) => `${count(row.nonzero)} of ${count(row.n)}`,
      numeric: true,
      definition: definition("stage.nonzero"),
    },
  ];
}
