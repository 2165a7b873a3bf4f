/** What the reader does with a timeline: window, selection, search, folded lanes. */

import { type ReadonlySignal, type Signal, batch, computed, signal } from "@preact/signals";
import { type Window, moveWindow, scaleWindow } from "../../../charts/window";
import { type Timeline, childOf, durationOf, parentOf, rowRange, worksOf } from "./model";

/** No window is narrower, in nanoseconds: what the profiler resolves. */
const NARROWEST = 50;
/** A window settles this long after the last move. */
const SETTLES_MS = 200;
/** An event jumped to takes at least this part of the window. */
const SMALLEST_PART = 0.02;
/** Lanes of Python frames deeper than this are folded at first: they push everything else out of sight. */
const DEEP_ROWS = 8;

export interface Hits {
  /** By name. */
  isHit: Uint8Array;
  /** In order of start. */
  events: Int32Array;
}

export class TimelineState {
  readonly timeline: Timeline;
  readonly window: Signal<Window>;
  /** The window once it rests: what tables and texts follow. */
  readonly settled: Signal<Window>;
  readonly selected: Signal<number | null> = signal(null);
  readonly folded: Signal<ReadonlySet<number>>;
  readonly query: Signal<string>;
  readonly hits: ReadonlySignal<Hits | null>;
  /** A new object each time the chart should scroll to the selected event. */
  readonly reveal: Signal<object> = signal({});
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `last`: of the step shown before, whose search and folded lanes stay. */
  constructor(timeline: Timeline, last: TimelineState | null = null) {
    this.timeline = timeline;
    this.window = signal(timeline.full);
    this.settled = signal(timeline.full);
    this.query = signal(last?.query.peek() ?? "");
    this.folded = signal(foldedAtFirst(timeline, last));
    this.hits = computed(() => findHits(timeline, this.query.value));
  }

