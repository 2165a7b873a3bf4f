import { describe, expect, it } from "vitest";
import { layoutLanes, rowAtHeight, rowTop } from "../src/panels/profile/timeline/layout";
import {
  childOf,
  eventAt,
  firstEndingAfter,
  firstStartingAt,
  longestIn,
  parentOf,
  rowRange,
  worksOf,
} from "../src/panels/profile/timeline/model";
import { momentText, ticksOf } from "../src/panels/profile/timeline/ticks";
import { timeline } from "./timeline-data";

const plain = (text: string): string => text.replace(/\u00a0/g, " ");

/**
 * lane 0, row 0:  [0 ............ 600)   [700 .. 900)
 *         row 1:     [100 . 300) [400.500)
 * lane 1, row 0:           device work 350–360, 800–810
 */
const NESTED = timeline([
  { start: 0, duration: 600, name: "outer" },
  { start: 700, duration: 200, name: "later" },
  { row: 1, start: 100, duration: 200, name: "call" },
  { row: 1, start: 400, duration: 100, name: "inner" },
  { lane: 1, start: 350, duration: 10, name: "kernel", launch: 2 },
  { lane: 1, start: 800, duration: 10, name: "kernel", launch: 2 },
]);

describe("the events of a step", () => {
  it("lie in their rows", () => {
    expect(rowRange(NESTED, 0, 0)).toEqual([0, 2]);
    expect(rowRange(NESTED, 0, 1)).toEqual([2, 4]);
    expect(rowRange(NESTED, 1, 0)).toEqual([4, 6]);
    expect(rowRange(NESTED, 2, 0)).toEqual([0, 0]);
  });

  it("leave rows and lanes without events empty", () => {
    const of = timeline([{ lane: 1, row: 2, start: 0, duration: 1 }]);
    expect([0, 1, 2].map((row) => rowRange(of, 1, row))).toEqual([
      [0, 0],
      [0, 0],
      [0, 1],
    ]);
  });

  it("are found by their ends and starts", () => {
    expect(firstEndingAfter(NESTED, 0, 2, 599)).toBe(0);
    expect(firstEndingAfter(NESTED, 0, 2, 600)).toBe(1);
    expect(firstEndingAfter(NESTED, 0, 2, 900)).toBe(2);
    expect(firstStartingAt(NESTED, 2, 4, 101)).toBe(3);
    expect(firstStartingAt(NESTED, 2, 4, 400)).toBe(3);
  });

  it("are hit where they are, or the longest nearby", () => {
    expect(eventAt(NESTED, 0, 0, 599, 3)).toBe(0);
    expect(eventAt(NESTED, 0, 0, 650, 3)).toBe(-1);
    expect(eventAt(NESTED, 0, 0, 698, 3)).toBe(1);
    expect(eventAt(NESTED, 1, 0, 340, 15)).toBe(4);
    const crowd = timeline([
      { start: 0, duration: 2 },
      { start: 3, duration: 6 },
      { start: 10, duration: 1 },
    ]);
    // All three are narrower than the reach of 20.
    expect(eventAt(crowd, 0, 0, 1, 20)).toBe(1);
  });

  it("know what is around, inside, and launched", () => {
    expect(parentOf(NESTED, 2)).toBe(0);
    expect(parentOf(NESTED, 0)).toBe(-1);
    expect(childOf(NESTED, 0)).toBe(2);
    expect(childOf(NESTED, 1)).toBe(-1);
    expect(worksOf(NESTED, 2)).toEqual([4, 5]);
    expect(worksOf(NESTED, 3)).toEqual([]);
  });

  it("of a window come longest first, with the number of all", () => {
    expect(longestIn(NESTED, { from: 340, to: 720 }, 3)).toEqual({ events: [0, 1, 3], total: 4 });
  });

  it("span the step with a margin, or themselves where it has no length", () => {
    expect(NESTED.full).toEqual({ from: -20, to: 1020 });
    const empty = timeline([{ start: -100, duration: 200 }], { step_duration_ns: 0 });
    expect(empty.full).toEqual({ from: -104, to: 104 });
    expect(timeline([], { step_duration_ns: 0 }).full).toEqual({ from: -1, to: 1 });
  });
});

describe("the layout", () => {
  it("puts lanes below each other, rows by depth", () => {
    const layout = layoutLanes(NESTED.lanes, new Set());
    expect(layout.lanes.map(({ top, rowsTop, rows }) => [top, rowsTop, rows])).toEqual([
      [0, 22, 2],
      [60, 82, 1],
    ]);
    expect(layout.height).toBe(104);
    expect(rowAtHeight(layout, 21)).toBeNull();
    expect(rowAtHeight(layout, 22)).toEqual({ lane: 0, row: 0 });
    expect(rowAtHeight(layout, 53)).toEqual({ lane: 0, row: 1 });
    expect(rowAtHeight(layout, 54)).toBeNull();
    expect(rowAtHeight(layout, 90)).toEqual({ lane: 1, row: 0 });
    expect(rowAtHeight(layout, 1000)).toBeNull();
  });

  it("makes folded lanes a strip of their outermost row", () => {
    const layout = layoutLanes(NESTED.lanes, new Set([0]));
    expect(layout.lanes[0]).toMatchObject({ rows: 1, rowHeight: 8, folded: true });
    expect(layout.lanes[1]?.top).toBe(36);
    expect(rowTop(layout, 0, 1)).toBe(22);
  });
});

describe("the ruler", () => {
  it.each([
    [0, 1, "0"],
    [149_648_278, 1, "149.648278 ms"],
    [149_648_278, 1e6, "150 ms"],
    [2_500_000_000, 1e8, "2.5 s"],
    [-290_575, 1, "-290.575 µs"],
    [12, 1, "12 ns"],
    [200_000, 50_000, "200 µs"],
  ])("writes %d ns to %d ns as %s", (at, precision, text) => {
    expect(plain(momentText(at, precision))).toBe(text);
  });

  it("has round ticks with room between them", () => {
    const ticks = ticksOf({ from: -1e6, to: 9.5e6 }, 900, 90);
    expect(ticks.map(({ at }) => at)).toEqual([0, 2e6, 4e6, 6e6, 8e6]);
    expect(ticks.map(({ text }) => plain(text))).toEqual(["0", "2 ms", "4 ms", "6 ms", "8 ms"]);
    expect(ticksOf({ from: 0, to: 0 }, 900, 90)).toEqual([]);
  });

  it("tells neighbouring ticks apart however far it is zoomed in", () => {
    const texts = ticksOf({ from: 270_000_000, to: 270_000_060 }, 900, 90).map(({ text }) => plain(text));
    expect(texts[0]).toBe("270.00000 ms");
    expect(new Set(texts).size).toBe(texts.length);
  });
});
