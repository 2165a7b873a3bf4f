import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PartInfo, ProfileInfo } from "../src/api/profile-types";
import type { RunInfo, RunsAnswer } from "../src/api/types";
import { COMPARISON, compared, unjudged } from "./comparison-data";
import { type Server, card, freshPage, plain, start, text } from "./page";
import { ANSWER } from "./profile-data";
import { timelineAnswer } from "./timeline-data";

const INFO: ProfileInfo = {
  attempt: "20261130T214150.123456Z",
  window: 0,
  loop: "train",
  recorded_unix_s: 0,
  steps: 3,
  first_step: 5,
  last_step: 7,
};
const NEWER: ProfileInfo = { ...INFO, window: 1, first_step: 100, last_step: 102 };

const run = (name: string, change: Partial<RunInfo> = {}): RunInfo => ({
  run: name,
  group: name,
  rank: 0,
  world_size: 2,
  last_update_unix_s: 1,
  profiles: [INFO, NEWER],
  loops: [],
  ...change,
});

const part = (key: string, title: string): PartInfo => ({ key, title, color: key, meaning: `Meaning of ${title}.` });

const RUNS: RunsAnswer = {
  stages: [],
  segments: [],
  categories: [part("kernel", "Kernels"), part("data_loading", "Data loading"), part("other", "Other")],
  idle_causes: [part("input", "Input"), part("synchronisation", "Synchronisation"), part("launch", "Launch")],
  event_kinds: [part("operator", "Operator"), part("kernel", "Kernel")],
  definitions: {
    "profile.operator.host_self": "The server's words for host self.",
    "profile.comparison": "The server's words for a difference.",
    "profile.comparison.interval": "The server's words for an interval.",
  },
  runs: [run("a"), run("a/rank_1", { group: "a", rank: 1 })],
};

const TIMELINE = timelineAnswer(
  [
    { start: 0, duration: 900_000, name: "<b>outer</b>" },
    { row: 1, start: 100_000, duration: 10_000, name: "aten::mm" },
    { lane: 1, start: 150_000, duration: 50_000, name: "gemm", kind: 1, launch: 1 },
  ],
  {
    step_duration_ns: 1_000_000,
    index: 1,
    step: 6,
    left_out: 3,
    left_out_ns: 310,
    lanes: [
      { kind: "host", title: "thread 1", rows: 2 },
      { kind: "device", title: "GPU 0 stream 7", rows: 1 },
    ],
  },
);

let server: Server;

const finding = (kind: string): string => plain(card(kind)?.querySelector("h2")?.textContent);
const button = (inside: Element | undefined, name: string): HTMLButtonElement => {
  const found = [...(inside?.querySelectorAll("button") ?? [])].find((each) => plain(each.textContent).trim() === name);
  if (!found) throw new Error(`no button ${name}`);
  return found;
};
const firstCells = (kind: string): string[] =>
  [...(card(kind)?.querySelectorAll(".rows-table tbody tr:not(.row-detail) > th") ?? [])].map((cell) =>
    plain(cell.textContent),
  );

const open = async (): Promise<void> => {
  await start("#p.tb_aiperf.panel=profile");
  await vi.waitFor(() => expect(finding("Findings")).toBe(ANSWER.headline), { timeout: 5000 });
};

