/** Kernels and other device work. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ProfileAnswer } from "../../api/profile-types";
import { textFilter } from "../../format/filter";
import { count, microseconds, share } from "../../format/number";
import { shortened, wordsOf } from "../../format/words";
import { theme } from "../../host/theme";
import { type PaintedPart, definedTerms, definition, paintParts } from "../../state/definitions";
import { Card } from "../../ui/card";
import { tableCsv } from "../../ui/data-table";
import { MiddleText } from "../../ui/middle-text";
import { type RowDetail, RowsTable, type SortableColumn } from "../../ui/rows-table";
import { Segmented } from "../../ui/segmented";
import { type Sort, sorted } from "../../ui/sorting";
import { Swatch } from "../../ui/swatch";
import { type KernelGrouping, type KernelRow, kernelRows, kindsOf, totalOf } from "./kernel-rows";
import { Opener, TableTools, TimeAndShare } from "./table-cells";

/** Shorter names are seen whole. */
const LONG_NAME = 40;
const LINE_HEIGHT = 18;
/** About what a line of the opened name holds. */
const LINE_LENGTH = 90;
const MOST_LINES = 6;

const toggled = (open: ReadonlySet<string>, key: string): Set<string> => {
  const next = new Set(open);
  if (!next.delete(key)) next.add(key);
  return next;
};

function kernelsFinding(rows: readonly KernelRow[], total: number): string {
  const first = rows.reduce<KernelRow | null>(
    (best, row) => (best === null || row.total > best.total ? row : best),
    null,
  );
  if (!first) return "No kernels were recorded";
  const mean = first.mean === null ? "" : `, ${microseconds(first.mean)} each`;
  return `${shortened(first.name, 70)} takes most: ${microseconds(first.total)} (${share(first.total / total)}) in ${count(first.calls)} calls${mean}`;
}

export function KernelsCard({ answer }: { answer: ProfileAnswer }) {
  const { profile } = answer;
  const [wanted, setWanted] = useState<KernelGrouping>("kernel");
  const [kind, setKind] = useState("");
  const [filter, setFilter] = useState("");
  const [sort, setSort] = useState<Sort>({ column: "total_us", descending: true });
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const grouping = profile.device_work.length > 0 ? wanted : "kernel";
  const all = useMemo(() => kernelRows(profile, grouping), [profile, grouping]);
  const total = totalOf(all);
  const kinds = kindsOf(all);
  const shownKind = kinds.includes(kind) ? kind : "";
  const parts = paintParts("categories", theme.value);
  const what = grouping === "kernel" ? (["kernel", "kernels"] as const) : (["row", "rows"] as const);
  const { matches, error } = textFilter(filter, what[1]);
  const columns = columnsOf(grouping, total, parts, (row) => (
    <Opener
      open={row.name.length > LONG_NAME ? open.has(row.key) : null}
      onToggle={() => setOpen(toggled(open, row.key))}
      text={row.name}
    />
  ));
  const value = (columns.find((column) => column.name === sort.column) ?? columns[0])?.raw ?? (() => null);
  const rows = useMemo(() => {
    const kept = all.filter(
      (row) =>
        (shownKind === "" || row.kind === shownKind) &&
        (filter === "" || matches(row.name) || (row.operator !== null && matches(row.operator))),
    );
    return sorted(kept, value, sort.descending);
  }, [all, shownKind, filter, sort]);
  const detail = useMemo(
    () =>
      (row: KernelRow): RowDetail | null =>
        open.has(row.key) ? nameDetail(row) : null,
    [open],
  );
  if (profile.kernels.length === 0 && profile.device_work.length === 0) return null;

  return (
    <Card
      kind="Kernels"
      finding={kernelsFinding(all, total)}
      csv={() => tableCsv(columns, rows)}
      definitions={definedTerms([
        ["Calls", "profile.kernel.calls"],
        ["Total", "profile.kernel.total"],
        ["Mean", "profile.kernel.mean"],
        ["Min", "profile.kernel.min"],
        ["Max", "profile.kernel.max"],
        ["Share", "profile.kernel.share"],
        ["Operator", "profile.device_work"],
      ])}
    >
      <TableTools what={what} filter={filter} error={error} onFilter={setFilter} shown={rows.length} total={all.length}>
        {profile.device_work.length > 0 && (
          <Segmented
            label="Group by"
            value={grouping}
            choices={[
              { value: "kernel", title: "Kernel" },
              { value: "operator", title: "Kernel and operator" },
            ]}
            onChange={setWanted}
          />
        )}
        {kinds.length > 1 && (
          <label class="choice">
            Kind
            <select value={shownKind} onChange={(event) => setKind(event.currentTarget.value)}>
              <option value="">All</option>
              {kinds.map((each) => (
                <option key={each} value={each}>
                  {titleOf(each, parts)}
                </option>
              ))}
            </select>
          </label>
        )}
      </TableTools>
      <RowsTable
        caption={grouping === "kernel" ? "Kernels" : "Device work by operator"}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.key}
        sort={sort}
        onSort={setSort}
        detail={detail}
      />
      <p class="chart-note">
        Shares are of {microseconds(total)}, the summed time of all {grouping === "kernel" ? "kernels" : "device work"}
        {grouping === "kernel" && profile.device_work.length > 0
          ? "; copies and memory sets stand under “Kernel and operator”"
          : ""}
        .
      </p>
    </Card>
  );
}

