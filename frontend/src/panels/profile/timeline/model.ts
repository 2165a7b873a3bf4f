/** The events of a step as typed columns, with where each lane's rows begin, and what finds events in them. */

import type { LaneInfo, TimelineAnswer } from "../../../api/profile-types";
import type { Window } from "../../../charts/window";

export interface Lane extends LaneInfo {
  /** `firsts[r]` to before `firsts[r + 1]` are the events of row r. */
  firsts: Int32Array;
}

/** n events, sorted by lane, row and start. Times are nanoseconds since the start of the step. */
export interface Timeline {
  n: number;
  step: number | null;
  duration: number;
  leftOut: number;
  leftOutDuration: number;
  lanes: readonly Lane[];
  names: readonly string[];
  shapes: readonly string[];
  lane: Uint16Array;
  row: Uint16Array;
  kind: Uint8Array;
  name: Int32Array;
  /** -1: not recorded. */
  shape: Int32Array;
  start: Float64Array;
  end: Float64Array;
  /** Of device work, the call that launched it; -1: none. */
  launch: Int32Array;
  /** What the chart can show at most: the step with a margin. */
  full: Window;
}

/** Part of the step's length shown before and after it. */
const MARGIN = 0.02;

export function readTimeline(answer: TimelineAnswer): Timeline {
  const n = answer.lane.length;
  const start = Float64Array.from(answer.start_ns);
  const end = new Float64Array(n);
  for (let index = 0; index < n; index += 1) end[index] = (start[index] ?? 0) + (answer.duration_ns[index] ?? 0);
  const lane = Uint16Array.from(answer.lane);
  const row = Uint16Array.from(answer.row);
  return {
    n,
    step: answer.step,
    duration: answer.step_duration_ns,
    leftOut: answer.left_out,
    leftOutDuration: answer.left_out_ns,
    lanes: answer.lanes.map((info, place) => ({ ...info, firsts: rowBounds(lane, row, place, info.rows) })),
    names: answer.names,
    shapes: answer.shapes,
    lane,
    row,
    kind: Uint8Array.from(answer.kind),
    name: Int32Array.from(answer.name),
    shape: Int32Array.from(answer.shape),
    start,
    end,
    launch: Int32Array.from(answer.launch),
    full: fullWindow(answer.step_duration_ns, start, end),
  };
}

function rowBounds(lane: Uint16Array, row: Uint16Array, place: number, rows: number): Int32Array {
  const firsts = new Int32Array(rows + 1);
  for (let at = 0; at <= rows; at += 1) {
    let [low, high] = [0, lane.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const [otherLane, otherRow] = [lane[middle] ?? 0, row[middle] ?? 0];
      if (otherLane < place || (otherLane === place && otherRow < at)) low = middle + 1;
      else high = middle;
    }
    firsts[at] = low;
  }
  return firsts;
}

/** A step of no length (its work was still queued behind the one before) shows its events instead. */
function fullWindow(duration: number, start: Float64Array, end: Float64Array): Window {
  let [from, to] = [0, duration];
  if (duration <= 0) {
    for (const value of start) from = Math.min(from, value);
    for (const value of end) to = Math.max(to, value);
  }
  const margin = MARGIN * (to - from) || 1;
  return { from: from - margin, to: to + margin };
}

/** The first event from `first` to before `last` that ends after `time`; in a row, ends are in order like starts. */
export function firstEndingAfter(timeline: Timeline, first: number, last: number, time: number): number {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timeline.end[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first event from `first` to before `last` that starts at or after `time`. */
export function firstStartingAt(timeline: Timeline, first: number, last: number, time: number): number {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timeline.start[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const durationOf = (timeline: Timeline, event: number): number =>
  (timeline.end[event] ?? 0) - (timeline.start[event] ?? 0);

/** The row's events: from the first to before the second. */
export function rowRange(timeline: Timeline, lane: number, row: number): [number, number] {
  const firsts = timeline.lanes[lane]?.firsts;
  return [firsts?.[row] ?? 0, firsts?.[row + 1] ?? 0];
}

/** The event of a row at `time`; else the longest within `reach` of it; -1 where there is none. */
export function eventAt(timeline: Timeline, lane: number, row: number, time: number, reach: number): number {
  const [first, last] = rowRange(timeline, lane, row);
  let best = -1;
  for (let at = firstEndingAfter(timeline, first, last, time - reach); at < last; at += 1) {
    const start = timeline.start[at] ?? 0;
    if (start > time + reach) break;
    if (best < 0 || durationOf(timeline, at) > durationOf(timeline, best)) best = at;
    // Wide enough to be hit itself: neighbours do not count.
    if (start <= time && (timeline.end[at] ?? 0) >= time && durationOf(timeline, at) >= 2 * reach) return at;
  }
  return best;
}

/** The event of the row above that `event` lies in; -1 for the outermost. */
export function parentOf(timeline: Timeline, event: number): number {
  const row = timeline.row[event] ?? 0;
  if (row === 0) return -1;
  const [first, last] = rowRange(timeline, timeline.lane[event] ?? 0, row - 1);
  const [start, end] = [timeline.start[event] ?? 0, timeline.end[event] ?? 0];
  const at = firstEndingAfter(timeline, first, last, start);
  const holds = at < last && (timeline.start[at] ?? 0) <= start && (timeline.end[at] ?? 0) >= end;
  return holds ? at : -1;
}

/** The longest event of the row below that lies in `event`; -1 where there is none. */
export function childOf(timeline: Timeline, event: number): number {
  const lane = timeline.lane[event] ?? 0;
  const row = (timeline.row[event] ?? 0) + 1;
  if (row >= (timeline.lanes[lane]?.rows ?? 0)) return -1;
  const [first, last] = rowRange(timeline, lane, row);
  let best = -1;
  const end = timeline.end[event] ?? 0;
  for (let at = firstStartingAt(timeline, first, last, timeline.start[event] ?? 0); at < last; at += 1) {
    if ((timeline.start[at] ?? 0) >= end) break;
    if (best < 0 || durationOf(timeline, at) > durationOf(timeline, best)) best = at;
  }
  return best;
}

/** The device work that a runtime call launched. */
export function worksOf(timeline: Timeline, call: number): number[] {
  const works: number[] = [];
  for (let at = 0; at < timeline.n; at += 1) if (timeline.launch[at] === call) works.push(at);
  return works;
}

/** The events that overlap `window`, longest first; all of them counted, at most `most` returned. */
export function longestIn(timeline: Timeline, window: Window, most: number): { events: number[]; total: number } {
  const events: number[] = [];
  for (let at = 0; at < timeline.n; at += 1) {
    if ((timeline.end[at] ?? 0) >= window.from && (timeline.start[at] ?? 0) <= window.to) events.push(at);
  }
  const total = events.length;
  events.sort((a, b) => durationOf(timeline, b) - durationOf(timeline, a) || a - b);
  return { events: events.slice(0, most), total };
}
