/** Device work as rows: kernels alone, or all work by the operator that launched it. */

import type { TraceProfile } from "../../api/profile-types";

export type KernelGrouping = "kernel" | "operator";

export interface KernelRow {
  key: string;
  name: string;
  /** `kernel`, `communication`, `memcpy` or `memset`. */
  kind: string;
  /** null: the trace does not tell, or it is not asked. */
  operator: string | null;
  calls: number;
  total: number;
  mean: number | null;
  min: number;
  max: number;
}

const meanOf = (total: number, calls: number): number | null => (calls > 0 ? total / calls : null);

export function kernelRows(profile: TraceProfile, grouping: KernelGrouping): KernelRow[] {
  if (grouping === "operator") {
    return profile.device_work.map((row) => ({
      key: `${row.name} ${row.kind} ${row.operator ?? ""}`,
      name: row.name,
      kind: row.kind,
      operator: row.operator,
      calls: row.calls,
      total: row.total_us,
      mean: meanOf(row.total_us, row.calls),
      min: row.min_us,
      max: row.max_us,
    }));
  }
  return profile.kernels.map((row) => ({
    key: row.name,
    name: row.name,
    kind: row.communication ? "communication" : "kernel",
    operator: null,
    calls: row.calls,
    total: row.total_us,
    mean: meanOf(row.total_us, row.calls),
    min: row.min_us,
    max: row.max_us,
  }));
}

/** The kinds of the rows, in order of first appearance. */
export const kindsOf = (rows: readonly KernelRow[]): string[] => [...new Set(rows.map((row) => row.kind))];

/** Device time of all rows, which shares are of. */
export const totalOf = (rows: readonly KernelRow[]): number => rows.reduce((sum, row) => sum + row.total, 0);
