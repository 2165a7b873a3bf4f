/** Where the lanes lie below each other. */

import type { Lane } from "./model";

/** Pixels. */
export const TITLE_HEIGHT = 22;
export const ROW_HEIGHT = 16;
/** A folded lane shows its outermost events only, as a strip. */
export const FOLDED_HEIGHT = 8;
const LANE_GAP = 6;

export interface PlacedLane {
  lane: number;
  /** Top of the title. */
  top: number;
  /** Top of the first row. */
  rowsTop: number;
  rowHeight: number;
  rows: number;
  folded: boolean;
}

export interface Layout {
  lanes: readonly PlacedLane[];
  height: number;
}

export function layoutLanes(lanes: readonly Lane[], folded: ReadonlySet<number>): Layout {
  let top = 0;
  const placed = lanes.map((lane, place): PlacedLane => {
    const isFolded = folded.has(place);
    const rowHeight = isFolded ? FOLDED_HEIGHT : ROW_HEIGHT;
    const rows = isFolded ? Math.min(1, lane.rows) : lane.rows;
    const at = { lane: place, top, rowsTop: top + TITLE_HEIGHT, rowHeight, rows, folded: isFolded };
    top += TITLE_HEIGHT + rows * rowHeight + LANE_GAP;
    return at;
  });
  return { lanes: placed, height: top };
}

/** The lane and row at a height; null on titles and gaps. */
export function rowAtHeight(layout: Layout, y: number): { lane: number; row: number } | null {
  for (const { lane, rowsTop, rowHeight, rows } of layout.lanes) {
    if (y < rowsTop) return null;
    const row = Math.floor((y - rowsTop) / rowHeight);
    if (row < rows) return { lane, row };
  }
  return null;
}

/** Top of a row; of a folded lane, of its strip. */
export function rowTop(layout: Layout, lane: number, row: number): number {
  const placed = layout.lanes[lane];
  return placed ? placed.rowsTop + Math.min(row, placed.rows - 1) * placed.rowHeight : 0;
}
