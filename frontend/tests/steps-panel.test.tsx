import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProfileInfo } from "../src/api/profile-types";
import type { RunInfo, RunsAnswer, StepsAnswer, WorstStep } from "../src/api/types";
import { type Server, card, freshPage, start, text } from "./page";

const ATTEMPT = "20261130T214150.123456Z";

const info = (window: number, first: number, last: number): ProfileInfo => ({
  attempt: ATTEMPT,
  window,
  loop: "train",
  recorded_unix_s: 0,
  steps: last - first + 1,
  first_step: first,
  last_step: last,
});

const run = (name: string, profiles: ProfileInfo[]): RunInfo => ({
  run: name,
  group: name,
  rank: 0,
  world_size: 1,
  last_update_unix_s: 1,
  profiles,
  loops: [
    {
      loop: "train",
      steps: 100,
      first_step: 0,
      last_step: 99,
      attempts: [{ attempt: ATTEMPT, started_unix_s: 0, steps: 100, first_step: 0, last_step: 99 }],
    },
  ],
});

const RUNS: RunsAnswer = {
  stages: [],
  segments: [],
  runs: [run("a", [info(0, 10, 14), info(1, 90, 90)]), run("<b>b</b>", [info(0, 20, 21)])],
};

const worst = (step: number): WorstStep => ({
  step,
  global_step: step,
  batch: step,
  epoch: 0,
  attempt: ATTEMPT,
  unix_s: 1000,
  wall_s: 0.4,
  times_median: 4,
  excess_stage: null,
  excess_s: null,
  stages_s: {},
});

const times = Array.from({ length: 100 }, () => 0.1);
const numbers = times.map((_, index) => index);

const STEPS: StepsAnswer = {
  run: "a",
  loop: "train",
  attempt: null,
  first_step: 0,
  last_step: 99,
  from: 0,
  to: 99,
  steps: 100,
  steps_total: 100,
  stages: [],
  bins: {
    count: times.map(() => 1),
    step_first: numbers,
    step_last: numbers,
    unix_s: numbers.map((number) => 1000 + number / 10),
    time_s: { mean: times, min: times, p5: times, median: times, p95: times, max: times },
    stages_s: {},
  },
  distribution: { step: null, stages: [] },
  worst: [worst(12), worst(50)],
  segments: [],
  segments_total: 0,
};

async function openSteps(rest = ""): Promise<void> {
  await start(`#p.tb_aiperf.panel=steps${rest}`);
  await vi.waitFor(() => expect(card("Slowest steps")).toBeDefined());
}

let server: Server;

beforeEach(() => {
  server = freshPage({ runs: { body: RUNS }, steps: { body: STEPS } });
  // No chart comes near the screen: they need a canvas.
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      observe(): void {}
      disconnect(): void {}
    },
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the profiled steps in the panel Steps", () => {
  it("are listed run by run, and each opens its profile", async () => {
    await openSteps();
    expect(text(".profiled-list li")).toEqual(["Profiled steps of <b>b</b>:20–21", "Profiled steps of a:10–1490"]);
    expect(document.querySelector("main b")).toBeNull();
    const buttons = [...document.querySelectorAll<HTMLButtonElement>(".profiled-list button")];
    expect(buttons.map((button) => button.getAttribute("aria-label"))).toEqual([
      "Open the profile of steps 20–21 of <b>b</b>",
      "Open the profile of steps 10–14 of a",
      "Open the profile of step 90 of a",
    ]);
    buttons[2]?.click();
    await vi.waitFor(() => expect(text(".tab[aria-current=page]")).toEqual(["Profile"]));
    expect(decodeURIComponent(window.location.hash)).toContain(`p.tb_aiperf.profile=1@${ATTEMPT}@a`);
    expect(window.location.hash).not.toContain("pstep");
  });

  it("are listed where they lie in the window only", async () => {
    await openSteps("&p.tb_aiperf.runs=a&p.tb_aiperf.from=14&p.tb_aiperf.to=89");
    expect(text(".profiled-list li")).toEqual(["Profiled steps:10–14"]);
  });

  it("are the last twelve of many", async () => {
    const many = Array.from({ length: 15 }, (_, index) => info(index, 5 * index, 5 * index + 1));
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", many)] } };
    await openSteps();
    expect(text(".profiled-list button")).toHaveLength(12);
    expect(text(".profiled-list button")[0]).toBe("15–16");
    expect(text(".profiled-list .hint")).toEqual(["3 earlier windows; zoom in to list them,"]);
  });

  it("are marked among the slowest steps, with a way to the very step", async () => {
    await openSteps("&p.tb_aiperf.runs=a");
    const rows = [...(card("Slowest steps")?.querySelectorAll("tbody tr") ?? [])];
    expect(rows.map((row) => row.querySelectorAll("button").length)).toEqual([2, 1]);
    const open = rows[0]?.querySelectorAll<HTMLButtonElement>("button")[1];
    expect([open?.textContent, open?.getAttribute("aria-label")]).toEqual(["10–14", "Open the profile of step 12"]);
    open?.click();
    await vi.waitFor(() => expect(text(".tab[aria-current=page]")).toEqual(["Profile"]));
    expect(window.location.hash).toContain("p.tb_aiperf.pstep=2");
  });

  it("leave the panel as it is where there are none", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", [])] } };
    await openSteps();
    expect(document.querySelector(".profiled-list")).toBeNull();
    expect(text(".data-table th")).not.toContain("Profiled in");
    expect(text(".chart-note").join()).not.toContain("profiled");
  });
});
