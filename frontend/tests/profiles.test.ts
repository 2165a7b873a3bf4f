import { describe, expect, it } from "vitest";
import type { ProfileInfo } from "../src/api/profile-types";
import type { RunInfo } from "../src/api/types";
import { newestProfiles, ranksWith, shownProfile, withProfiles } from "../src/state/profiles";

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
