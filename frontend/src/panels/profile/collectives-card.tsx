/** Collectives: what this rank spent in them, and across ranks who waits for whom. */

import { useMemo, useState } from "preact/hooks";
import type { CollectiveTimes, CollectivesProfile, OperationTimes, ProfileAnswer } from "../../api/profile-types";
import { Chart } from "../../charts/chart";
import { bytes, count, microseconds, plural, quantity } from "../../format/number";
import { theme } from "../../host/theme";
import { definedTerms, definition } from "../../state/definitions";
import { type ChartColors, partColor } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { Segmented } from "../../ui/segmented";
import { Notice } from "../../ui/states";
import { Swatch } from "../../ui/swatch";
import { type RankRow, lateFinding, operationName, ownFinding, rankRows } from "./collective-rows";
import { type RankMeasure, type RankPaint, ranksOption } from "./collectives-chart";

export function CollectivesCard({ answer, colors }: { answer: ProfileAnswer; colors: ChartColors }) {
  const { profile, collectives } = answer;
  const own = profile.collectives;
  if (own.length === 0 && collectives === null) return null;
  return (
    <>
      {own.length > 0 && <OwnCard answer={answer} own={own} />}
      {collectives !== null && collectives.operations.length > 0 && (
        <RanksCard collectives={collectives} colors={colors} />
      )}
    </>
  );
}

const bandwidth = (row: OperationTimes): number | null =>
  row.bytes === null || row.total_us <= 0 ? null : row.bytes / (row.total_us / 1e6);

function OwnCard({ answer, own }: { answer: ProfileAnswer; own: readonly OperationTimes[] }) {
  const columns: readonly Column<OperationTimes>[] = [
    { title: "Operation", name: "operation", raw: (row) => row.operation },
    { title: "Group", name: "group", raw: (row) => row.group, cell: (row) => row.group ?? "not recorded" },
    { title: "Calls", name: "calls", raw: (row) => row.calls, cell: (row) => count(row.calls), numeric: true },
    {
      title: "Total",
      name: "total_us",
      raw: (row) => row.total_us,
      cell: (row) => microseconds(row.total_us),
      numeric: true,
      definition: definition("profile.collective.total"),
    },
    {
      title: "Exposed",
      name: "exposed_us",
      raw: (row) => row.exposed_us,
      cell: (row) => microseconds(row.exposed_us),
      numeric: true,
      definition: definition("profile.collective.exposed"),
    },
    {
      title: "Bytes",
      name: "bytes",
      raw: (row) => row.bytes,
      cell: (row) => bytes(row.bytes),
      numeric: true,
      definition: definition("profile.collective.bytes"),
    },
    {
      title: "Bandwidth",
      name: "bytes_per_s",
      raw: bandwidth,
      cell: (row) => quantity(bandwidth(row), "B/s"),
      numeric: true,
      definition: definition("profile.collective.bandwidth"),
    },
  ];
  return (
    <Card
      kind="Collectives"
      finding={ownFinding(own)}
      scope={`rank ${count(answer.profile.rank ?? answer.rank)}`}
      csv={() => tableCsv(columns, own)}
      definitions={definedTerms([
        ["Calls", "profile.collective.calls"],
        ["Total", "profile.collective.total"],
        ["Exposed", "profile.collective.exposed"],
        ["Bytes", "profile.collective.bytes"],
        ["Bandwidth", "profile.collective.bandwidth"],
      ])}
    >
      <DataTable
        caption="Collective operations of this rank"
        columns={columns}
        rows={own}
        rowKey={(_, index) => String(index)}
        full
      />
    </Card>
  );
}

const RANK_COLUMNS: readonly Column<RankRow>[] = [
  { title: "Rank", name: "rank", raw: (row) => row.rank, cell: (row) => count(row.rank) },
  {
    title: "Transfer",
    name: "transfer_us",
    raw: (row) => row.transfer,
    cell: (row) => microseconds(row.transfer),
    numeric: true,
  },
  { title: "Wait", name: "wait_us", raw: (row) => row.wait, cell: (row) => microseconds(row.wait), numeric: true },
  { title: "Late", name: "late_us", raw: (row) => row.late, cell: (row) => microseconds(row.late), numeric: true },
  {
    title: "Clock offset",
    name: "clock_offset_us",
    raw: (row) => row.offset,
    cell: (row) => microseconds(row.offset),
    numeric: true,
  },
];

