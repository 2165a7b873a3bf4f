/** Draws the timeline: ruler, lanes, events, the selected one and its launch. */

import type { Window } from "../../../charts/window";
import { inkOn } from "../../../theme/contrast";
import type { ChartColors } from "../../../theme/palette";
import { type Layout, type PlacedLane, rowTop } from "./layout";
import { Marks, markRow } from "./level";
import { type Lane, type Timeline, rowRange, worksOf } from "./model";
import type { Surface } from "./surface";
import { ticksOf } from "./ticks";

export const RULER_HEIGHT = 24;

export interface Look {
  colors: ChartColors;
  /** By index into the kinds of events. */
  paints: readonly string[];
}

export interface SceneState {
  window: Window;
  selected: number | null;
  hovered: number | null;
  /** By name, whether the search looks for it; null without a search. */
  isHit: Uint8Array | null;
}

/** Events that the search does not look for. */
const DIMMED = 0.25;
const FONT_SIZE = 11;
/** Narrower events get no name. */
const LABEL_WIDTH = 24;
const LABEL_PADDING = 4;
/** Wider events are parted from the next by a line of nothing. */
const GAP_FROM_WIDTH = 3;
const TICK_SPACING = 90;
/** More launches of one call would only be a blot. */
const MOST_ARROWS = 64;

export type Measure = (text: string) => number;

export class SceneDrawer {
  private readonly marks = new Marks();
  /** Width of each name, once it was asked for. */
  private readonly widths = new Map<number, number>();
  private readonly timeline: Timeline;
  private readonly measure: Measure;

  constructor(timeline: Timeline, measure: Measure) {
    this.timeline = timeline;
    this.measure = measure;
  }

  /** The time axis, from `y` on, RULER_HEIGHT high. */
  ruler(surface: Surface, y: number, width: number, { window }: SceneState, { colors }: Look): void {
    const scale = width / (window.to - window.from);
    for (const { at, text } of ticksOf(window, width, TICK_SPACING)) {
      const x = (at - window.from) * scale;
      surface.line(
        [
          [x, y + RULER_HEIGHT - 6],
          [x, y + RULER_HEIGHT],
        ],
        colors.muted,
      );
      // The last label may run over the edge.
      if (x + 3 + this.measure(text) <= width)
        surface.text(x + 3, y + RULER_HEIGHT / 2 - 1, text, { color: colors.muted, size: FONT_SIZE });
    }
    surface.line(
      [
        [0, y + RULER_HEIGHT - 0.5],
        [width, y + RULER_HEIGHT - 0.5],
      ],
      colors.line,
    );
  }

  /** What lies between two heights of the layout, the upper one drawn at `y`. */
  lanes(
    surface: Surface,
    y: number,
    width: number,
    layout: Layout,
    from: number,
    to: number,
    state: SceneState,
    look: Look,
  ): void {
    const { window } = state;
    const scale = width / (window.to - window.from);
    const { colors } = look;
    for (const { at } of ticksOf(window, width, TICK_SPACING)) {
      const x = Math.round((at - window.from) * scale) + 0.5;
      surface.line(
        [
          [x, y],
          [x, y + to - from],
        ],
        colors.grid,
      );
    }
    for (const placed of layout.lanes) {
      const bottom = placed.rowsTop + placed.rows * placed.rowHeight;
      if (bottom < from || placed.top > to) continue;
      this.lane(surface, y - from, width, placed, from, to, state, look);
    }
    // Before and after the step.
    const [left, right] = [(0 - window.from) * scale, (this.timeline.duration - window.from) * scale];
    if (this.timeline.duration > 0) {
      if (left > 0) surface.rect(0, y, Math.min(left, width), to - from, colors.muted, 0.12);
      if (right < width) surface.rect(Math.max(0, right), y, width - Math.max(0, right), to - from, colors.muted, 0.12);
    }
    this.selection(surface, y - from, width, layout, state, look);
  }

  private lane(
    surface: Surface,
    offset: number,
    width: number,
    placed: PlacedLane,
    from: number,
    to: number,
    state: SceneState,
    look: Look,
  ): void {
    const firstRow = Math.max(0, Math.floor((from - placed.rowsTop) / placed.rowHeight));
    const lastRow = Math.min(placed.rows, Math.ceil((to - placed.rowsTop) / placed.rowHeight));
    for (let row = firstRow; row < lastRow; row += 1) {
      const [first, last] = rowRange(this.timeline, placed.lane, row);
      markRow(this.timeline, first, last, state.window, width, state.isHit, this.marks);
      this.row(surface, offset + placed.rowsTop + row * placed.rowHeight, placed, state, look);
    }
  }

