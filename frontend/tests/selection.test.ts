import { describe, expect, it } from "vitest";
import type { RunInfo } from "../src/api/types";
import {
  defaultSelection,
  groupRuns,
  loopsOf,
  runFilter,
  selectedRuns,
  shownAttempt,
  shownLoop,
} from "../src/state/selection";

function run(name: string, options: Partial<RunInfo> = {}): RunInfo {
  const loop = { loop: "train", steps: 4, first_step: 0, last_step: 3, attempts: [] };
  return { run: name, group: name, rank: 0, world_size: 1, last_update_unix_s: 0, loops: [loop], ...options };
}

const DDP = [
  run("ddp/rank_10", { group: "ddp", rank: 10 }),
  run("ddp/rank_2", { group: "ddp", rank: 2 }),
  run("ddp", { group: "ddp", last_update_unix_s: 5 }),
];
const RUNS = [run("b10", { last_update_unix_s: 9 }), run("b9", { last_update_unix_s: 7 }), ...DDP];

describe("the list of runs", () => {
  it("filters like TensorBoard: anywhere, any letter case", () => {
    const { matches, error } = runFilter("DIG.*_0$");
    expect(error).toBeNull();
    expect(["digits/version_0", "digits/version_01", "a/digits_0"].filter(matches)).toEqual([
      "digits/version_0",
      "a/digits_0",
    ]);
  });

  it("matches everything and says so when the expression is broken", () => {
    const { matches, error } = runFilter("a[");
    expect(matches("zzz")).toBe(true);
    expect(error).toContain("regular expression");
  });

  it("puts ranks together, rank 0 first, and counts numbers in names", () => {
    expect(groupRuns(RUNS).map((group) => group.runs.map((member) => member.run))).toEqual([
      ["b9"],
      ["b10"],
      ["ddp", "ddp/rank_2", "ddp/rank_10"],
    ]);
  });

  it("selects the two newest trainings, one rank of each", () => {
    expect(defaultSelection(RUNS)).toEqual(["b10", "b9"]);
    expect(defaultSelection(DDP)).toEqual(["ddp"]);
  });

  it("forgets selected runs that are gone and keeps the list's order", () => {
    expect(selectedRuns(RUNS, ["ddp", "gone", "b9"]).map((info) => info.run)).toEqual(["b9", "ddp"]);
    expect(selectedRuns(RUNS, [])).toEqual([]);
  });

  it("offers the loops in the order of the server", () => {
    const loop = (name: string) => ({ loop: name, steps: 1, first_step: 0, last_step: 0, attempts: [] });
    const runs = [run("a", { loops: [loop("pipeline"), loop("own")] }), run("b", { loops: [loop("train")] })];
    expect(loopsOf(runs)).toEqual(["train", "pipeline", "own"]);
    expect(shownLoop(runs[0] as RunInfo, null)?.loop).toBe("pipeline");
    expect(shownLoop(runs[0] as RunInfo, "train")).toBeNull();
  });

  it("takes an attempt only where the loop has it", () => {
    const attempt = { attempt: "a1", started_unix_s: 0, steps: 1, first_step: 0, last_step: 0 };
    const loop = { loop: "train", steps: 1, first_step: 0, last_step: 0, attempts: [attempt] };
    expect(shownAttempt(loop, "a1")).toBe(attempt);
    expect(shownAttempt(loop, "a2")).toBeNull();
    expect(shownAttempt(loop, undefined)).toBeNull();
  });
});