const titleOf = (kind: string, parts: readonly PaintedPart[]): string =>
  parts.find((part) => part.key === kind)?.title ?? wordsOf(kind);

function nameDetail(row: KernelRow): RowDetail {
  const lines = Math.min(MOST_LINES, Math.ceil(row.name.length / LINE_LENGTH));
  return {
    height: LINE_HEIGHT * lines + 12,
    content: (
      <p class="whole-name" tabIndex={0} aria-label="Whole name" role="group">
        {row.name}
      </p>
    ),
  };
}

function columnsOf(
  grouping: KernelGrouping,
  total: number,
  parts: readonly PaintedPart[],
  name: (row: KernelRow) => ComponentChildren,
): SortableColumn<KernelRow>[] {
  const time = (title: string, column: "mean" | "min" | "max", wide: boolean): SortableColumn<KernelRow> => ({
    title,
    name: `${column}_us`,
    raw: (row) => row[column],
    cell: (row) => microseconds(row[column]),
    numeric: true,
    width: 84,
    wide,
    definition: definition(`profile.kernel.${column}`),
  });
  return [
    { title: "Kernel", name: "kernel", raw: (row) => row.name, cell: name },
    ...(grouping === "operator"
      ? [
          {
            title: "Operator",
            name: "operator",
            raw: (row: KernelRow) => row.operator,
            cell: (row: KernelRow) =>
              row.operator === null ? <span class="missing">unknown</span> : <MiddleText text={row.operator} />,
            width: 170,
          },
        ]
      : []),
    {
      title: "Kind",
      name: "kind",
      raw: (row) => row.kind,
      cell: (row) => (
        <>
          <Swatch color={parts.find((part) => part.key === row.kind)?.paint ?? "transparent"} />{" "}
          {titleOf(row.kind, parts)}
        </>
      ),
      width: 128,
      wide: true,
    },
    {
      title: "Calls",
      name: "calls",
      raw: (row) => row.calls,
      cell: (row) => count(row.calls),
      numeric: true,
      width: 72,
      definition: definition("profile.kernel.calls"),
    },
    {
      title: "Total",
      name: "total_us",
      raw: (row) => row.total,
      cell: (row) => <TimeAndShare time={row.total} whole={total} />,
      numeric: true,
      width: 136,
      definition: definition("profile.kernel.total"),
    },
    time("Mean", "mean", false),
    time("Min", "min", true),
    time("Max", "max", true),
    {
      title: "Share",
      name: "share",
      raw: (row) => (total > 0 ? row.total / total : null),
      fileOnly: true,
    },
  ];
}