  private row(surface: Surface, y: number, placed: PlacedLane, { isHit }: SceneState, look: Look): void {
    const { marks, timeline } = this;
    const height = placed.rowHeight - 1;
    let at = 0;
    while (at < marks.n) {
      const event = marks.event[at] as number;
      const kind = timeline.kind[event] as number;
      const [x, hit] = [marks.x[at] as number, marks.hit[at] as number];
      let right = x + (marks.width[at] as number);
      let next = at + 1;
      // Narrow marks of a kind that touch are drawn in one.
      if (marks.width[at] === 1) {
        while (
          next < marks.n &&
          marks.width[next] === 1 &&
          (marks.x[next] as number) <= right &&
          marks.hit[next] === hit &&
          timeline.kind[marks.event[next] as number] === kind
        ) {
          right = (marks.x[next] as number) + 1;
          next += 1;
        }
      }
      const paint = look.paints[kind] ?? look.colors.muted;
      const drawn = right - x > GAP_FROM_WIDTH && next === at + 1 ? right - x - 1 : right - x;
      surface.rect(x, y, drawn, height, paint, isHit !== null && hit === 0 ? DIMMED : 1);
      if (!placed.folded && next === at + 1 && drawn >= LABEL_WIDTH && (isHit === null || hit === 1)) {
        const text = this.fitted(timeline.name[event] as number, drawn - 2 * LABEL_PADDING);
        if (text !== "")
          surface.text(x + LABEL_PADDING, y + height / 2 + 0.5, text, { color: inkOf(paint), size: FONT_SIZE });
      }
      at = next;
    }
  }

  /** As much of a name as fits. */
  private fitted(name: number, room: number): string {
    const text = this.timeline.names[name] ?? "";
    let width = this.widths.get(name);
    if (width === undefined) {
      width = this.measure(text);
      this.widths.set(name, width);
    }
    if (width <= room) return text;
    const kept = Math.floor((text.length * room) / width) - 1;
    return kept < 2 ? "" : `${text.slice(0, kept)}…`;
  }

  /** Frames of the hovered and the selected event, and lines between launch and device work. */
  private selection(
    surface: Surface,
    offset: number,
    width: number,
    layout: Layout,
    state: SceneState,
    { colors }: Look,
  ): void {
    const { timeline } = this;
    const box = (event: number): { x: number; right: number; y: number; height: number } => {
      const scale = width / (state.window.to - state.window.from);
      const lane = timeline.lane[event] ?? 0;
      const x = ((timeline.start[event] ?? 0) - state.window.from) * scale;
      const right = ((timeline.end[event] ?? 0) - state.window.from) * scale;
      const height = (layout.lanes[lane]?.rowHeight ?? 0) - 1;
      return { x, right, y: offset + rowTop(layout, lane, timeline.row[event] ?? 0), height };
    };
    const frame = (event: number, color: string): void => {
      const { x, right, y, height } = box(event);
      if (right < 0 || x > width) return;
      const left = Math.max(-2, x);
      surface.frame(left, y, Math.max(2, Math.min(width + 2, right) - left), height, color);
    };
    const arrow = (call: number, work: number): void => {
      const [from, to] = [box(call), box(work)];
      const middle = (from.y + from.height + to.y) / 2;
      surface.line(
        [
          [from.x, from.y + from.height],
          [from.x, middle],
          [to.x, middle],
          [to.x, to.y],
        ],
        colors.text,
        true,
      );
    };
    if (state.hovered !== null && state.hovered !== state.selected) frame(state.hovered, colors.muted);
    if (state.selected === null) return;
    const launch = timeline.launch[state.selected] ?? -1;
    if (launch >= 0) arrow(launch, state.selected);
    for (const work of worksOf(timeline, state.selected).slice(0, MOST_ARROWS)) arrow(state.selected, work);
    frame(state.selected, colors.text);
  }
}

const inks = new Map<string, string>();

/** Remembered: it is asked for each label. */
function inkOf(paint: string): string {
  let ink = inks.get(paint);
  if (ink === undefined) {
    ink = inkOn(paint);
    inks.set(paint, ink);
  }
  return ink;
}

/** The outermost row that is more than a frame around everything. */
function tellingRow({ firsts, rows }: Lane): number {
  for (let row = 0; row < rows; row += 1) {
    if ((firsts[row + 1] ?? 0) - (firsts[row] ?? 0) > 3) return row;
  }
  return 0;
}

/** The whole step in a few pixels: a row of each lane, a line each. */
export function drawOverview(surface: Surface, timeline: Timeline, width: number, height: number, look: Look): void {
  const marks = new Marks();
  const line = height / Math.max(1, timeline.lanes.length);
  for (const [place, lane] of timeline.lanes.entries()) {
    if (lane.rows === 0) continue;
    const [first, last] = rowRange(timeline, place, tellingRow(lane));
    markRow(timeline, first, last, timeline.full, width, null, marks);
    for (let at = 0; at < marks.n; at += 1) {
      const kind = timeline.kind[marks.event[at] as number] as number;
      surface.rect(
        marks.x[at] as number,
        place * line,
        marks.width[at] as number,
        Math.max(1, line - 1),
        look.paints[kind] ?? look.colors.muted,
      );
    }
  }
}
