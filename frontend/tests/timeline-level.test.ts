import { describe, expect, it } from "vitest";
import { Marks, markRow } from "../src/panels/profile/timeline/level";
import type { Timeline } from "../src/panels/profile/timeline/model";
import { type Given, randomNumbers, timeline } from "./timeline-data";

const marksOf = (
  of: Timeline,
  window: { from: number; to: number },
  width: number,
  isHit: Uint8Array | null = null,
): { x: number; width: number; event: number; count: number; hit: number }[] => {
  const marks = new Marks();
  markRow(of, 0, of.n, window, width, isHit, marks);
  return Array.from({ length: marks.n }, (_, at) => ({
    x: marks.x[at] ?? -1,
    width: marks.width[at] ?? -1,
    event: marks.event[at] ?? -1,
    count: marks.count[at] ?? -1,
    hit: marks.hit[at] ?? -1,
  }));
};

/** A row of events that do not overlap: gaps and lengths from nothing to thousands of nanoseconds. */
function randomRow(seed: number, count: number): { events: Given[]; end: number } {
  const random = randomNumbers(seed);
  const events: Given[] = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const start = at + Math.floor(random() ** 4 * 400);
    const duration = Math.floor(random() ** 6 * 3000);
    events.push({ start, duration, name: random() < 0.1 ? "rare" : "op" });
    at = start + duration;
  }
  return { events, end: at };
}

describe("level of detail", () => {
  it("draws what is a pixel wide by itself, cut at the window", () => {
    const of = timeline([
      { start: -50, duration: 100 },
      { start: 100, duration: 10 },
      { start: 990, duration: 100 },
    ]);
    expect(marksOf(of, { from: 0, to: 1000 }, 100)).toEqual([
      { x: 0, width: 5, event: 0, count: 1, hit: 0 },
      { x: 10, width: 1, event: 1, count: 1, hit: 0 },
      { x: 99, width: 1, event: 2, count: 1, hit: 0 },
    ]);
  });

  it("joins what is narrower, pixel by pixel, under the longest", () => {
    const of = timeline([
      { start: 0, duration: 2 },
      { start: 3, duration: 5 },
      { start: 8, duration: 1 },
      { start: 11, duration: 4 },
      { start: 16, duration: 40 },
    ]);
    expect(marksOf(of, { from: 0, to: 1000 }, 100)).toEqual([
      { x: 0, width: 1, event: 1, count: 3, hit: 0 },
      { x: 1, width: 1, event: 3, count: 1, hit: 0 },
      { x: 1.6, width: 4, event: 4, count: 1, hit: 0 },
    ]);
  });

  it("shows a hit of the search however short it is", () => {
    const of = timeline([
      { start: 0, duration: 9 },
      { start: 9, duration: 0, name: "wanted" },
    ]);
    const isHit = Uint8Array.from(of.names, (name) => Number(name === "wanted"));
    expect(marksOf(of, { from: 0, to: 1000 }, 100, isHit)).toEqual([{ x: 0, width: 1, event: 1, count: 2, hit: 1 }]);
  });

  it("keeps instants on the window's edge and nothing that ends there", () => {
    const of = timeline([
      { start: 0, duration: 100 },
      { start: 100, duration: 0 },
      { start: 200, duration: 10 },
    ]);
    expect(marksOf(of, { from: 100, to: 200 }, 100).map((mark) => mark.event)).toEqual([1]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])("loses no event and never draws more than the width allows, case %i", (seed) => {
    const { events, end } = randomRow(seed, 3000);
    const of = timeline(events);
    const random = randomNumbers(seed + 100);
    for (let round = 0; round < 40; round += 1) {
      const span = end * random() ** 3 + 1;
      const from = (end - span) * random();
      const window = { from, to: from + span };
      const width = 50 + Math.floor(random() * 1200);
      const marks = marksOf(of, window, width);
      const inside = events.filter(({ start, duration }) =>
        duration === 0
          ? start >= window.from && start < window.to
          : start + duration > window.from && start < window.to,
      );
      expect(marks.reduce((sum, mark) => sum + mark.count, 0)).toBe(inside.length);
      expect(marks.length).toBeLessThanOrEqual(2 * width + 2);
      const misplaced = marks.filter(
        (mark, at) =>
          mark.x < Math.floor(marks[at - 1]?.x ?? 0) ||
          mark.x >= width ||
          mark.width < 1 ||
          mark.event <= (marks[at - 1]?.event ?? -1),
      );
      expect(misplaced).toEqual([]);
    }
  });
});
