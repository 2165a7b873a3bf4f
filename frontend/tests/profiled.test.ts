import { describe, expect, it } from "vitest";
import type { ProfileInfo } from "../src/api/profile-types";
import type { AttemptInfo, LoopInfo, RunInfo } from "../src/api/types";
import { type Bin, placeBins } from "../src/panels/steps/bins";
import {
  placeWindows,
  profiledText,
  profiledWindows,
  windowOfStep,
  windowsBetween,
} from "../src/panels/steps/profiled";
import { markSeries, pixelSpans, topWithMarks } from "../src/panels/steps/profiled-marks";

const attempt = (id: string, first: number, last: number): AttemptInfo => ({
  attempt: id,
  started_unix_s: 0,
  steps: last - first + 1,
  first_step: first,
  last_step: last,
});

function info(id: string, window: number, first: number | null, last: number | null, loop = "train"): ProfileInfo {
  const steps = first === null || last === null ? null : last - first + 1;
  return { attempt: id, window, loop, recorded_unix_s: 0, steps, first_step: first, last_step: last };
}

const loopOf = (...attempts: AttemptInfo[]): LoopInfo => ({
  loop: "train",
  steps: 100,
  first_step: 0,
  last_step: 99,
  attempts,
});

const runOf = (profiles: ProfileInfo[] | undefined, loop: LoopInfo): RunInfo => ({
  run: "a",
  group: "a",
  rank: 0,
  world_size: 1,
  last_update_unix_s: 0,
  loops: [loop],
  ...(profiles ? { profiles } : {}),
});

const OLD = attempt("t1", 0, 60);
const NEW = attempt("t2", 50, 99);
const LOOP = loopOf(OLD, NEW);
const steps = (run: RunInfo, shown: AttemptInfo | null): string[] =>
  profiledWindows(run, LOOP, shown).map(({ info: { attempt: id, window }, spans }) =>
    [id, window, ...spans.map(({ from, to }) => `${from}-${to}`)].join(" "),
  );

describe("the profiled windows of a run", () => {
  const run = runOf(
    [
      info("t1", 0, 55, 58),
      info("t1", 1, 48, 52),
      info("t1", 2, 10, 12),
      info("t2", 0, 90, 94),
      info("t2", 1, null, null),
      info("t2", 2, 0, 3, "validate"),
      info("gone", 0, 5, 6),
    ],
    LOOP,
  );

  it("are those of the loop and the attempt shown, by step", () => {
    expect(steps(run, OLD)).toEqual(["t1 2 10-12", "t1 1 48-52", "t1 0 55-58"]);
    expect(steps(run, NEW)).toEqual(["t2 0 90-94"]);
    expect(steps(runOf(undefined, LOOP), null)).toEqual([]);
  });

  it("leave out, merged, what a newer attempt ran again", () => {
    expect(steps(run, null)).toEqual(["t1 2 10-12", "t1 1 48-49", "t2 0 90-94"]);
    const middle = loopOf(OLD, attempt("t2", 30, 31));
    const [window] = profiledWindows(runOf([info("t1", 0, 28, 33)], middle), middle, null);
    expect(window?.spans).toEqual([
      { from: 28, to: 29 },
      { from: 32, to: 33 },
    ]);
  });

  it("are cut to the window of steps that is in sight", () => {
    const windows = profiledWindows(run, LOOP, OLD);
    expect(windowsBetween(windows, { from: 12, to: 48 }).map((each) => each.info.window)).toEqual([2, 1]);
    expect(windowsBetween(windows, { from: 13, to: 47 })).toEqual([]);
  });

  it("are named for a bin, and found for a step of the same attempt", () => {
    const windows = profiledWindows(run, LOOP, null);
    const bin = (stepFirst: number, stepLast: number): Bin => ({ stepFirst, stepLast }) as unknown as Bin;
    expect(profiledText(windows, bin(0, 9))).toBe("");
    expect(profiledText(windows, bin(12, 12))).toBe("profiled: steps 10–12");
    expect(profiledText(windows, bin(0, 99))).toBe("profiled: steps 10–12, steps 48–52, steps 90–94");
    expect(windowOfStep(windows, { step: 11, attempt: "t1" })?.info.window).toBe(2);
    expect(windowOfStep(windows, { step: 11, attempt: "t2" })).toBeNull();
    expect(windowOfStep(windows, { step: 13, attempt: "t1" })).toBeNull();
  });
});

