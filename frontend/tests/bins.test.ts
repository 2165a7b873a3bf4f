import { describe, expect, it } from "vitest";
import type { Bins } from "../src/api/types";
import {
  type Bin,
  bandHeight,
  linePoints,
  nearestBin,
  originOf,
  placeBins,
  readBins,
  robustTop,
  roundUp,
  spliceBins,
  stepsBetween,
  windowOnAxis,
} from "../src/panels/steps/bins";
import { stackLayers } from "../src/panels/steps/stack-series";

function bin(first: number, last: number, values: Partial<Bin> = {}): Bin {
  const time = 0.1;
  const times = { mean: time, min: time, p5: time, median: time, p95: time, max: time };
  return {
    count: last - first + 1,
    stepFirst: first,
    stepLast: last,
    unix: 1000 + first * time,
    ...times,
    stages: {},
    ...values,
  };
}

const spans = (bins: readonly Bin[]): [number, number][] =>
  bins.map(({ stepFirst, stepLast }) => [stepFirst, stepLast]);

describe("bins", () => {
  it("are read from columns", () => {
    const columns: Bins = {
      count: [2, 1],
      step_first: [0, 2],
      step_last: [1, 2],
      unix_s: [1000, null],
      time_s: {
        mean: [0.2, 0.3],
        min: [0.1, 0.3],
        p5: [0.11, 0.3],
        median: [0.2, 0.3],
        p95: [0.29, 0.3],
        max: [0.3, 0.3],
      },
      stages_s: { forward: { mean: [0.05, null], min: [0, null], max: [0.1, null] } },
    };
    const [first, second] = readBins(columns);
    expect(first).toEqual({
      count: 2,
      stepFirst: 0,
      stepLast: 1,
      unix: 1000,
      mean: 0.2,
      min: 0.1,
      p5: 0.11,
      median: 0.2,
      p95: 0.29,
      max: 0.3,
      stages: { forward: 0.05 },
    });
    expect(second?.unix).toBeNull();
    expect(second?.stages).toEqual({ forward: null });
  });

  it("of a window replace the coarse bins they cover, and no others", () => {
    const coarse = [bin(0, 9), bin(10, 19), bin(20, 29), bin(30, 39)];
    const fine = [bin(12, 14), bin(15, 17)];
    expect(spans(spliceBins(coarse, fine))).toEqual([
      [0, 9],
      [12, 14],
      [15, 17],
      [20, 29],
      [30, 39],
    ]);
    expect(spans(spliceBins(coarse, []))).toEqual(spans(coarse));
  });

  it("reach half a step to each side of their steps", () => {
    const [first, second] = placeBins([bin(0, 0), bin(1, 4)], "step", 0);
    expect([first?.left, first?.x, first?.right]).toEqual([-0.5, 0, 0.5]);
    expect([second?.left, second?.x, second?.right]).toEqual([0.5, 2.5, 4.5]);
  });

  it("share the place of a step that several rows have", () => {
    const placed = placeBins([bin(3, 3), bin(3, 3), bin(3, 3), bin(3, 3), bin(4, 4)], "step", 0);
    expect(placed.map((each) => each.x)).toEqual([2.625, 2.875, 3.125, 3.375, 4]);
    expect(placed.map((each) => each.right - each.left)).toEqual([0.25, 0.25, 0.25, 0.25, 1]);
  });

  it("last as long as their steps on a time axis, in the order of time", () => {
    // A second attempt ran steps 0 to 9 again, later.
    const bins = [bin(0, 9, { unix: 2000 }), bin(10, 19, { unix: 1001 }), bin(20, 29, { unix: null })];
    expect(originOf(bins)).toBe(1001);
    const placed = placeBins(bins, "relative", 1001);
    expect(placed.map(({ stepFirst, left, right }) => [stepFirst, left, right])).toEqual([
      [10, 0, 1],
      [0, 999, 1000],
    ]);
    expect(placeBins(bins, "wall", 0)[0]?.left).toBe(1_001_000);
  });

  it("break a line where steps are missing", () => {
    const placed = placeBins([bin(0, 9), bin(10, 19), bin(80, 99)], "step", 0);
    expect(linePoints(placed, (each) => each.median)).toEqual([
      [4.5, 0.1],
      [14.5, 0.1],
      [49.5, null],
      [89.5, 0.1],
    ]);
  });

  it("are found by place", () => {
    const placed = placeBins([bin(0, 9), bin(10, 19)], "step", 0);
    expect(nearestBin(placed, 11)?.stepFirst).toBe(10);
    expect(nearestBin([], 11)).toBeNull();
    expect(bandHeight(bin(0, 1, { p5: 0.1, p95: 0.4 }))).toBeCloseTo(0.3);
    expect(bandHeight(bin(0, 1, { p5: null }))).toBeNull();
  });
});

describe("windows", () => {
  it("hold the whole steps between two places", () => {
    const placed = placeBins([bin(0, 9), bin(10, 19)], "step", 0);
    expect(stepsBetween(placed, "step", 2.2, 7.9)).toEqual({ from: 3, to: 7 });
    expect(stepsBetween(placed, "step", 2.2, 2.4)).toEqual({ from: 3, to: 3 });
    expect(stepsBetween([], "step", 0, 1)).toBeNull();
  });

  it("take the steps of the bins in between on a time axis, or the nearest", () => {
    const placed = placeBins([bin(0, 9), bin(10, 19), bin(20, 29)], "relative", 1000);
    expect(stepsBetween(placed, "relative", 0.4, 1.6)).toEqual({ from: 0, to: 19 });
    expect(stepsBetween(placed, "relative", 1.7, 1.8)).toEqual({ from: 10, to: 19 });
  });

  it("come back to the axis", () => {
    const placed = placeBins([bin(0, 9), bin(10, 19)], "relative", 1000);
    expect(windowOnAxis(placed, "step", { from: 3, to: 7 })).toEqual([2.5, 7.5]);
    expect(windowOnAxis(placed, "relative", { from: 10, to: 19 })).toEqual([1, 2]);
    expect(windowOnAxis(placed, "relative", { from: 50, to: 60 })).toBeNull();
  });
});

describe("the y axis", () => {
  it("ends above the bulk of the steps, and never above the data", () => {
    expect(robustTop(2, 0.1, 0.08)).toBeCloseTo(0.16);
    expect(robustTop(2, 0.2, 0.08)).toBeCloseTo(0.3);
    expect(robustTop(0.12, 0.1, 0.08)).toBe(0.12);
    expect(robustTop(2, null, 0.08)).toBe(2);
  });

  it.each([
    [0.158, 0.2],
    [0.2, 0.2],
    [0.11, 0.12],
    [93, 100],
    [0, 1],
  ])("rounds %d up to %d", (value, rounded) => {
    expect(roundUp(value)).toBeCloseTo(rounded, 12);
  });
});

describe("the stack", () => {
  it("puts each stage on those before it, and sums to the step", () => {
    const bins = placeBins(
      [
        bin(0, 0, { mean: 0.6, stages: { a: 0.1, b: 0.2, c: 0.3 } }),
        bin(1, 1, { mean: 0.4, stages: { a: 0.4, c: null } }),
      ],
      "step",
      0,
    );
    const [a, b, c] = stackLayers(bins, ["a", "b", "c"]);
    expect(a).toEqual({ bottom: [0, 0], top: [0.1, 0.4] });
    expect(b?.bottom).toEqual(a?.top);
    expect(c?.bottom).toEqual(b?.top);
    for (const [index, each] of bins.entries()) expect(c?.top[index]).toBeCloseTo(each.mean ?? -1, 12);
  });
});