beforeEach(() => {
  server = freshPage({
    runs: { body: RUNS },
    profile: { body: ANSWER },
    "profile-comparison": { body: COMPARISON },
    timeline: { body: TIMELINE },
  });
  // Only the timeline comes near the screen: the other charts need a canvas.
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      private readonly callback: (entries: { isIntersecting: boolean }[]) => void;
      constructor(callback: (entries: { isIntersecting: boolean }[]) => void) {
        this.callback = callback;
      }
      observe(element: Element): void {
        if (element.id === "profile-timeline") this.callback([{ isIntersecting: true }]);
      }
      disconnect(): void {}
    },
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the choice of the window", () => {
  it("begins with the newest and is kept in the address", async () => {
    await open();
    expect(server.requests.find((url) => url.includes("/profile?"))).toContain(
      "run=a&attempt=20261130T214150.123456Z&window=1",
    );
    const [, windows, ranks] = document.querySelectorAll<HTMLSelectElement>(".window-choice select");
    expect([...(windows?.options ?? [])].map((option) => plain(option.text).split(",")[0])).toEqual([
      "steps 100–102",
      "steps 5–7",
    ]);
    expect([...(ranks?.options ?? [])].map((option) => option.text)).toEqual(["0", "1"]);
    if (!windows || !ranks) return;
    windows.value = windows.options[1]?.value ?? "";
    windows.dispatchEvent(new Event("change", { bubbles: true }));
    await vi.waitFor(() =>
      expect(decodeURIComponent(window.location.hash)).toContain("p.tb_aiperf.profile=0@20261130T214150.123456Z@a"),
    );
    ranks.value = "a/rank_1";
    ranks.dispatchEvent(new Event("change", { bubbles: true }));
    await vi.waitFor(() => expect(decodeURIComponent(window.location.hash)).toContain("Z@a/rank_1"));
    await vi.waitFor(() => expect(server.requests.some((url) => url.includes("run=a%2Frank_1"))).toBe(true));
  });

  it("says how to get a profile where no selected run has one", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", { profiles: [] })] } };
    await start("#p.tb_aiperf.panel=profile");
    await vi.waitFor(() => expect(text("pre")).toHaveLength(3), { timeout: 5000 });
    expect(text("pre")[0]).toContain('StepProfiler(steps="100:105")');
    expect(text("pre").slice(1)).toEqual(["aiperf profile RUN_DIR", "aiperf analyze TRACE --logdir DIR"]);
    expect(text(".state-empty h2")).toEqual(["The selected run holds no profile"]);
  });

  it("offers another run that has one", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", { profiles: [] }), run("b")] } };
    await start("#p.tb_aiperf.panel=profile&p.tb_aiperf.runs=a");
    await vi.waitFor(() => expect(text(".state-empty p")[0]).toBe("Another run has one: Show b"), { timeout: 5000 });
    document.querySelector<HTMLButtonElement>(".state-empty button")?.click();
    await vi.waitFor(() => expect(finding("Findings")).toBe(ANSWER.headline));
    expect(server.requests.find((url) => url.includes("/profile?"))).toContain("run=b&");
  });

  it("shows the server's words when it fails", async () => {
    server.replies["profile"] = { status: 404, body: { error: "The profile is damaged." } };
    await start("#p.tb_aiperf.panel=profile");
    await vi.waitFor(() => expect(text("[role=alert]")[0]).toContain("The profile is damaged."), { timeout: 5000 });
  });
});

describe("the cards of a profile", () => {
  it("each state their finding with figures", async () => {
    await open();
    expect(text(".card-kind")).toEqual([
      ...["Findings", "Step breakdown", "Comparison", "Operators compared", "Device timeline", "Operators", "Kernels"],
      ...["Memory", "Collectives", "Collectives across ranks", "Timeline"],
    ]);
    expect(finding("Step breakdown")).toBe(
      "Data loading 60.0 %, Kernels 40.0 % of the step time (median 1.50 ms); the device idles 60.0 %",
    );
    expect(finding("Device timeline")).toBe(
      "The device computes 60.0 %, spends 10.0 % on exposed communication, and idles 30.0 % of 1.00 ms",
    );
    expect(finding("Operators")).toContain("aten::mm takes most device time: 300 µs (75.0 %)");
    expect(finding("Memory")).toBe("cuda:0 peaks at 3.00 GiB allocated, of 4.00 GiB reserved, after 500 µs");
    expect(finding("Collectives across ranks")).toContain("Rank 1 begins latest: 30.0 µs");
  });

  it("list findings, warnings and the trace file, all as text", async () => {
    await open();
    expect(
      [...(card("Findings")?.querySelectorAll(".figures dd") ?? [])].map((each) => plain(each.textContent)),
    ).toEqual([...["1.50 ms", "1.50 ms", "1.00 ms", "2.00 ms", "2", "12.0 µs", "1.60 × (1.50 × to 1.80 ×)"]]);
    expect(text(".finding-cause").map((cause) => cause.trim())).toEqual(["Data loading", "Synchronisation"]);
    expect(text(".finding-head")[0]).toContain("60.0 % of the step time");
    expect(text(".finding-head")[0]).toContain("speed-up 2.50 × (1.20 × to 3.00 ×)");
    expect(text(".notice summary")[0]).toContain("3 remarks");
    expect(text(".trace-file code")).toEqual(["/runs/a/<b>trace</b>.json"]);
    expect(document.querySelectorAll("main :is(b, i, u)")).toHaveLength(0);
    const link = document.querySelector<HTMLAnchorElement>(".trace-file a");
    expect([link?.href, link?.target, link?.rel]).toEqual([
      "https://ui.perfetto.dev/",
      "_blank",
      "noreferrer noopener",
    ]);
    expect(server.requests.some((url) => url.includes("perfetto"))).toBe(false);
    expect(text(".card-scope")[0]).toBe(
      "GPU X · rank 0 of 2 · 3 steps: 5–7 · 1 partial step left out of these figures",
    );
  });

  it("leave out what the trace does not hold", async () => {
    const profile = {
      ...ANSWER.profile,
      device_timeline_us: null,
      kernels: [],
      device_work: [],
      memory: null,
      collectives: [],
      operators: [],
      unattributed_device_us: null,
      findings: [],
      warnings: [],
      profiler_overhead_us: null,
    };
    server.replies["profile"] = { body: { ...ANSWER, collectives: null, profile } };
    await open();
    expect(text(".card-kind")).toEqual([
      ...["Findings", "Step breakdown", "Comparison", "Operators compared", "Operators", "Memory", "Timeline"],
    ]);
    expect(finding("Memory")).toBe("Memory was not recorded");
    expect(finding("Operators")).toBe("No operators were recorded");
    expect(text(".state")[0]).toContain("Nothing stands out");
  });
});

