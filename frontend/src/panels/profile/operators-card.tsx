/** Operators and what they cost, on the host and on the device. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ProfileAnswer, TraceProfile } from "../../api/profile-types";
import { textFilter } from "../../format/filter";
import { count, microseconds, share } from "../../format/number";
import { definedTerms, definition } from "../../state/definitions";
import { Card } from "../../ui/card";
import { tableCsv } from "../../ui/data-table";
import { type RowDetail, RowsTable, type SortableColumn } from "../../ui/rows-table";
import { Segmented } from "../../ui/segmented";
import { type Sort, sorted } from "../../ui/sorting";
import { MiddleText } from "../../ui/middle-text";
import {
  type OperatorGrouping,
  type OperatorRow,
  type Wholes,
  groupingsOf,
  matchesRow,
  moduleRows,
  openAtFirst,
  operatorRows,
  wholesOf,
} from "./operator-rows";
import { Opener, TableTools, TimeAndShare } from "./table-cells";

const TITLES: Readonly<Record<OperatorGrouping, { title: string; what: readonly [one: string, many: string] }>> = {
  operator: { title: "Operator", what: ["operator", "operators"] },
  shapes: { title: "Input shapes", what: ["operator by shape", "operators by shape"] },
  site: { title: "Call site", what: ["call site", "call sites"] },
  module: { title: "Module", what: ["module", "modules"] },
};

const FRAME_HEIGHT = 18;
const MOST_FRAMES_SHOWN = 12;

function operatorsFinding(profile: TraceProfile, wholes: Wholes): string {
  const largest = (of: "host_self_us" | "device_us") =>
    profile.operators.reduce<TraceProfile["operators"][number] | null>(
      (best, row) => (best === null || row[of] > best[of] ? row : best),
      null,
    );
  const [host, device] = [largest("host_self_us"), largest("device_us")];
  if (!host) return "No operators were recorded";
  const onHost = `${host.name} takes most host time: ${microseconds(host.host_self_us)} of its own (${share(host.host_self_us / wholes.host)})`;
  if (!device || device.device_us <= 0) return onHost;
  return `${device.name} takes most device time: ${microseconds(device.device_us)} (${share(device.device_us / wholes.device)}); ${onHost.replace(" takes most host time", " most host time")}`;
}

function toggled(open: ReadonlySet<string>, key: string): Set<string> {
  const next = new Set(open);
  if (!next.delete(key)) next.add(key);
  return next;
}

export function OperatorsCard({ answer }: { answer: ProfileAnswer }) {
  const { profile } = answer;
  const onDevice = profile.unattributed_device_us !== null;
  const groupings = groupingsOf(profile);
  const [wanted, setWanted] = useState<OperatorGrouping>("operator");
  const [sort, setSort] = useState<Sort>({ column: onDevice ? "device_us" : "host_self_us", descending: true });
  const [filter, setFilter] = useState("");
  const [openRows, setOpenRows] = useState<ReadonlySet<string>>(new Set());
  const [openModules, setOpenModules] = useState<ReadonlySet<string>>(() => openAtFirst(profile.modules ?? []));
  const grouping = groupings.includes(wanted) ? wanted : "operator";
  const { matches, error } = textFilter(filter, TITLES[grouping].what[1]);
  const wholes = useMemo(() => wholesOf(profile, grouping), [profile, grouping]);

  const toggle = (row: OperatorRow): void => {
    if (grouping === "module") setOpenModules(toggled(openModules, row.key));
    else setOpenRows(toggled(openRows, row.key));
  };
  const isOpen = (row: OperatorRow): boolean | null => {
    if (grouping === "module") return row.hasChildren ? filter !== "" || openModules.has(row.key) : null;
    return grouping === "site" && row.frames.length > 0 ? openRows.has(row.key) : null;
  };
  const columns = columnsOf(grouping, wholes, onDevice, (row) =>
    grouping === "site" || grouping === "module" ? (
      <Opener open={isOpen(row)} onToggle={() => toggle(row)} depth={row.depth} text={row.name} />
    ) : (
      <MiddleText text={row.name} />
    ),
  );
  const value = (columns.find((column) => column.name === sort.column) ?? columns[0])?.raw ?? (() => null);
  const rows = useMemo(() => {
    if (grouping === "module") {
      const settings = {
        open: openModules,
        matches: filter === "" ? null : matches,
        value,
        descending: sort.descending,
      };
      return moduleRows(profile.modules ?? [], settings);
    }
    const all = operatorRows(profile, grouping);
    return sorted(filter === "" ? all : all.filter((row) => matchesRow(row, matches)), value, sort.descending);
  }, [profile, grouping, filter, sort, grouping === "module" ? openModules : null]);
  const total = {
    operator: profile.operators.length,
    shapes: profile.operators_by_shape?.length ?? 0,
    site: profile.call_sites?.length ?? 0,
    module: profile.modules?.length ?? 0,
  }[grouping];
  const detail = useMemo(
    () =>
      grouping === "site"
        ? (row: OperatorRow): RowDetail | null => (openRows.has(row.key) ? stackDetail(row) : null)
        : undefined,
    [grouping, openRows],
  );
  const unattributed = profile.unattributed_device_us;

  return (
    <Card
      kind="Operators"
      finding={operatorsFinding(profile, wholes)}
      {...(profile.operators.length > 0 ? { csv: () => tableCsv(columns, rows) } : {})}
      definitions={definedTerms([
        ["Calls", "profile.operator.calls"],
        ["Host self", "profile.operator.host_self"],
        ["Host total", "profile.operator.host_total"],
        ["Device", "profile.operator.device"],
        ["Device total", "profile.operator.device_total"],
        ["Unattributed", "profile.unattributed"],
        ["Input shapes", "profile.operator.shapes"],
        ["Call site", "profile.call_site"],
        ["Module", "profile.module"],
      ])}
    >
      {profile.operators.length === 0 ? (
        <p class="state">The profiler recorded no CPU activity, so nothing is known of operators.</p>
      ) : (
        <>
          <TableTools
            what={TITLES[grouping].what}
            filter={filter}
            error={error}
            onFilter={setFilter}
            shown={grouping === "module" && filter === "" ? total : rows.length}
            total={total}
          >
            {groupings.length > 1 && (
              <Segmented
                label="Group by"
                value={grouping}
                choices={groupings.map((each) => ({ value: each, title: TITLES[each].title }))}
                onChange={setWanted}
              />
            )}
          </TableTools>
          <RowsTable
            caption={`Cost of ${TITLES[grouping].what[1]}`}
            columns={columns}
            rows={rows}
            rowKey={(row) => row.key}
            sort={sort}
            onSort={setSort}
            {...(detail ? { detail } : {})}
          />
          <p class="chart-note">
            Shares are of {microseconds(wholes.host)} host time in{" "}
            {grouping === "module" ? "the outermost modules" : "operators"}
            {onDevice && ` and of ${microseconds(wholes.device)} device work`}.
            {unattributed !== null &&
              unattributed > 0 &&
              ` The trace does not tell the operator of ${microseconds(unattributed)} of it (${share(unattributed / wholes.device)}).`}
          </p>
        </>
      )}
    </Card>
  );
}

function stackDetail(row: OperatorRow): RowDetail {
  return {
    height: FRAME_HEIGHT * Math.min(row.frames.length, MOST_FRAMES_SHOWN) + 12,
    content: (
      <ol class="frames" tabIndex={0} aria-label={`Stack of ${row.name}, innermost first`}>
        {row.frames.map((frame, index) => (
          <li key={index}>{frame}</li>
        ))}
      </ol>
    ),
  };
}

function columnsOf(
  grouping: OperatorGrouping,
  wholes: Wholes,
  onDevice: boolean,
  name: (row: OperatorRow) => ComponentChildren,
): SortableColumn<OperatorRow>[] {
  const time = (
    title: string,
    column: string,
    key: string,
    raw: (row: OperatorRow) => number | null,
    whole: number,
    wide = false,
  ): SortableColumn<OperatorRow> => ({
    title,
    name: column,
    raw,
    cell: (row) => <TimeAndShare time={raw(row)} whole={whole} />,
    numeric: true,
    width: 136,
    wide,
    definition: definition(`profile.operator.${key}`),
  });
  const of = grouping === "module" ? "module" : "operator";
  return [
    { title: grouping === "module" ? "Module" : "Operator", name: of, raw: (row) => row.name, cell: name },
    ...(grouping === "module"
      ? [{ title: "Depth", name: "depth", raw: (row: OperatorRow) => row.depth, fileOnly: true }]
      : []),
    ...(grouping === "shapes" || grouping === "site"
      ? [
          {
            title: grouping === "shapes" ? "Input shapes" : "Innermost frame",
            name: grouping === "shapes" ? "shapes" : "frame",
            raw: (row: OperatorRow) => row.detail,
            cell: (row: OperatorRow) => detailCell(grouping, row),
          },
        ]
      : []),
    ...(grouping === "site"
      ? [
          {
            title: "Stack",
            name: "stack",
            raw: (row: OperatorRow) => row.frames.join(" < "),
            fileOnly: true,
          },
          { title: "Backward", name: "backward", raw: (row: OperatorRow) => row.backward, fileOnly: true },
        ]
      : []),
    {
      title: "Calls",
      name: "calls",
      raw: (row) => row.calls,
      cell: (row) => count(row.calls),
      numeric: true,
      width: 76,
      definition: definition("profile.operator.calls"),
    },
    time("Host self", "host_self_us", "host_self", (row) => row.hostSelf, wholes.host),
    ...(grouping === "site"
      ? []
      : [time("Host total", "host_total_us", "host_total", (row) => row.hostTotal, wholes.host, true)]),
    ...(onDevice ? [time("Device", "device_us", "device", (row) => row.device, wholes.device)] : []),
    ...(onDevice && (grouping === "operator" || grouping === "shapes")
      ? [time("Device total", "device_total_us", "device_total", (row) => row.deviceTotal, wholes.device, true)]
      : []),
  ];
}

function detailCell(grouping: OperatorGrouping, row: OperatorRow): ComponentChildren {
  if (row.detail === null) return <span class="missing">not recorded</span>;
  if (grouping === "shapes") return <MiddleText text={row.detail} />;
  return (
    <span class="opener">
      <MiddleText text={row.detail} />
      {row.backward && (
        <span class="tag" title="Ran in a backward pass; the frames are those of its forward call.">
          backward
        </span>
      )}
    </span>
  );
}
