import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TimelineState, findHits } from "../src/panels/profile/timeline/state";
import { timeline } from "./timeline-data";

const events = timeline(
  [
    { start: 0, duration: 60_000, name: "outer" },
    { start: 70_000, duration: 20_000, name: "Outer end" },
    { row: 1, start: 10_000, duration: 20_000, name: "cudaLaunchKernel" },
    { row: 1, start: 40_000, duration: 100, name: "aten::mm" },
    { lane: 1, row: 0, start: 0, duration: 100_000, name: "main.py(1): run" },
    { lane: 1, row: 9, start: 50_000, duration: 100, name: "deep.py(3): mm" },
    { lane: 2, start: 45_000, duration: 10, name: "gemm_mm", launch: 2 },
  ],
  {
    step_duration_ns: 100_000,
    lanes: [
      { kind: "host", title: "thread 1", rows: 2 },
      { kind: "python", title: "thread 1, Python", rows: 10 },
      { kind: "device", title: "GPU 0 stream 7", rows: 1 },
    ],
  },
);

const width = (state: TimelineState): number => state.window.peek().to - state.window.peek().from;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a timeline's window", () => {
  it("zooms and moves inside the step, and no deeper than the profiler resolves", () => {
    const state = new TimelineState(events);
    expect(state.window.peek()).toEqual({ from: -2000, to: 102_000 });
    state.zoom(0.5, -2000);
    expect(state.window.peek()).toEqual({ from: -2000, to: 50_000 });
    state.pan(-1);
    expect(state.window.peek().from).toBe(-2000);
    state.pan(10);
    expect(state.window.peek().to).toBe(102_000);
    state.show({ from: 500, to: 501 });
    expect(state.window.peek()).toEqual({ from: 475.5, to: 525.5 });
    state.reset();
    expect(state.window.peek()).toEqual(events.full);
  });

  it("settles once it rests", () => {
    const state = new TimelineState(events);
    state.show({ from: 0, to: 1000 });
    expect(state.settled.peek()).toEqual(events.full);
    vi.advanceTimersByTime(200);
    expect(state.settled.peek()).toEqual({ from: 0, to: 1000 });
  });

  it("zooms about the selected event while that is in sight", () => {
    const state = new TimelineState(events);
    state.select(3);
    state.zoom(0.5);
    const { from, to } = state.window.peek();
    // 40,050 ns stays where it was: at 42,050 of 104,000.
    expect((40_050 - from) / (to - from)).toBeCloseTo(42_050 / 104_000, 9);
  });
});

describe("keys", () => {
  it("begin with the longest event of the first row", () => {
    const state = new TimelineState(events);
    expect(state.step("x")).toBe(false);
    expect(state.selected.peek()).toBeNull();
    expect(state.step("ArrowRight")).toBe(true);
    expect(state.selected.peek()).toBe(0);
  });

  it("go along the row, into the event and out of it", () => {
    const state = new TimelineState(events);
    const after = (key: string): number | null => {
      state.step(key);
      return state.selected.peek();
    };
    state.select(0);
    expect(after("ArrowRight")).toBe(1);
    expect(after("ArrowRight")).toBe(1);
    expect(after("Home")).toBe(0);
    expect(after("ArrowDown")).toBe(2);
    expect(after("ArrowDown")).toBe(2);
    expect(after("End")).toBe(3);
    expect(after("ArrowUp")).toBe(0);
    expect(after("ArrowUp")).toBe(0);
  });

  it("bring what they select into sight", () => {
    const state = new TimelineState(events);
    state.show({ from: 0, to: 1000 });
    state.select(0);
    state.step("ArrowRight");
    const { from, to } = state.window.peek();
    expect(to - from).toBe(1000);
    expect([from, to]).toEqual([69_500, 70_500]);
  });

  it("follow a launch both ways", () => {
    const state = new TimelineState(events);
    state.select(6);
    state.followLaunch();
    expect(state.selected.peek()).toBe(2);
    state.followLaunch();
    expect(state.selected.peek()).toBe(6);
    state.select(1);
    state.followLaunch();
    expect(state.selected.peek()).toBe(1);
  });
});

describe("the search", () => {
  it("finds names in any letter case, in order of time", () => {
    expect(findHits(events, "  ")).toBeNull();
    expect([...(findHits(events, "MM")?.events ?? [])]).toEqual([3, 6, 5]);
    expect([...(findHits(events, "nowhere")?.events ?? [9])]).toEqual([]);
  });

  it("jumps from hit to hit and round the ends", () => {
    const state = new TimelineState(events);
    state.query.value = "mm";
    const order: (number | null)[] = [];
    for (let jump = 0; jump < 4; jump += 1) {
      state.jumpToHit(1);
      order.push(state.selected.peek());
    }
    expect(order).toEqual([3, 6, 5, 3]);
    state.jumpToHit(-1);
    expect(state.selected.peek()).toBe(5);
    expect(state.hitPlace()).toBe(2);
  });

  it("goes on from the selected event", () => {
    const state = new TimelineState(events);
    state.query.value = "mm";
    state.select(1);
    state.jumpToHit(-1);
    expect(state.selected.peek()).toBe(5);
  });

  it("makes a hit large enough to be seen and unfolds its lane", () => {
    const state = new TimelineState(events);
    expect([...state.folded.peek()]).toEqual([1]);
    state.jump(5);
    expect([...state.folded.peek()]).toEqual([]);
    expect(100 / width(state)).toBeCloseTo(0.02, 9);
    expect(state.window.peek().from).toBeLessThan(50_000);
    expect(state.window.peek().to).toBeGreaterThan(50_100);
  });
});

describe("another step", () => {
  it("keeps the search and the folded lanes", () => {
    const state = new TimelineState(events);
    state.query.value = "mm";
    state.fold(0, true);
    state.fold(1, false);
    const next = new TimelineState(events, state);
    expect(next.query.peek()).toBe("mm");
    expect([...next.folded.peek()]).toEqual([0]);
    next.foldAll(true);
    expect(next.folded.peek().size).toBe(3);
  });
});
