import { describe, expect, it } from "vitest";
import type { ModuleTimes, ProfileAnswer } from "../src/api/profile-types";
import { textFilter } from "../src/format/filter";
import { breakdownFinding, partRows } from "../src/panels/profile/breakdown-rows";
import { lateFinding, ownFinding, rankRows } from "../src/panels/profile/collective-rows";
import { deviceBars } from "../src/panels/profile/device-chart";
import { kernelRows, kindsOf, totalOf } from "../src/panels/profile/kernel-rows";
import { momentBefore, unitFor } from "../src/panels/profile/memory-chart";
import {
  groupingsOf,
  matchesRow,
  moduleRows,
  openAtFirst,
  operatorRows,
  wholesOf,
} from "../src/panels/profile/operator-rows";
import { chosenStep, median, stepName, stepsText, wholeSteps } from "../src/panels/profile/steps";
import type { PaintedPart } from "../src/state/definitions";
import { CHART_COLORS } from "../src/theme/palette";
import { ANSWER, PROFILE, step } from "./profile-data";

const plain = (text: string): string => text.replace(/\u00a0/g, " ");

const part = (key: string, title: string): PaintedPart => ({ key, title, color: key, meaning: "", paint: "#000000" });
const CATEGORIES = [part("kernel", "Kernels"), part("data_loading", "Data loading"), part("other", "Other")];
const CAUSES = [part("input", "Input"), part("launch", "Launch")];