describe("the comparison with another window", () => {
  const asked = (): string[] => server.requests.filter((url) => url.includes("/profile-comparison?"));
  const baselines = (): HTMLSelectElement => {
    const select = card("Comparison")?.querySelector("select");
    if (!select) throw new Error("no choice of the baseline");
    return select;
  };
  const compare = async (): Promise<void> => {
    await open();
    await vi.waitFor(() => expect(finding("Comparison")).toBe(COMPARISON.headline));
  };
  const comparedCells = (): string[][] =>
    [...(card("Operators compared")?.querySelectorAll("tbody tr") ?? [])].map((row) =>
      [...row.querySelectorAll("th, td")].map((cell) => plain(cell.textContent)),
    );

  it("begins with the window before, and says what it compares", async () => {
    await compare();
    const window = "attempt=20261130T214150.123456Z&window=";
    expect(asked().map((url) => url.split("?")[1])).toEqual([
      `run=a&${window}0&other_run=a&other_${window.replace("&", "&other_")}1`,
    ]);
    expect(plain(card("Comparison")?.querySelector(".card-scope")?.textContent)).toBe(
      "Baseline: steps 5–7 (n = 2) · this window: steps 100–102 (n = 3) · a",
    );
    expect([...(card("Comparison")?.querySelectorAll("dd") ?? [])].map((each) => each.textContent)).toEqual([
      ...["The server's words for a difference.", "The server's words for an interval."],
      ...["Meaning of Kernels.", "Meaning of Data loading.", "Meaning of Other."],
    ]);
  });

  it("keeps the chosen baseline in the address, and swaps the two", async () => {
    await start("#p.tb_aiperf.panel=profile&p.tb_aiperf.runs=a,a%2Frank_1");
    await vi.waitFor(() => expect(finding("Comparison")).toBe(COMPARISON.headline), { timeout: 5000 });
    expect([...baselines().querySelectorAll("optgroup")].map((group) => group.label)).toEqual(["a", "a/rank_1"]);
    expect([...baselines().options].map((option) => plain(option.text).split(",")[0])).toEqual([
      ...["steps 5–7", "steps 100–102", "steps 5–7"],
    ]);
    baselines().value = baselines().options[1]?.value ?? "";
    baselines().dispatchEvent(new Event("change", { bubbles: true }));
    const address = (): string => decodeURIComponent(window.location.hash);
    await vi.waitFor(() => expect(address()).toContain("against=1@20261130T214150.123456Z@a/rank_1"));
    await vi.waitFor(() => expect(asked().some((url) => url.includes("?run=a%2Frank_1&"))).toBe(true));
    button(card("Comparison"), "Swap").click();
    await vi.waitFor(() => expect(address()).toContain("profile=1@20261130T214150.123456Z@a/rank_1"));
    expect(address()).toContain("against=1@20261130T214150.123456Z@a");
    await vi.waitFor(() => expect(asked().some((url) => url.includes("other_run=a%2Frank_1"))).toBe(true));
  });

  it("has a table of what took time", async () => {
    await compare();
    button(card("Comparison"), "Table").click();
    await vi.waitFor(() => expect(card("Comparison")?.querySelectorAll("tbody tr")).toHaveLength(3));
    expect(
      [...(card("Comparison")?.querySelectorAll("tbody tr") ?? [])].map((row) =>
        [...row.children].map((cell) => plain(cell.textContent).trim()).join(" | "),
      ),
    ).toEqual([
      "Step time | 1.00 ms | 1.50 ms | +500 µs | +400 µs to +600 µs | clear",
      "Kernels | 600 µs | 610 µs | +10.0 µs | −40.0 µs to +60.0 µs | not distinguishable",
      "Data loading | 400 µs | 890 µs | +490 µs | +450 µs to +530 µs | clear",
    ]);
  });

  it("lists operators by the size of their change, filters them, and shows both times", async () => {
    await compare();
    expect(comparedCells().map(([name, , , , change]) => [name, change])).toEqual([
      ["aten::<i>add</i>", "−70.0 µs"],
      ["aten::mm", "+60.0 µs"],
      ["aten::zero_", "+2.00 µs"],
    ]);
    button(card("Operators compared"), "Device").click();
    await vi.waitFor(() =>
      expect(comparedCells()[0]?.slice(1)).toEqual([
        ...["1 → 2.50", "50.0 µs", "0 s", "−50.0 µs", "−60.0 µs to −40.0 µs", "clear"],
      ]),
    );
    expect(card("Operators compared")?.querySelector("[aria-sort=descending]")?.textContent).toContain("Difference");
    expect(comparedCells()[1]?.[6]).toBe("not distinguishable");
    card("Operators compared")?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
    await vi.waitFor(() => expect(comparedCells().map(([name]) => name)).toEqual(["aten::<i>add</i>"]));
    expect(document.querySelectorAll("main i")).toHaveLength(0);
  });

  it("says why there is no interval, and where operators cannot be compared", async () => {
    server.replies["profile-comparison"] = { body: { ...unjudged(COMPARISON), operators: null } };
    await compare();
    const note = plain(card("Comparison")?.querySelector(".chart-note")?.textContent);
    expect(note).toContain("A window of one step tells nothing of the spread between steps, so there is no interval.");
    expect(note).toContain("one of the two traces does not tell them step by step");
    expect(card("Operators compared")).toBeUndefined();
    button(card("Comparison"), "Table").click();
    await vi.waitFor(() => expect(text(".card td")).toContain("one step: no interval"));
  });

  it("shows time only on the host where no device worked", async () => {
    const operators = COMPARISON.operators?.map((row) => ({ ...row, device: compared(0, 0, [0, 0]) })) ?? [];
    server.replies["profile-comparison"] = { body: { ...COMPARISON, operators } };
    await compare();
    expect(card("Operators compared")?.querySelector(".segmented")).toBeNull();
  });

  it("says what is needed where there is no second window", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", { profiles: [INFO] }), run("b")] } };
    await start("#p.tb_aiperf.panel=profile&p.tb_aiperf.runs=a");
    await vi.waitFor(() => expect(finding("Comparison")).toContain("no second window"), { timeout: 5000 });
    expect(card("Comparison")?.textContent).toContain("Another run holds one: select it on the left.");
    expect(asked()).toEqual([]);
  });

  it("shows the server's words when it fails, and still offers other baselines", async () => {
    server.replies["profile-comparison"] = { status: 404, body: { error: "Window 0 is damaged." } };
    await open();
    await vi.waitFor(() => expect(text("[role=alert]")[0]).toContain("Window 0 is damaged."));
    expect(baselines().options).toHaveLength(1);
  });
});

