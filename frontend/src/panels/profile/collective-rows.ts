/** Collectives across ranks, rank by rank. */

import type { CollectiveTimes, CollectivesProfile, OperationTimes } from "../../api/profile-types";
import { microseconds, share } from "../../format/number";

export interface RankRow {
  rank: number;
  /** All null for a rank that takes part in none of the operations. */
  transfer: number | null;
  wait: number | null;
  late: number | null;
  /** Of the rank's clock against the first's; null: not known. */
  offset: number | null;
}

const add = (sum: number | null, value: number): number => (sum ?? 0) + value;

/** The chosen operations, summed for each rank over those that it takes part in. */
export function rankRows(collectives: CollectivesProfile, operations: readonly CollectiveTimes[]): RankRow[] {
  return collectives.ranks.map((rank, place) => {
    const row: RankRow = {
      rank,
      transfer: null,
      wait: null,
      late: null,
      offset: collectives.clock_offset_us?.[place] ?? null,
    };
    for (const operation of operations) {
      const [wait, late] = [operation.wait_us[place] ?? null, operation.late_us[place] ?? null];
      if (wait === null && late === null) continue;
      row.transfer = add(row.transfer, operation.transfer_us);
      row.wait = add(row.wait, wait ?? 0);
      row.late = add(row.late, late ?? 0);
    }
    return row;
  });
}

/** "all_reduce in default_pg". */
export const operationName = ({ operation, group }: { operation: string; group: string | null }): string =>
  group === null ? operation : `${operation} in ${group}`;

/** Which rank is latest, and what the others wait; null where nobody waits. */
export function lateFinding(rows: readonly RankRow[]): string | null {
  const known = rows.filter((row) => row.late !== null && row.wait !== null);
  const latest = known.reduce<RankRow | null>(
    (best, row) => (best === null || (row.late ?? 0) > (best.late ?? 0) ? row : best),
    null,
  );
  const longest = Math.max(0, ...known.map((row) => row.wait ?? 0));
  if (!latest || !(latest.late ?? 0)) return null;
  return `Rank ${latest.rank} begins latest: ${microseconds(latest.late)} after the first in all; ranks wait up to ${microseconds(longest)}`;
}

/** What this rank's own operations took: "Collectives of this rank took 120 ms, 40 % of it exposed". */
export function ownFinding(operations: readonly OperationTimes[]): string {
  const total = operations.reduce((sum, row) => sum + row.total_us, 0);
  const exposed = operations.reduce<number | null>(
    (sum, row) => (sum === null || row.exposed_us === null ? null : sum + row.exposed_us),
    0,
  );
  const part = exposed === null || total <= 0 ? "" : `, ${share(exposed / total)} of it exposed`;
  return `Collectives of this rank took ${microseconds(total)}${part}`;
}