describe("the steps of a profile", () => {
  it("count where they are whole, and all where none is", () => {
    expect(wholeSteps(PROFILE.steps).map((each) => each.step)).toEqual([6, 7]);
    const partial = [step(1, { other: 3 }, { partial: true })];
    expect(wholeSteps(partial)).toEqual(partial);
  });

  it("are looked at one by one: the chosen, else the one nearest to the median", () => {
    const steps = [step(1, { other: 900 }), step(2, { other: 100 }), step(3, { other: 110 }), step(4, { other: 105 })];
    expect(chosenStep(steps, null)).toBe(2);
    expect(chosenStep(steps, 0)).toBe(0);
    expect(chosenStep(steps, 4)).toBe(2);
    expect(chosenStep(PROFILE.steps, null)).toBe(1);
    expect(chosenStep([], null)).toBe(0);
  });

  it("have names", () => {
    expect(stepName(PROFILE.steps[0])).toBe("step 5");
    expect(stepName(step(null, {}))).toBe("the whole trace");
    expect(stepsText(PROFILE.steps)).toBe("3 steps: 5–7");
    expect(stepsText([step(6, {})])).toBe("1 step: 6");
    expect(stepsText([step(null, {})])).toBe("no step marks: the whole trace");
  });

  it("have a median", () => {
    expect(median([])).toBeNull();
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});

describe("the breakdown", () => {
  it("sums the whole steps by category", () => {
    const [kernel, loading, other] = partRows(PROFILE.steps, CATEGORIES, "categories");
    expect(kernel).toMatchObject({ share: 0.4, mean: 600, median: 600, min: 600, max: 600, n: 2 });
    expect(loading).toMatchObject({ share: 0.6, mean: 900, median: 900, min: 400, max: 1400 });
    expect(other).toMatchObject({ share: 0, max: 0 });
  });

  it("gives idle time as a share of the steps, too", () => {
    const [input, launch] = partRows(PROFILE.steps, CAUSES, "idle");
    expect(input?.share).toBeCloseTo(1700 / 3000, 12);
    expect(launch).toMatchObject({ mean: 50, n: 2 });
  });

  it("leaves unknown what no step has", () => {
    const [row] = partRows([step(1, { other: 3 })], CAUSES, "idle");
    expect(row).toMatchObject({ share: null, mean: null, median: null, min: null, max: null, n: 0 });
  });

  it("says the largest shares and how long the device idles", () => {
    const [categories, idle] = [
      partRows(PROFILE.steps, CATEGORIES, "categories"),
      partRows(PROFILE.steps, CAUSES, "idle"),
    ];
    expect(plain(breakdownFinding(PROFILE.steps, categories, idle))).toBe(
      "Data loading 60.0 %, Kernels 40.0 % of the step time (median 1.50 ms); the device idles 60.0 %",
    );
    expect(plain(breakdownFinding(PROFILE.steps, categories, []))).toBe(
      "Data loading 60.0 %, Kernels 40.0 % of the step time (median 1.50 ms)",
    );
  });
});

describe("the device's bars", () => {
  it("sum to the total, and tell exposed from hidden", () => {
    const times = PROFILE.device_timeline_us;
    if (!times) throw new Error("the test's profile has a device");
    const bars = deviceBars(times, "light", CHART_COLORS.light);
    expect(bars.map(({ line, title, time }) => [line, title, time])).toEqual([
      ["Device", "Compute", 600],
      ["Device", "Communication, exposed", 100],
      ["Device", "Idle", 300],
      ["Communication", "Communication, exposed", 100],
      ["Communication", "Communication, hidden", 100],
      ["Copies", "Copies, hidden", 50],
    ]);
  });
});

describe("operators", () => {
  it("are grouped by what the trace has", () => {
    expect(groupingsOf(PROFILE)).toEqual(["operator", "shapes", "site", "module"]);
    expect(groupingsOf({ ...PROFILE, operators_by_shape: null, call_sites: [], modules: null })).toEqual(["operator"]);
  });

  it("are rows, with what a grouping cannot tell left unknown", () => {
    expect(operatorRows(PROFILE, "operator")[0]).toMatchObject({ name: "aten::mm", hostTotal: 150, deviceTotal: 300 });
    expect(operatorRows(PROFILE, "shapes")[0]).toMatchObject({ detail: "[[8,64],[64,64]]", hostSelf: 100 });
    expect(operatorRows(PROFILE, "site")[0]).toMatchObject({
      detail: "model.py(3): forward",
      backward: true,
      hostTotal: null,
      deviceTotal: null,
    });
  });

  it("are filtered by name, shapes and frames", () => {
    const [site] = operatorRows(PROFILE, "site");
    const [shape] = operatorRows(PROFILE, "shapes");
    if (!site || !shape) throw new Error("the test's profile has both");
    expect(matchesRow(site, textFilter("train\\.py", "rows").matches)).toBe(true);
    expect(matchesRow(shape, textFilter("8,64", "rows").matches)).toBe(true);
    expect(matchesRow(shape, textFilter("^conv", "rows").matches)).toBe(false);
  });

  it("share the host time of operators, and all device work with what no operator launched", () => {
    expect(wholesOf(PROFILE, "operator")).toEqual({ host: 400, device: 400 });
    expect(wholesOf(PROFILE, "module")).toEqual({ host: 100, device: 400 });
  });
});

describe("the tree of modules", () => {
  const modules = PROFILE.modules ?? [];
  const rows = (open: ReadonlySet<string>, expression: string | null = null, of: readonly ModuleTimes[] = modules) =>
    moduleRows(of, {
      open,
      matches: expression === null ? null : textFilter(expression, "modules").matches,
      value: (row) => row.device,
      descending: true,
    }).map((row) => `${"  ".repeat(row.depth)}${row.name}`);

  it("begins open at the outermost", () => {
    expect(rows(openAtFirst(modules))).toEqual(["Net_0", "  Block_0", "    Linear_1", "  Linear_0"]);
  });

  it("sorts among siblings and hides what is closed", () => {
    expect(rows(new Set(["module 0"]))).toEqual(["Net_0", "  Block_0", "  Linear_0"]);
    expect(rows(new Set())).toEqual(["Net_0"]);
  });

  it("shows what matches with all above it, open", () => {
    expect(rows(new Set(), "linear_1")).toEqual(["Net_0", "  Block_0", "    Linear_1"]);
    expect(rows(new Set(), "nothing")).toEqual([]);
  });

  it("takes a module whose parent was left out for an outermost one", () => {
    const cut: ModuleTimes[] = modules.map((module) =>
      module.name === "Linear_1" ? { ...module, parent: 99 } : module,
    );
    expect(rows(new Set(), null, cut)).toEqual(["Net_0", "Linear_1"]);
  });
});

describe("kernels", () => {
  it("have a kind and a mean", () => {
    expect(kernelRows(PROFILE, "kernel")).toMatchObject([
      { name: "gemm", kind: "kernel", mean: 75, operator: null },
      { name: "ncclKernel", kind: "communication", mean: 50 },
    ]);
  });

  it("by operator hold copies, too", () => {
    const rows = kernelRows(PROFILE, "operator");
    expect(rows[1]).toMatchObject({ name: "Memcpy HtoD", kind: "memcpy", operator: null, mean: 50 });
    expect(kindsOf(rows)).toEqual(["kernel", "memcpy"]);
    expect(totalOf(rows)).toBe(350);
    expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  });
});

describe("memory", () => {
  it("has an axis in the unit of its largest value", () => {
    expect(unitFor(3 * 1024 ** 3)).toEqual({ name: "GiB", bytes: 1024 ** 3 });
    expect(unitFor(1023)).toEqual({ name: "B", bytes: 1 });
    expect(unitFor(0)).toEqual({ name: "B", bytes: 1 });
  });

  it("holds its value until the next moment", () => {
    expect([-1, 0, 499, 500, 1e9].map((time) => momentBefore([0, 500, 900], time))).toEqual([-1, 0, 0, 1, 2]);
  });
});

describe("collectives across ranks", () => {
  const across = ANSWER.collectives as NonNullable<ProfileAnswer["collectives"]>;

  it("are summed over the operations that a rank takes part in", () => {
    expect(rankRows(across, across.operations)).toEqual([
      { rank: 0, transfer: 110, wait: 35, late: 0, offset: 0 },
      { rank: 1, transfer: 100, wait: 0, late: 30, offset: -4 },
    ]);
    expect(rankRows({ ...across, clock_offset_us: null }, across.operations.slice(1))[1]).toEqual({
      rank: 1,
      transfer: null,
      wait: null,
      late: null,
      offset: null,
    });
  });

  it("name the latest rank, or nobody", () => {
    expect(plain(lateFinding(rankRows(across, across.operations)) ?? "")).toBe(
      "Rank 1 begins latest: 30.0 µs after the first in all; ranks wait up to 35.0 µs",
    );
    expect(lateFinding([{ rank: 0, transfer: 1, wait: 0, late: 0, offset: 0 }])).toBeNull();
  });

  it("of one rank say what is exposed, if that is known", () => {
    expect(plain(ownFinding(PROFILE.collectives))).toBe("Collectives of this rank took 100 µs, 40.0 % of it exposed");
    expect(plain(ownFinding(PROFILE.collectives.map((row) => ({ ...row, exposed_us: null }))))).toBe(
      "Collectives of this rank took 100 µs",
    );
  });
});
