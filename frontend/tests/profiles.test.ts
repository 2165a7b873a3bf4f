import { describe, expect, it } from "vitest";
import type { ProfileInfo } from "../src/api/profile-types";
import type { RunInfo } from "../src/api/types";
import {
  comparisonOf,
  newestProfiles,
  placeOfStep,
  ranksWith,
  shownProfile,
  stepRange,
  windowSteps,
  withProfiles,
} from "../src/state/profiles";

const info = (attempt: string, window: number): ProfileInfo => ({
  attempt,
  window,
  loop: "train",
  recorded_unix_s: 0,
  steps: 1,
  first_step: 6,
  last_step: 6,
});

function run(name: string, profiles: ProfileInfo[] | undefined, change: Partial<RunInfo> = {}): RunInfo {
  const plain = { run: name, group: name, rank: 0, world_size: 1, last_update_unix_s: 0, loops: [] };
  return { ...plain, ...(profiles ? { profiles } : {}), ...change };
}

const OLD = run("old", undefined);
const ONE = run("one", [info("t1", 0), info("t1", 1), info("t2", 0)]);
const DDP = run("ddp", [info("t1", 0)]);
const SECOND = run("ddp/rank_1", [info("t1", 0), info("t1", 1)], { group: "ddp", rank: 1 });
const TENTH = run("ddp/rank_10", [info("t1", 0)], { group: "ddp", rank: 10 });
const RUNS = [OLD, ONE, DDP, TENTH, SECOND];

describe("the profile that is shown", () => {
  it("is the newest of the first selected run that has one", () => {
    expect(shownProfile(RUNS, [OLD, ONE, DDP], null)).toEqual({ run: ONE, info: info("t2", 0), selected: ONE });
    expect(shownProfile(RUNS, [OLD], null)).toBeNull();
    expect(shownProfile(RUNS, [], null)).toBeNull();
  });

  it("is the chosen one, where it exists", () => {
    const choice = { run: "one", attempt: "t1", window: 1 };
    expect(shownProfile(RUNS, [DDP, ONE], choice)?.info).toEqual(info("t1", 1));
    expect(shownProfile(RUNS, [DDP, ONE], { ...choice, window: 7 })?.run).toBe(DDP);
    expect(shownProfile(RUNS, [DDP, ONE], { ...choice, run: "gone" })?.run).toBe(DDP);
  });

  it("may be another rank's than the selected one's, but not another run's", () => {
    const choice = { run: "ddp/rank_1", attempt: "t1", window: 0 };
    expect(shownProfile(RUNS, [ONE, DDP], choice)).toEqual({ run: SECOND, info: info("t1", 0), selected: DDP });
    expect(shownProfile(RUNS, [ONE], choice)?.run).toBe(ONE);
  });

  it("comes with the ranks that hold the same window", () => {
    const shown = { run: DDP, info: info("t1", 0), selected: DDP };
    expect(ranksWith(RUNS, shown).map((each) => each.rank)).toEqual([0, 1, 10]);
    expect(ranksWith(RUNS, { ...shown, run: SECOND, info: info("t1", 1) }).map((each) => each.rank)).toEqual([1]);
  });
});

describe("the windows of a run", () => {
  it("come newest first, and an older server's run has none", () => {
    expect(newestProfiles(ONE).map(({ attempt, window }) => `${attempt} ${window}`)).toEqual(["t2 0", "t1 1", "t1 0"]);
    expect(newestProfiles(OLD)).toEqual([]);
    expect(withProfiles(RUNS)).toEqual([ONE, DDP, TENTH, SECOND]);
  });
});

describe("the steps of a window", () => {
  it("are said in words", () => {
    const window = { ...info("t1", 0), first_step: 1500, last_step: 1504, steps: 5 };
    expect([stepRange(window), windowSteps(window)]).toEqual(["1,500–1,504", "steps 1,500–1,504"]);
    expect([stepRange(info("t1", 0)), windowSteps(info("t1", 0))]).toEqual(["6", "step 6"]);
    const unmarked = { ...window, first_step: null, last_step: null, steps: null };
    expect([stepRange(unmarked), windowSteps(unmarked)]).toEqual([null, "no step marks"]);
  });

  it("have a place where they follow one another", () => {
    const window = { ...info("t1", 0), first_step: 100, last_step: 104, steps: 5 };
    expect([99, 100, 104, 105].map((step) => placeOfStep(window, step))).toEqual([null, 0, 4, null]);
    expect(placeOfStep({ ...window, steps: 4 }, 101)).toBeNull();
    expect(placeOfStep({ ...window, first_step: null, last_step: null, steps: null }, 101)).toBeNull();
  });
});

describe("what a profile is compared with", () => {
  const shown = (run: RunInfo, place: number) => {
    const chosen = run.profiles?.[place];
    if (!chosen) throw new Error("no such window");
    return { run, info: chosen, selected: run };
  };
  const names = ({ choices }: ReturnType<typeof comparisonOf>): string[] =>
    choices.flatMap(({ run, windows }) => windows.map(({ attempt, window }) => `${run.run} ${attempt} ${window}`));
  const against = (comparison: ReturnType<typeof comparisonOf>): string | null =>
    comparison.against &&
    `${comparison.against.run.run} ${comparison.against.info.attempt} ${comparison.against.info.window}`;

  it("is any other window of its run and of the selected runs", () => {
    expect(names(comparisonOf(RUNS, [OLD, DDP, ONE], shown(ONE, 1), null))).toEqual([
      ...["one t2 0", "one t1 0", "ddp t1 0"],
    ]);
    expect(names(comparisonOf(RUNS, [DDP], shown(SECOND, 0), null))).toEqual(["ddp/rank_1 t1 1", "ddp t1 0"]);
  });

  it("begins with the one before, else another run's newest, else the next", () => {
    expect(against(comparisonOf(RUNS, [ONE, DDP], shown(ONE, 2), null))).toBe("one t1 1");
    expect(against(comparisonOf(RUNS, [ONE, DDP], shown(DDP, 0), null))).toBe("one t2 0");
    expect(against(comparisonOf(RUNS, [ONE], shown(ONE, 0), null))).toBe("one t2 0");
    expect(comparisonOf(RUNS, [DDP], shown(DDP, 0), null)).toEqual({ choices: [], against: null });
  });

  it("is the chosen one where it exists, is of a selected run and is not the one shown", () => {
    const choice = { run: "one", attempt: "t1", window: 0 };
    expect(against(comparisonOf(RUNS, [ONE, DDP], shown(ONE, 2), choice))).toBe("one t1 0");
    expect(against(comparisonOf(RUNS, [ONE, DDP], shown(ONE, 0), choice))).toBe("ddp t1 0");
    expect(against(comparisonOf(RUNS, [ONE, DDP], shown(ONE, 2), { ...choice, window: 9 }))).toBe("one t1 1");
    expect(comparisonOf(RUNS, [DDP], shown(DDP, 0), choice).against).toBeNull();
    const rank = { run: "ddp/rank_1", attempt: "t1", window: 1 };
    const ofRank = comparisonOf(RUNS, [DDP], shown(DDP, 0), rank);
    expect([against(ofRank), names(ofRank)]).toEqual(["ddp/rank_1 t1 1", ["ddp/rank_1 t1 1", "ddp/rank_1 t1 0"]]);
  });
});