describe("the table of operators", () => {
  it("sorts by a click, filters, and explains its columns", async () => {
    await open();
    expect(firstCells("Operators")).toEqual(["aten::mm", "aten::<i>add</i>"]);
    const heads = [...(card("Operators")?.querySelectorAll("th[scope=col]") ?? [])];
    expect(heads.map((head) => head.getAttribute("aria-sort"))).toEqual([null, null, null, null, "descending", null]);
    const hostSelf = heads[2];
    expect(hostSelf?.getAttribute("title")).toBe("The server's words for host self.");
    hostSelf?.querySelector("button")?.click();
    await vi.waitFor(() => expect(firstCells("Operators")).toEqual(["aten::<i>add</i>", "aten::mm"]));
    expect(plain(card("Operators")?.querySelector("tbody tr")?.textContent)).toBe(
      "aten::<i>add</i>2300 µs75.0 %300 µs75.0 %50.0 µs12.5 %50.0 µs12.5 %",
    );
    const filter = card("Operators")?.querySelector<HTMLInputElement>("input[type=search]");
    if (!filter) throw new Error("no filter");
    filter.value = "MM$";
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.waitFor(() => expect(firstCells("Operators")).toEqual(["aten::mm"]));
    expect(text(".window")).toContain("1 of 2 operators");
    filter.value = "(";
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.waitFor(() =>
      expect(text(".field-error")).toEqual(["Not a valid regular expression; all operators are listed."]),
    );
  });

  it("opens call sites and the tree of modules", async () => {
    await open();
    button(card("Operators"), "Call site").click();
    await vi.waitFor(() => expect(text(".tag")).toEqual(["backward"]));
    card("Operators")?.querySelector<HTMLButtonElement>(".opener-button")?.click();
    await vi.waitFor(() => expect(text(".frames li")).toEqual(["model.py(3): forward", "train.py(9): step"]));
    button(card("Operators"), "Module").click();
    await vi.waitFor(() =>
      expect(firstCells("Operators").map((name) => name.replace(/^[▾▸]/, ""))).toEqual([
        "Net_0",
        "Block_0",
        "Linear_1",
        "Linear_0",
      ]),
    );
    card("Operators")?.querySelectorAll<HTMLButtonElement>(".opener-button")[1]?.click();
    await vi.waitFor(() => expect(firstCells("Operators")).toHaveLength(3));
  });
});

