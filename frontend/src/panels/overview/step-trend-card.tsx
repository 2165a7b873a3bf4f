/** Step time over the run, small: whether it is steady. */

import { useMemo } from "preact/hooks";
import type { SlotState } from "../../api/queries";
import type { OverviewAnswer, StepsAnswer } from "../../api/types";
import { Chart } from "../../charts/chart";
import { baseOption, type ChartOption, secondsAxisOption, axisTooltipOption, xAxisOption } from "../../charts/option";
import { hoveredX, tooltip } from "../../charts/tooltip";
import { count, seconds, times } from "../../format/number";
import { theme } from "../../host/theme";
import { definition } from "../../state/definitions";
import type { ShownRun } from "../../state/shown";
import { CHART_COLORS, type ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { Failure, Loading } from "../../ui/states";
import { type PlacedBin, bandHeight, linePoints, nearestBin, placeBins, readBins, roundUp } from "../steps/bins";
import { binTitle } from "../steps/stage-chart";
import type { Scales } from "./scales";

interface Props {
  run: ShownRun;
  answer: OverviewAnswer;
  trend: SlotState<StepsAnswer> | undefined;
  scales: Scales;
}

function trendFinding({ step_time_s: time }: OverviewAnswer): string {
  if (time?.median == null || time.p99 === null) return "Step time was not measured";
  return `p99 is ${times(time.p99 / time.median)} the median step`;
}

const COLUMNS: readonly Column<PlacedBin>[] = [
  {
    title: "First step",
    name: "step_first",
    raw: (bin) => bin.stepFirst,
    cell: (bin) => count(bin.stepFirst),
    numeric: true,
  },
  {
    title: "Last step",
    name: "step_last",
    raw: (bin) => bin.stepLast,
    cell: (bin) => count(bin.stepLast),
    numeric: true,
  },
  { title: "n", name: "n", raw: (bin) => bin.count, cell: (bin) => count(bin.count), numeric: true },
  { title: "Median", name: "median_s", raw: (bin) => bin.median, cell: (bin) => seconds(bin.median), numeric: true },
  { title: "Min", name: "min_s", raw: (bin) => bin.min, cell: (bin) => seconds(bin.min), numeric: true },
  { title: "p5", name: "p5_s", raw: (bin) => bin.p5, cell: (bin) => seconds(bin.p5), numeric: true },
  { title: "p95", name: "p95_s", raw: (bin) => bin.p95, cell: (bin) => seconds(bin.p95), numeric: true },
  { title: "Max", name: "max_s", raw: (bin) => bin.max, cell: (bin) => seconds(bin.max), numeric: true },
];

export function StepTrendCard({ run, answer, trend, scales }: Props) {
  const data = trend?.data ?? null;
  const bins = useMemo(() => (data ? placeBins(readBins(data.bins), "step", 0) : []), [data]);
  const colors = CHART_COLORS[theme.value];
  const top = scales.stepTime > 0 ? roundUp(scales.stepTime) : undefined;
  const cut = top === undefined ? 0 : bins.filter((bin) => (bin.p95 ?? 0) > top).length;
  const option = useMemo(() => trendOption(bins, run.color, top, colors), [bins, run.color, top, colors]);
  return (
    <Card
      kind="Step time over the run"
      finding={trendFinding(answer)}
      level={3}
      hasChart
      csv={() => tableCsv(COLUMNS, bins)}
      table={() => (
        <DataTable
          caption={`Step time of ${run.name}`}
          columns={COLUMNS}
          rows={bins}
          rowKey={(_, index) => String(index)}
        />
      )}
      definitions={[
        { term: "Line", text: definition("bins.median") ?? "" },
        { term: "Band", text: definition("bins.band") ?? "" },
        { term: "p99", text: definition("step_time.p99") ?? "" },
      ]}
    >
      {trend?.error && <Failure what={`the steps of ${run.name}`} message={trend.error} retry={trend.retry} />}
      {!data && !trend?.error && <Loading what="steps" />}
      {data && (
        <Chart
          name={run.name}
          label={`Step time of ${run.name} over ${count(answer.steps)} steps. ${trendFinding(answer)}.`}
          height={150}
          option={option}
          cursor={{
            items: bins.map((bin) => ({ axis: "x", at: bin.x })),
            describe: (index) => {
              const bin = bins[index];
              return bin ? `${binTitle(bin, "step")}: median ${seconds(bin.median)}, longest ${seconds(bin.max)}` : "";
            },
          }}
        />
      )}
      {cut > 0 && (
        <p class="chart-note">
          {count(cut)} of {count(bins.length)} bins reach above the axis.
        </p>
      )}
    </Card>
  );
}

function trendOption(
  bins: readonly PlacedBin[],
  color: string,
  top: number | undefined,
  colors: ChartColors,
): ChartOption {
  const [first, last] = [bins[0], bins[bins.length - 1]];
  const range: [number, number] = first && last ? [first.stepFirst - 0.5, last.stepLast + 0.5] : [0, 1];
  const axis = secondsAxisOption(false, top, colors);
  const line = { type: "line", symbol: "none", silent: true, color } as const;
  return {
    ...baseOption(colors),
    grid: { left: 60, right: 12, top: 8, bottom: 24 },
    legend: { show: false, data: ["median"] },
    xAxis: { ...xAxisOption("step", range, colors), name: "" },
    yAxis: { ...axis, splitNumber: 2 },
    tooltip: {
      ...axisTooltipOption(colors),
      formatter: (parameters: unknown) => {
        const at = hoveredX(parameters);
        const bin = at === null ? null : nearestBin(bins, at);
        if (!bin) return "";
        const row = (name: string, value: number | null) => ({ color, name, value: seconds(value) });
        return tooltip(binTitle(bin, "step"), [
          row("median", bin.median),
          row("p5", bin.p5),
          row("p95", bin.p95),
          row("longest", bin.max),
        ]);
      },
    },
    series: [
      { ...line, name: "median", data: linePoints(bins, (bin) => bin.median), lineStyle: { width: 1.5 }, z: 3 },
      { ...line, data: linePoints(bins, (bin) => bin.p5), lineStyle: { width: 0 }, stack: "band" },
      {
        ...line,
        data: linePoints(bins, bandHeight),
        lineStyle: { width: 0 },
        areaStyle: { color, opacity: 0.22 },
        stack: "band",
      },
    ],
  };
}