const OPERATION_COLUMNS: readonly Column<CollectiveTimes>[] = [
  { title: "Operation", name: "operation", raw: (row) => row.operation },
  { title: "Group", name: "group", raw: (row) => row.group, cell: (row) => row.group ?? "not recorded" },
  { title: "Calls", name: "calls", raw: (row) => row.calls, cell: (row) => count(row.calls), numeric: true },
  {
    title: "Transfer",
    name: "transfer_us",
    raw: (row) => row.transfer_us,
    cell: (row) => microseconds(row.transfer_us),
    numeric: true,
  },
  ...(["wait_us", "late_us"] as const).map((key): Column<CollectiveTimes> => {
    const most = (row: CollectiveTimes): number | null => {
      const known = row[key].filter((value) => value !== null);
      return known.length > 0 ? Math.max(...known) : null;
    };
    return {
      title: key === "wait_us" ? "Longest wait" : "Latest by",
      name: `most_${key}`,
      raw: most,
      cell: (row) => microseconds(most(row)),
      numeric: true,
    };
  }),
];

function RanksCard({ collectives, colors }: { collectives: CollectivesProfile; colors: ChartColors }) {
  const [picked, setPicked] = useState("");
  const [measure, setMeasure] = useState<RankMeasure>("time");
  const { operations } = collectives;
  const chosen = picked === "" ? operations : operations.filter((_, index) => String(index) === picked);
  const rows = useMemo(() => rankRows(collectives, chosen), [collectives, picked]);
  const paint: RankPaint = useMemo(
    () => ({
      transfer: partColor("communication", theme.value),
      wait: partColor("synchronisation", theme.value),
      late: partColor("data_loading", theme.value),
    }),
    [theme.value],
  );
  const option = useMemo(() => ranksOption(rows, measure, paint, colors), [rows, measure, paint, colors]);
  const finding = lateFinding(rows) ?? "No rank waits for another";
  return (
    <Card
      kind="Collectives across ranks"
      finding={finding}
      scope={`${plural(collectives.calls, "matched call")} of ${plural(collectives.ranks.length, "rank")}`}
      hasChart
      csv={() => tableCsv(RANK_COLUMNS, rows)}
      table={() => (
        <>
          <DataTable
            caption="Collectives by rank"
            columns={RANK_COLUMNS}
            rows={rows}
            rowKey={(row) => String(row.rank)}
            full
          />
          <DataTable
            caption="Collectives by operation"
            columns={OPERATION_COLUMNS}
            rows={operations}
            rowKey={(_, index) => String(index)}
            full
          />
        </>
      )}
      definitions={definedTerms([
        ["Transfer", "profile.collective.transfer"],
        ["Wait", "profile.collective.wait"],
        ["Late", "profile.collective.late"],
        ["Clock offset", "profile.collective.clock_offset"],
      ])}
    >
      <div class="toolbar" role="group" aria-label="What the bars show">
        <Segmented
          label="Measure"
          value={measure}
          choices={[
            { value: "time", title: "Transfer and wait" },
            { value: "late", title: "Late" },
          ]}
          onChange={setMeasure}
        />
        <label class="choice">
          Operation
          <select value={picked} onChange={(event) => setPicked(event.currentTarget.value)}>
            <option value="">All</option>
            {operations.map((operation, index) => (
              <option key={index} value={String(index)}>
                {operationName(operation)}
              </option>
            ))}
          </select>
        </label>
        <ul class="legend legend-plain" aria-label="Colours">
          {(measure === "time" ? (["transfer", "wait"] as const) : (["late"] as const)).map((key) => (
            <li key={key}>
              <Swatch color={paint[key]} /> {key}
            </li>
          ))}
        </ul>
      </div>
      <Chart
        name="by rank"
        label={`Time in collectives of each rank. ${finding}.`}
        height={240}
        option={option}
        cursor={{
          items: rows.map((_, index) => ({ axis: "x", at: index })),
          describe: (index) => {
            const row = rows[index];
            if (!row) return "";
            return `rank ${row.rank}: transfer ${microseconds(row.transfer)}, wait ${microseconds(row.wait)}, late ${microseconds(row.late)}`;
          },
        }}
      />
      {collectives.warnings.length > 0 && (
        <Notice kind="warning">
          <ul class="plain-list">
            {collectives.warnings.map((warning, index) => (
              <li key={index}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
    </Card>
  );
}
