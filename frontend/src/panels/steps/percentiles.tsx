/** Percentiles of the step time and of its stages as a table. */

import { count, seconds, share } from "../../format/number";
import { definition } from "../../state/definitions";
import { type Column, DataTable } from "../../ui/data-table";
import { Swatch } from "../../ui/swatch";
import { type DistributionRow, STEP } from "./distribution-rows";
import type { RunSteps } from "./run-steps";

const PERCENTILES = ["p5_s", "p25_s", "median_s", "p75_s", "p95_s", "p99_s", "max_s"] as const;

const COLUMNS: readonly Column<DistributionRow>[] = [
  {
    title: "Stage",
    name: "stage",
    raw: (row) => row.key,
    cell: (row) => (
      <>
        <Swatch color={row.color} /> {row.title}
      </>
    ),
  },
  {
    title: "Share",
    name: "share",
    raw: (row) => row.share,
    cell: (row) => (row.key === STEP ? "" : share(row.share)),
    numeric: true,
  },
  {
    title: "Mean",
    name: "mean_s",
    raw: (row) => row.values.mean_s,
    cell: (row) => seconds(row.values.mean_s),
    numeric: true,
  },
  ...PERCENTILES.map((key): Column<DistributionRow> => {
    const short = key.replace("_s", "");
    return {
      wide: short === "p5" || short === "p25" || short === "p75",
      title: short.startsWith("p") ? short : short.charAt(0).toUpperCase() + short.slice(1),
      name: key,
      raw: (row) => row.values[key],
      cell: (row) => seconds(row.values[key]),
      numeric: true,
    };
  }),
  {
    wide: true,
    title: "Nonzero",
    name: "nonzero",
    raw: (row) => row.nonzero,
    cell: (row) => (row.key === STEP ? "" : count(row.nonzero)),
    numeric: true,
  },
  { wide: true, title: "n", name: "n", raw: (row) => row.values.n, cell: (row) => count(row.values.n), numeric: true },
];

export const percentileColumns = (): Column<DistributionRow>[] =>
  COLUMNS.map((column) => ({ ...column, definition: definition(`stage.${column.name.replace("_s", "")}`) }));

export function Percentiles({ run, rows, full }: { run: RunSteps; rows: readonly DistributionRow[]; full?: boolean }) {
  return (
    <DataTable
      caption={`Percentiles of the step time and its stages, ${run.name}`}
      columns={percentileColumns()}
      rows={rows}
      rowKey={(row) => row.key}
      full={full ?? false}
    />
  );
}
