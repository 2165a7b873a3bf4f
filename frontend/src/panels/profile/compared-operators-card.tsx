/** Operators of two windows compared. */

import { useMemo, useState } from "preact/hooks";
import type { Compared, ComparedOperator } from "../../api/profile-types";
import { textFilter } from "../../format/filter";
import { microseconds, microsecondsChange, plural, quantity } from "../../format/number";
import { definedTerms, definition } from "../../state/definitions";
import { Card } from "../../ui/card";
import { tableCsv } from "../../ui/data-table";
import { MiddleText } from "../../ui/middle-text";
import { RowsTable, type SortableColumn } from "../../ui/rows-table";
import { Segmented } from "../../ui/segmented";
import { type Sort, sorted } from "../../ui/sorting";
import { type OperatorMeasure, anyDevice, certaintyText, intervalText, operatorsFinding } from "./comparison-rows";
import { TableTools } from "./table-cells";

const MEASURES: readonly { value: OperatorMeasure; title: string }[] = [
  { value: "host_self", title: "Host self" },
  { value: "device", title: "Device" },
];

/** As many as the server compares. */
const MOST_OPERATORS = 200;

interface Props {
  operators: readonly ComparedOperator[];
  busy: boolean;
}

export function ComparedOperatorsCard({ operators, busy }: Props) {
  const [wanted, setWanted] = useState<OperatorMeasure>("host_self");
  const [clearOnly, setClearOnly] = useState(false);
  const [filter, setFilter] = useState("");
  const [order, setOrder] = useState<Sort>({ column: "difference_us", descending: true });
  const onDevice = anyDevice(operators);
  const measure = onDevice ? wanted : "host_self";
  // The sort stays with its column when the other time is shown.
  const sort = order.column in SUFFIXED ? { ...order, column: `${measure}_${order.column}` } : order;
  const setSort = ({ column, descending }: Sort): void =>
    setOrder({ column: column.startsWith(`${measure}_`) ? column.slice(measure.length + 1) : column, descending });
  const columns = columnsOf(measure);
  const { matches, error } = textFilter(filter, "operators");
  const rows = useMemo(() => {
    const kept = operators.filter((row) => matches(row.name) && (!clearOnly || row[measure].clear === true));
    const raw = columns.find((column) => column.name === sort.column)?.raw ?? (() => null);
    const value = (row: ComparedOperator) => {
      const given = raw(row);
      // A large saving matters as much as a large loss.
      return order.column === "difference_us" && typeof given === "number" ? Math.abs(given) : given;
    };
    return sorted(kept, value, sort.descending);
  }, [operators, filter, clearOnly, order, measure]);

  return (
    <Card
      kind="Operators compared"
      finding={operatorsFinding(operators)}
      busy={busy}
      {...(operators.length > 0 ? { csv: () => tableCsv(columns, rows) } : {})}
      definitions={definedTerms([
        ["Difference", "profile.comparison"],
        ["Interval", "profile.comparison.interval"],
        ["Calls", "profile.operator.calls"],
        ["Host self", "profile.operator.host_self"],
        ["Device", "profile.operator.device"],
      ])}
    >
      {operators.length > 0 && (
        <>
          <TableTools
            what={["operator", "operators"]}
            filter={filter}
            error={error}
            onFilter={setFilter}
            shown={rows.length}
            total={operators.length}
          >
            {onDevice && <Segmented label="Time" value={measure} choices={MEASURES} onChange={setWanted} />}
            <label class="check">
              <input
                type="checkbox"
                checked={clearOnly}
                onChange={(event) => setClearOnly(event.currentTarget.checked)}
              />
              Clear changes only
            </label>
          </TableTools>
          <RowsTable
            caption="Operators of both windows, per step"
            columns={columns}
            rows={rows}
            rowKey={(row) => row.name}
            sort={sort}
            onSort={setSort}
          />
          <p class="chart-note">
            Means per step; the difference is this window minus the baseline, and sorts by its size.
            {operators.some((row) => row[measure].clear === null) &&
              " A window of one step tells nothing of the spread between steps, so there is no interval."}
            {operators.length >= MOST_OPERATORS &&
              ` These are the ${plural(MOST_OPERATORS, "operator")} that changed most.`}
          </p>
        </>
      )}
    </Card>
  );
}

/** Columns that both times have, by the end of their name. */
const SUFFIXED: Readonly<Record<string, true>> = {
  baseline_us: true,
  other_us: true,
  difference_us: true,
  low_us: true,
  clear: true,
};

function Muted({ row, text }: { row: Compared; text: string }) {
  return row.clear === true ? <>{text}</> : <span class="unclear">{text}</span>;
}

function columnsOf(shown: OperatorMeasure): SortableColumn<ComparedOperator>[] {
  return [
    { title: "Operator", name: "operator", raw: (row) => row.name, cell: (row) => <MiddleText text={row.name} /> },
    {
      title: "Calls",
      name: "calls_other",
      raw: (row) => row.calls.other,
      cell: ({ calls }) =>
        calls.baseline === calls.other
          ? quantity(calls.other)
          : `${quantity(calls.baseline)} → ${quantity(calls.other)}`,
      numeric: true,
      width: 104,
      wide: true,
      definition: definition("profile.operator.calls"),
    },
    { title: "Calls, baseline", name: "calls_baseline", raw: (row) => row.calls.baseline, fileOnly: true },
    ...MEASURES.flatMap(({ value }) => timeColumns(value, value === shown)),
  ];
}

/** Of the time that is not shown only the file has the columns. */
function timeColumns(measure: OperatorMeasure, onScreen: boolean): SortableColumn<ComparedOperator>[] {
  const columns: SortableColumn<ComparedOperator>[] = [
    {
      title: "Baseline",
      name: `${measure}_baseline_us`,
      raw: (row) => row[measure].baseline_us,
      cell: (row) => microseconds(row[measure].baseline_us),
      numeric: true,
      width: 82,
    },
    {
      title: "This window",
      name: `${measure}_other_us`,
      raw: (row) => row[measure].other_us,
      cell: (row) => microseconds(row[measure].other_us),
      numeric: true,
      width: 96,
    },
    {
      title: "Difference",
      name: `${measure}_difference_us`,
      raw: (row) => row[measure].difference_us,
      cell: (row) => <Muted row={row[measure]} text={microsecondsChange(row[measure].difference_us)} />,
      numeric: true,
      width: 92,
      definition: definition("profile.comparison"),
    },
    {
      title: "95 % interval",
      name: `${measure}_low_us`,
      raw: (row) => row[measure].low_us,
      cell: (row) => <Muted row={row[measure]} text={intervalText(row[measure])} />,
      numeric: true,
      width: 176,
      wide: true,
      definition: definition("profile.comparison.interval"),
    },
    { title: "High", name: `${measure}_high_us`, raw: (row) => row[measure].high_us, fileOnly: true },
    {
      title: "Clear",
      name: `${measure}_clear`,
      raw: (row) => row[measure].clear,
      cell: (row) => <Muted row={row[measure]} text={certaintyText(row[measure])} />,
      width: 126,
      definition: definition("profile.comparison.interval"),
    },
  ];
  return onScreen ? columns : columns.map((column) => ({ ...column, fileOnly: true }));
}
