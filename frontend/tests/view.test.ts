import { describe, expect, it } from "vitest";
import { readHash, writeHash } from "../src/host/hash";
import { DEFAULT_VIEW, type View, viewFromValues, viewToValues } from "../src/state/view";

const FULL: View = {
  panel: "steps",
  runs: ["digits/version_0", "we,ird/ü %2C?&#=[<b>]"],
  loop: "validate",
  attempts: { "resume@home/run,1": "20261130T214150.123456Z" },
  from: 100,
  to: 250,
  filter: "^a&b=c#",
  x: "wall",
  logY: true,
  ignoreOutliers: false,
  hidden: ["forward", "my,stage"],
  profile: { run: "we,ird@home/ü", attempt: "20261130T214150.123456Z", window: 12 },
  against: { run: "base,line@1", attempt: "20261130T214150.123456Z", window: 3 },
  profileStep: 3,
};

const roundTrip = (view: View): View => viewFromValues(readHash(writeHash("#tb_aiperf", viewToValues(view))));

describe("the view in the address", () => {
  it("comes back as it was written", () => {
    expect(roundTrip(FULL)).toEqual(FULL);
    expect(roundTrip(DEFAULT_VIEW)).toEqual(DEFAULT_VIEW);
  });

  it("tells no selection from an empty one", () => {
    expect(roundTrip({ ...DEFAULT_VIEW, runs: [] }).runs).toEqual([]);
    expect(roundTrip({ ...DEFAULT_VIEW, runs: null }).runs).toBeNull();
  });

  it("writes only what differs from the defaults", () => {
    expect(writeHash("#tb_aiperf", viewToValues(DEFAULT_VIEW))).toBe("#tb_aiperf");
    expect(writeHash("", viewToValues({ ...DEFAULT_VIEW, from: 0 }))).toBe("#p.tb_aiperf.from=0");
  });

  it("leaves everybody else's keys as they are and replaces its own", () => {
    const hash = "#tb_aiperf&p.other.key=1%2C2&p.tb_aiperf.panel=steps&p.tb_aiperf.from=3";
    const written = writeHash(hash, viewToValues({ ...DEFAULT_VIEW, panel: "steps", to: 9 }));
    expect(written).toBe("#tb_aiperf&p.other.key=1%2C2&p.tb_aiperf.panel=steps&p.tb_aiperf.to=9");
  });

  it("takes the defaults for what makes no sense", () => {
    const view = viewFromValues(
      readHash("#tb_aiperf&p.tb_aiperf.from=a&p.tb_aiperf.x=moon&p.tb_aiperf.filter=%E0%A4%A"),
    );
    expect(view).toEqual({ ...DEFAULT_VIEW, filter: "%E0%A4%A" });
    const reversed = viewFromValues(
      new Map([
        ["from", "9"],
        ["to", "3"],
      ]),
    );
    expect([reversed.from, reversed.to]).toEqual([null, null]);
    for (const text of ["", "0@attempt", "x@attempt@run", "0@@run", "0@attempt@"]) {
      expect(viewFromValues(new Map([["profile", text]])).profile).toBeNull();
      expect(viewFromValues(new Map([["against", text]])).against).toBeNull();
    }
    expect(viewFromValues(new Map([["pstep", "-1"]])).profileStep).toBeNull();
  });
});