describe("profiled windows on the axis", () => {
  const bin = (first: number, last: number): Bin => ({
    ...{ count: last - first + 1, stepFirst: first, stepLast: last, unix: 1000 + first, stages: {} },
    ...{ mean: 1, min: 1, p5: 1, median: 1, p95: 1, max: 1 },
  });
  const bins = [bin(0, 9), bin(10, 19), bin(20, 29)];
  const windows = profiledWindows(runOf([info("t1", 0, 8, 12)], LOOP), LOOP, OLD);

  it.each([
    ["step", [7.5, 12.5]],
    // The bins that hold the steps, from 0 to 9 and from 10 to 19.
    ["relative", [0, 20]],
    ["wall", [1_000_000, 1_020_000]],
  ] as const)("lie at their steps or at the bins that hold them: %s", (x, place) => {
    expect(placeWindows(windows, placeBins(bins, x, 1000), x)[0]?.places).toEqual([place]);
  });

  it("have no place where no bin is", () => {
    expect(placeWindows(windows, [], "wall")[0]?.places).toEqual([]);
  });
});

describe("marks above a chart", () => {
  it("can be seen however narrow, stay inside the plot, and join where they touch", () => {
    expect(pixelSpans([[100, 100.1]], 50, 500)).toEqual([[99, 102]]);
    expect(
      pixelSpans(
        [
          [40, 60],
          [490, 600],
          [0, 10],
          [501, 502],
        ],
        50,
        500,
      ),
    ).toEqual([
      [50, 60],
      [490, 500],
    ]);
    expect(
      pixelSpans(
        [
          [110, 120],
          [100, 110],
          [101, 105],
        ],
        50,
        500,
      ),
    ).toEqual([[100, 120]]);
  });

  it("leave a chart without them as it is", () => {
    expect(markSeries({ rows: [], anchor: [0, 1], over: false, color: "#000000" })).toEqual([]);
    expect([topWithMarks(0), topWithMarks(1), topWithMarks(2), topWithMarks(8)]).toEqual([12, 12, 12, 42]);
  });

  it("are drawn in rows above the plot, each with a band over its height, and never hovered", () => {
    const windows = placeWindows(
      profiledWindows(runOf([info("t1", 0, 10, 12)], LOOP), LOOP, OLD),
      placeBins([], "step", 0),
      "step",
    );
    const rows = ["#111111", "#222222"].map((color) => ({ windows, color }));
    const [series] = markSeries({ rows, anchor: [5, 0.1], over: false, color: "#333333" });
    expect(series).toMatchObject({ name: "Profiled steps", data: [[5, 0.1]], silent: true, tooltip: { show: false } });
    const draw = series?.renderItem as unknown as (
      params: unknown,
      api: unknown,
    ) => { children: { shape: object; style: { fill: string; opacity: number } }[] };
    const { children } = draw(
      { coordSys: { x: 50, y: 12, width: 500, height: 200 } },
      { coord: ([x = 0]: number[]) => [50 + 10 * x, 0] },
    );
    expect(children.map(({ shape, style }) => ({ ...shape, ...style }))).toEqual([
      { x: 145, y: 12, width: 30, height: 200, fill: "#111111", opacity: 0.12 },
      { x: 145, y: 7, width: 30, height: 4, fill: "#111111", opacity: 1 },
      { x: 145, y: 12, width: 30, height: 200, fill: "#222222", opacity: 0.12 },
      { x: 145, y: 2, width: 30, height: 4, fill: "#222222", opacity: 1 },
    ]);
  });
});
