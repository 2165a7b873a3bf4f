/** Load of the machine during the run, where it was sampled. */

import type { OverviewAnswer, ResourceStatistics } from "../../api/types";
import { plural, quantity, seconds } from "../../format/number";
import { wordsOf } from "../../format/words";
import { definition } from "../../state/definitions";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";

interface Row extends ResourceStatistics {
  key: string;
  title: string;
}

const FIELDS = ["mean", "median", "p95", "max"] as const;

const isStatistics = (value: unknown): value is ResourceStatistics =>
  typeof value === "object" && value !== null && FIELDS.some((field) => field in value);

/** What tells most about the machine's load, best first. */
const TELLING = [/gpu.*utili/, /process_cpu/, /system_cpu/, /./];

function resourcesFinding(rows: readonly Row[]): string {
  const measured = rows.filter((row) => typeof row.mean === "number");
  const first = TELLING.flatMap((pattern) => measured.find((row) => pattern.test(row.key)) ?? [])[0];
  return first ? `${first.title}: ${quantity(first.mean, first.unit)} on average` : "Load of the machine";
}

export function ResourcesCard({ answer }: { answer: OverviewAnswer }) {
  const { resources } = answer;
  if (resources === null || resources === undefined) return <div class="card-gap" />;
  const rows = Object.entries(resources).flatMap(([key, value]): Row[] =>
    isStatistics(value) ? [{ ...value, key, title: value.title ?? wordsOf(key) }] : [],
  );
  const samples = typeof resources["n"] === "number" ? resources["n"] : null;
  const interval = typeof resources["interval_s"] === "number" ? resources["interval_s"] : null;
  const columns: Column<Row>[] = [
    { title: "Resource", name: "resource", raw: (row) => row.key, cell: (row) => row.title },
    ...FIELDS.map((field): Column<Row> => ({
      wide: field === "median",
      title: field.startsWith("p") ? field : field.charAt(0).toUpperCase() + field.slice(1),
      name: field,
      raw: (row) => row[field],
      cell: (row) => quantity(row[field], row.unit),
      numeric: true,
      definition: definition(`resources.${field}`),
    })),
  ];
  const every = interval === null ? "" : `, one every ${seconds(interval)}`;
  return (
    <Card
      kind="Resources"
      finding={resourcesFinding(rows)}
      {...(samples === null ? {} : { scope: `${plural(samples, "sample")}${every}` })}
      level={3}
      wide
      csv={() => tableCsv([...columns, { title: "Unit", name: "unit", raw: (row: Row) => row.unit }], rows)}
      definitions={[
        ...rows.flatMap(({ title, meaning, unit }) =>
          meaning ? [{ term: title, text: `${meaning} In ${unit}.` }] : [],
        ),
        ...columns.flatMap(({ title, definition: text }) => (text ? [{ term: title, text }] : [])),
      ]}
    >
      <DataTable caption={`Resources of ${answer.run}`} columns={columns} rows={rows} rowKey={(row) => row.key} />
    </Card>
  );
}