describe("the timeline", () => {
  it("is asked for by step, and says what is left out", async () => {
    await open();
    await vi.waitFor(() => expect(finding("Timeline")).toBe("Step 6 took 1.00 ms: 3 events in 2 lanes"));
    expect(server.requests.find((url) => url.includes("/timeline?"))).toContain("window=0&index=1");
    expect(plain(card("Timeline")?.querySelector(".card-scope")?.textContent)).toBe(
      "3 further events left out, none longer than 310 ns",
    );
    expect(text(".lane-title").map((title) => title.trim())).toEqual(["▾ thread 1", "▾ GPU 0 stream 7"]);
  });

  it("goes to another step, and writes it into the address", async () => {
    await open();
    await vi.waitFor(() => expect(text(".lane-title")).toHaveLength(2));
    button(card("Timeline"), "Next step ›").click();
    await vi.waitFor(() => expect(window.location.hash).toContain("p.tb_aiperf.pstep=2"));
    await vi.waitFor(() => expect(server.requests.some((url) => url.includes("index=2"))).toBe(true));
    expect(button(card("Timeline"), "Next step ›").disabled).toBe(true);
  });

  it("is walked by keys, read out, and leads from device work to its launch", async () => {
    await open();
    await vi.waitFor(() => expect(document.querySelector(".timeline-canvas")).not.toBeNull());
    const canvas = document.querySelector(".timeline-canvas");
    const press = (key: string): unknown => canvas?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("ArrowRight");
    press("ArrowDown");
    await vi.waitFor(() => expect(text(".event-name")).toEqual(["aten::mm"]));
    await vi.waitFor(() =>
      expect(text("[aria-live]")).toContain(
        "Operator aten::mm: 10.0 µs, 1.00 % of the step, at 100.000 µs in thread 1",
      ),
    );
    expect(text(".event-facts dd").join("|")).toContain("gemm (starts 50.0 µs after the call)");
    press("l");
    await vi.waitFor(() => expect(text(".event-name")).toEqual(["gemm"]));
    expect(text(".event-facts dt")).toContain("Launched by");
    press("Escape");
    await vi.waitFor(() => expect(text(".event-name")).toEqual([]));
  });

  it("has a table of the same events, longest first", async () => {
    await open();
    await vi.waitFor(() => expect(text(".lane-title")).toHaveLength(2));
    button(card("Timeline"), "Table").click();
    await vi.waitFor(() =>
      expect([...(card("Timeline")?.querySelectorAll("tbody th") ?? [])].map((cell) => cell.textContent)).toEqual([
        ...["<b>outer</b>", "gemm", "aten::mm"],
      ]),
    );
    card("Timeline")?.querySelectorAll<HTMLButtonElement>("tbody th button")[1]?.click();
    await vi.waitFor(() => expect(text(".event-name")).toEqual(["gemm"]));
  });
});

describe("a run with profiles and no steps", () => {
  it.each(["overview", "steps"])("has a way to Profile in its place in %s", async (panel) => {
    await start(`#p.tb_aiperf.panel=${panel}`);
    await vi.waitFor(() => expect(text(".notice")[0]).toContain("This run holds no recorded steps; see Profile."));
    expect(server.requests.some((url) => /overview|steps/.test(url))).toBe(false);
    expect(text(".run-steps")).toEqual(["2 profiles", "2 profiles"]);
    button(document.querySelector(".notice") ?? undefined, "Open its profile").click();
    await vi.waitFor(() => expect(finding("Findings")).toBe(ANSWER.headline), { timeout: 5000 });
  });

  it("without profiles either just says so", async () => {
    server.replies["runs"] = { body: { ...RUNS, runs: [run("a", { profiles: [] })] } };
    await start("#p.tb_aiperf.panel=overview");
    await vi.waitFor(() => expect(text(".notice")[0]).toContain("This run holds no recorded steps."));
  });
});
