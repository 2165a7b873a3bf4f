import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OverviewAnswer, RunsAnswer } from "../src/api/types";
import { type Server, freshPage, start, text } from "./page";

const ATTEMPT = { attempt: "20261130T214150.123456Z", started_unix_s: 0, steps: 4, first_step: 0, last_step: 3 };

const RUNS: RunsAnswer = {
  version: "0.1.0",
  stages: [
    { key: "data_wait", title: "Data wait", color: "data_wait", meaning: "Waiting for the next batch." },
    { key: "forward", title: "Forward", color: "forward", meaning: "The step function." },
  ],
  segments: [{ key: "startup", title: "Start-up", meaning: "Before the first step." }],
  definitions: { "step_time.p95": "The server's own words for p95." },
  runs: [
    {
      run: "<b>bold</b>",
      group: "<b>bold</b>",
      rank: 0,
      world_size: 1,
      last_update_unix_s: 1,
      loops: [{ loop: "train", steps: 4, first_step: 0, last_step: 3, attempts: [ATTEMPT] }],
    },
  ],
  skipped: [],
};

const stage = (key: string, share: number | null, mean: number | null) => ({
  key,
  share,
  total_s: mean === null ? null : 4 * mean,
  n: 4,
  nonzero: 4,
  mean_s: mean,
  median_s: mean,
  p95_s: mean,
  p99_s: null,
  max_s: mean,
});

const OVERVIEW: OverviewAnswer = {
  run: "<b>bold</b>",
  loop: "train",
  attempt: null,
  attempts: [ATTEMPT],
  rank: 0,
  world_size: 1,
  steps: 4,
  first_step: 0,
  last_step: 3,
  superseded_steps: 2,
  damaged_chunks: 1,
  damage: ["Chunk 3 is damaged."],
  notes: [],
  headline: "Data wait takes 75 % of the step time",
  step_time_s: { n: 4, mean: 0.08, median: 0.08, p5: 0.08, p95: 0.0888, p99: null, min: 0.08, max: 0.1 },
  steps_per_s: 12.5,
  stages: [stage("data_wait", 0.75, 0.06), stage("forward", 0.25, 0.02)],
  wall_s: { steps: 0.32, segments: 0.08, total: 0.4 },
  segments: [{ key: "startup", count: 1, total_s: 0.08, stages_s: { forward: 0.08 } }],
  environment: null,
  resources: null,
};

let server: Server;

beforeEach(() => {
  server = freshPage({
    runs: { body: RUNS },
    overview: { body: OVERVIEW },
    steps: { status: 400, body: { error: "No steps." } },
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the page", () => {
  it("names itself and its language", async () => {
    await start();
    expect(document.title).toBe("AI performance");
    expect(document.documentElement.lang).toBe("en");
    expect(text("h1")).toEqual(["AI performance"]);
  });

  it("says how to record data when there is none", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [], skipped: [{ run: "old", reason: "Too old." }] } };
    await start();
    await vi.waitFor(() => expect(text("pre")[0]).toContain("trainer = L.Trainer(callbacks=[PerfMonitor()])"));
    expect(text(".state-empty li")).toEqual(["old: Too old."]);
  });

  it("shows the server's words when it fails, and tries again", async () => {
    server.replies["runs"] = { status: 400, body: { error: "The index is damaged." } };
    await start();
    await vi.waitFor(() => expect(text("[role=alert]")[0]).toContain("The index is damaged."));
    server.replies["runs"] = { body: RUNS };
    document.querySelector<HTMLButtonElement>("[role=alert] button")?.click();
    await vi.waitFor(() => expect(text("h3")).toContain("Data wait takes 75 % of the step time"));
  });

  it("shows the overview: figures, the stage table, notices, and what is missing", async () => {
    await start();
    await vi.waitFor(() => expect(text("h3")).toContain("Data wait takes 75 % of the step time"));
    expect(text(".figures dd")).toEqual(["80.0 ms", "88.8 ms", "not measured", "100 ms", "12.5 steps/s", "4"]);
    expect(text(".figures div")[1]).toContain("p95");
    expect(document.querySelectorAll(".figures div")[1]?.getAttribute("title")).toContain("The server's own words");
    const [firstRow] = text(".data-table tbody tr");
    expect(firstRow).toBe(" Data wait75.0 %60.0 ms60.0 ms60.0 msnot measured60.0 ms240 ms4 of 4");
    expect(text(".notice")[0]).toContain("1 damaged chunk of this run could not be read");
    expect(text(".notice")[1]).toContain("2 steps of earlier attempts ran again");
    expect(text("h3")).toContain("400 ms in all, 20.0 % of it between steps");
    expect(text("[role=alert]")[0]).toContain("No steps.");
  });

  it("shows names of runs as text and asks for them encoded", async () => {
    await start();
    await vi.waitFor(() => expect(text("h2.run-name")[0]).toContain("<b>bold</b>"));
    expect(document.querySelector("b")).toBeNull();
    expect(server.requests.find((url) => url.includes("overview"))).toContain("run=%3Cb%3Ebold%3C%2Fb%3E&loop=train");
  });

  it("opens on the panel of the address and writes changes back", async () => {
    await start("#p.tb_aiperf.panel=steps");
    await vi.waitFor(() => expect(text(".tab[aria-current=page]")).toEqual(["Steps"]));
    [...document.querySelectorAll<HTMLButtonElement>(".segmented button")][2]?.click();
    await vi.waitFor(() => expect(window.location.hash).toBe("#p.tb_aiperf.panel=steps&p.tb_aiperf.x=wall"));
  });

  it("keeps a choice of no runs", async () => {
    await start("#p.tb_aiperf.runs=");
    await vi.waitFor(() => expect(text("main")[0]).toContain("Select a run"));
    expect(server.requests.some((url) => url.includes("overview"))).toBe(false);
  });
});