  show(window: Window): void {
    this.window.value = bounded(window, this.timeline.full);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.settled.value = this.window.peek();
    }, SETTLES_MS);
  }

  reset(): void {
    this.show(this.timeline.full);
  }

  /** `factor` below 1 zooms in. */
  zoom(factor: number, center?: number): void {
    const window = this.window.peek();
    this.show(scaleWindow(window, this.timeline.full, center ?? this.focus(window), factor));
  }

  /** By a part of the window's width. */
  pan(part: number): void {
    const window = this.window.peek();
    this.show(moveWindow(window, this.timeline.full, part * (window.to - window.from)));
  }

  /** The selected event if it is in sight, else the middle. */
  private focus({ from, to }: Window): number {
    const event = this.selected.peek();
    if (event !== null) {
      const middle = ((this.timeline.start[event] ?? 0) + (this.timeline.end[event] ?? 0)) / 2;
      if (middle >= from && middle <= to) return middle;
    }
    return (from + to) / 2;
  }

  select(event: number | null): void {
    this.selected.value = event;
  }

  /** Selects an event and brings it into sight: unfolds its lane, moves the window, zooms in where it is tiny. */
  jump(event: number): void {
    const { timeline } = this;
    batch(() => {
      this.unfoldFor(event);
      this.selected.value = event;
      const [start, end] = [timeline.start[event] ?? 0, timeline.end[event] ?? 0];
      const window = this.window.peek();
      const widest = (end - start) / SMALLEST_PART;
      const width = Math.min(window.to - window.from, Math.max(widest, NARROWEST));
      const isSeen = start >= window.from && end <= window.to;
      if (!isSeen || width < window.to - window.from) {
        const middle = (Math.max(start, timeline.full.from) + Math.min(end, timeline.full.to)) / 2;
        this.show({ from: middle - width / 2, to: middle + width / 2 });
      }
      this.reveal.value = {};
    });
  }

  /** The event fills most of the window. */
  zoomTo(event: number): void {
    const [start, end] = [this.timeline.start[event] ?? 0, this.timeline.end[event] ?? 0];
    const margin = Math.max((end - start) * 0.1, NARROWEST / 2);
    this.show({ from: start - margin, to: end + margin });
    this.reveal.value = {};
  }

  private unfoldFor(event: number): void {
    const lane = this.timeline.lane[event] ?? 0;
    if ((this.timeline.row[event] ?? 0) > 0 && this.folded.peek().has(lane)) this.fold(lane, false);
  }

  fold(lane: number, on: boolean): void {
    const next = new Set(this.folded.peek());
    if (on) next.add(lane);
    else next.delete(lane);
    this.folded.value = next;
  }

  foldAll(on: boolean): void {
    this.folded.value = new Set(on ? this.timeline.lanes.keys() : []);
  }

  /** Selects a neighbour: the next or previous of the row, the event around, the longest inside, or a row's end. */
  step(key: string): boolean {
    if (!STEP_KEYS.has(key)) return false;
    const event = this.selected.peek();
    const next = event === null ? this.firstSeen() : neighbour(this.timeline, event, key);
    if (next >= 0) this.bringIn(next);
    return true;
  }

  /** Selects an event and moves the window no more than needed. */
  private bringIn(event: number): void {
    const { timeline } = this;
    batch(() => {
      this.unfoldFor(event);
      this.selected.value = event;
      const [start, end] = [timeline.start[event] ?? 0, timeline.end[event] ?? 0];
      const { from, to } = this.window.peek();
      if (end < from || start > to) {
        const middle = end - start > to - from ? (end < from ? end : start) : (start + end) / 2;
        this.show({ from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
      }
      this.reveal.value = {};
    });
  }

  /** The longest event of the first row in sight: where keys begin. */
  private firstSeen(): number {
    const { from, to } = this.window.peek();
    for (const [lane, { rows }] of this.timeline.lanes.entries()) {
      if (rows === 0) continue;
      const [first, last] = rowRange(this.timeline, lane, 0);
      let best = -1;
      for (let at = first; at < last; at += 1) {
        if ((this.timeline.end[at] ?? 0) < from || (this.timeline.start[at] ?? 0) > to) continue;
        if (best < 0 || durationOf(this.timeline, at) > durationOf(this.timeline, best)) best = at;
      }
      if (best >= 0) return best;
    }
    return -1;
  }

  /** From device work to the call that launched it, and from a call to the first of what it launched. */
  followLaunch(): void {
    const event = this.selected.peek();
    if (event === null) return;
    const launch = this.timeline.launch[event] ?? -1;
    const [work] = launch >= 0 ? [launch] : worksOf(this.timeline, event);
    if (work !== undefined) this.jump(work);
  }

  /** Jumps to the next hit after the selected event (or the window's start), or the one before; round the ends. */
  jumpToHit(direction: 1 | -1): void {
    const events = this.hits.peek()?.events;
    if (!events || events.length === 0) return;
    const place = this.hitPlace();
    const next = place === null ? this.hitBeside(direction, events) : place + direction;
    const event = events[(next + events.length) % events.length];
    if (event !== undefined) this.jump(event);
  }

  /** Place of the selected event among the hits; null when it is none. */
  hitPlace(): number | null {
    const [event, hits] = [this.selected.value, this.hits.value];
    if (event === null || !hits) return null;
    const place = hits.events.indexOf(event);
    return place < 0 ? null : place;
  }

  private hitBeside(direction: 1 | -1, events: Int32Array): number {
    const selected = this.selected.peek();
    const from = selected === null ? this.window.peek().from : (this.timeline.start[selected] ?? 0);
    let place = 0;
    while (place < events.length && (this.timeline.start[events[place] ?? 0] ?? 0) < from) place += 1;
    return direction > 0 ? place : place - 1;
  }
}

/** A lane that the last step had, too, stays as it was there. */
function foldedAtFirst(timeline: Timeline, last: TimelineState | null): Set<number> {
  const known = new Map(last?.timeline.lanes.map((lane, place) => [lane.title, last.folded.peek().has(place)]));
  const folded = new Set<number>();
  timeline.lanes.forEach(({ title, kind, rows }, place) => {
    if (known.get(title) ?? (kind === "python" && rows > DEEP_ROWS)) folded.add(place);
  });
  return folded;
}

/** Inside `full`, and no narrower than the profiler resolves. */
function bounded(window: Window, full: Window): Window {
  const whole = full.to - full.from;
  const width = Math.min(whole, Math.max(window.to - window.from, Math.min(NARROWEST, whole)));
  const middle = (window.from + window.to) / 2;
  const from = Math.min(Math.max(middle - width / 2, full.from), full.to - width);
  return { from, to: from + width };
}

const STEP_KEYS: ReadonlySet<string> = new Set(["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"]);

/** -1: there is nothing that way. */
function neighbour(timeline: Timeline, event: number, key: string): number {
  const [first, last] = rowRange(timeline, timeline.lane[event] ?? 0, timeline.row[event] ?? 0);
  switch (key) {
    case "ArrowRight":
      return event + 1 < last ? event + 1 : -1;
    case "ArrowLeft":
      return event > first ? event - 1 : -1;
    case "ArrowUp":
      return parentOf(timeline, event);
    case "ArrowDown":
      return childOf(timeline, event);
    case "Home":
      return first;
    default:
      return last - 1;
  }
}

/** Events whose name holds `query`, in any letter case; null without a query. */
export function findHits(timeline: Timeline, query: string): Hits | null {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return null;
  const isHit = Uint8Array.from(timeline.names, (name) => Number(name.toLowerCase().includes(wanted)));
  const found: number[] = [];
  for (let at = 0; at < timeline.n; at += 1) if (isHit[timeline.name[at] ?? 0] === 1) found.push(at);
  found.sort((a, b) => (timeline.start[a] ?? 0) - (timeline.start[b] ?? 0) || a - b);
  return { isHit, events: Int32Array.from(found) };
}
