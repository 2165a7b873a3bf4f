/** Timelines for tests. */

import type { TimelineAnswer } from "../src/api/profile-types";
import { type Timeline, readTimeline } from "../src/panels/profile/timeline/model";

export interface Given {
  lane?: number;
  row?: number;
  kind?: number;
  name?: string;
  start: number;
  duration: number;
  launch?: number;
}

/** Events in order of lane, row and start; lanes are as deep as their events. */
export function timelineAnswer(events: readonly Given[], change: Partial<TimelineAnswer> = {}): TimelineAnswer {
  const names = [...new Set(events.map((event) => event.name ?? "op"))];
  const lanes = Math.max(0, ...events.map((event) => (event.lane ?? 0) + 1));
  return {
    run: "a",
    attempt: "t",
    window: 0,
    index: 0,
    step: 7,
    step_duration_ns: 1000,
    left_out: 0,
    left_out_ns: 0,
    lanes: Array.from({ length: lanes }, (_, lane) => ({
      kind: "host",
      title: `thread ${lane}`,
      rows: Math.max(...events.filter((event) => (event.lane ?? 0) === lane).map((event) => (event.row ?? 0) + 1), 0),
    })),
    names,
    shapes: [],
    lane: events.map((event) => event.lane ?? 0),
    row: events.map((event) => event.row ?? 0),
    kind: events.map((event) => event.kind ?? 0),
    name: events.map((event) => names.indexOf(event.name ?? "op")),
    shape: events.map(() => -1),
    start_ns: events.map((event) => event.start),
    duration_ns: events.map((event) => event.duration),
    launch: events.map((event) => event.launch ?? -1),
    ...change,
  };
}

export const timeline = (events: readonly Given[], change: Partial<TimelineAnswer> = {}): Timeline =>
  readTimeline(timelineAnswer(events, change));

/** Numbers in [0, 1) that are the same in each run. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
