/** Operators as rows: alone, by input shapes, by call site, or by module. */

import type { ModuleTimes, TraceProfile } from "../../api/profile-types";
import type { CsvValue } from "../../format/csv";
import { compactShapes } from "../../format/words";
import { sorted } from "../../ui/sorting";

export type OperatorGrouping = "operator" | "shapes" | "site" | "module";

export interface OperatorRow {
  /** Unique among the rows of a grouping. */
  key: string;
  name: string;
  /** Input shapes as JSON, or the innermost frame. */
  detail: string | null;
  /** The call site's frames, innermost first. */
  frames: readonly string[];
  backward: boolean;
  calls: number;
  hostSelf: number;
  /** null: not known for this grouping. */
  hostTotal: number | null;
  device: number;
  deviceTotal: number | null;
  depth: number;
  /** Whether rows lie below it in the tree. */
  hasChildren: boolean;
}

/** The groupings that the trace has data for. */
export function groupingsOf(profile: TraceProfile): OperatorGrouping[] {
  const groupings: OperatorGrouping[] = ["operator"];
  if (profile.operators_by_shape !== null && profile.operators_by_shape.length > 0) groupings.push("shapes");
  if (profile.call_sites !== null && profile.call_sites.length > 0) groupings.push("site");
  if (profile.modules !== null && profile.modules.length > 0) groupings.push("module");
  return groupings;
}

const PLAIN = { detail: null, frames: [], backward: false, depth: 0, hasChildren: false } as const;

/** The rows of a flat grouping, as the profile orders them. */
export function operatorRows(profile: TraceProfile, grouping: Exclude<OperatorGrouping, "module">): OperatorRow[] {
  switch (grouping) {
    case "operator":
      return profile.operators.map((row) => ({
        ...PLAIN,
        key: row.name,
        name: row.name,
        calls: row.calls,
        hostSelf: row.host_self_us,
        hostTotal: row.host_total_us,
        device: row.device_us,
        deviceTotal: row.device_total_us,
      }));
    case "shapes":
      return (profile.operators_by_shape ?? []).map((row) => ({
        ...PLAIN,
        key: `${row.name} ${row.shapes ?? ""}`,
        name: row.name,
        detail: row.shapes === null ? null : compactShapes(row.shapes),
        calls: row.calls,
        hostSelf: row.host_self_us,
        hostTotal: row.host_total_us,
        device: row.device_us,
        deviceTotal: row.device_total_us,
      }));
    case "site":
      return (profile.call_sites ?? []).map((row, index) => ({
        ...PLAIN,
        key: String(index),
        name: row.operator,
        detail: row.frames[0] ?? null,
        frames: row.frames,
        backward: row.backward,
        calls: row.calls,
        hostSelf: row.host_self_us,
        hostTotal: null,
        device: row.device_us,
        deviceTotal: null,
      }));
  }
}

export const matchesRow = (row: OperatorRow, matches: (text: string) => boolean): boolean =>
  matches(row.name) || (row.detail !== null && matches(row.detail)) || row.frames.some(matches);

/** The key of a module's row. */
const moduleKey = (place: number): string => `module ${place}`;

/** The modules that begin the tree open: the outermost and what they hold. */
export function openAtFirst(modules: readonly ModuleTimes[]): Set<string> {
  const open = new Set<string>();
  modules.forEach((module, place) => {
    if (module.parent === null || modules[module.parent]?.parent === null) open.add(moduleKey(place));
  });
  return open;
}

interface TreeSettings {
  open: ReadonlySet<string>;
  /** null: no filter. Else only matching modules and those above them, all open. */
  matches: ((text: string) => boolean) | null;
  value: (row: OperatorRow) => CsvValue;
  descending: boolean;
}

/** The visible rows of the tree of modules, sorted among siblings. */
export function moduleRows(modules: readonly ModuleTimes[], settings: TreeSettings): OperatorRow[] {
  const children = new Map<number | null, number[]>();
  modules.forEach((module, place) => {
    // A parent that is not in the list: the tail of a long one is left out.
    const parent = module.parent !== null && modules[module.parent] && module.parent !== place ? module.parent : null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(place);
    else children.set(parent, [place]);
  });
  const { matches } = settings;
  const kept = matches === null ? null : keptPlaces(modules, matches);
  const rows: OperatorRow[] = [];
  const visit = (parent: number | null, depth: number): void => {
    const places = (children.get(parent) ?? []).filter((place) => kept === null || kept.has(place));
    const siblings = places.flatMap((place) => {
      const module = modules[place];
      if (!module) return [];
      const below = (children.get(place) ?? []).some((child) => kept === null || kept.has(child));
      return [{ place, row: moduleRow(module, place, depth, below) }];
    });
    for (const { place, row } of sorted(siblings, ({ row }) => settings.value(row), settings.descending)) {
      rows.push(row);
      if (row.hasChildren && (kept !== null || settings.open.has(row.key))) visit(place, depth + 1);
    }
  };
  visit(null, 0);
  return rows;
}

function moduleRow(module: ModuleTimes, place: number, depth: number, hasChildren: boolean): OperatorRow {
  return {
    ...PLAIN,
    key: moduleKey(place),
    name: module.name,
    calls: module.calls,
    hostSelf: module.host_self_us,
    hostTotal: module.host_total_us,
    device: module.device_us,
    deviceTotal: null,
    depth,
    hasChildren,
  };
}

/** Places of the modules that match, with all above them. */
function keptPlaces(modules: readonly ModuleTimes[], matches: (text: string) => boolean): Set<number> {
  const kept = new Set<number>();
  modules.forEach((module, place) => {
    if (!matches(module.name)) return;
    for (let at: number | null = place; at !== null && !kept.has(at); at = modules[at]?.parent ?? null) kept.add(at);
  });
  return kept;
}

/** Times that shares are of, in microseconds. */
export interface Wholes {
  host: number;
  device: number;
}

/** All host time in operators (in modules: in the outermost), and all device work, whoever launched it. */
export function wholesOf(profile: TraceProfile, grouping: OperatorGrouping): Wholes {
  const device = profile.operators.reduce((sum, row) => sum + row.device_us, 0) + (profile.unattributed_device_us ?? 0);
  const host =
    grouping === "module"
      ? (profile.modules ?? []).reduce((sum, row) => sum + (row.parent === null ? row.host_total_us : 0), 0)
      : profile.operators.reduce((sum, row) => sum + row.host_self_us, 0);
  return { host, device };
}
