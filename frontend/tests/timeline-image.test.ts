import { describe, expect, it } from "vitest";
import { timelineImage } from "../src/panels/profile/timeline/image";
import { layoutLanes } from "../src/panels/profile/timeline/layout";
import { SceneDrawer } from "../src/panels/profile/timeline/scene";
import { TimelineState } from "../src/panels/profile/timeline/state";
import { SvgSurface } from "../src/panels/profile/timeline/surface";
import { CHART_COLORS } from "../src/theme/palette";
import { type Given, timeline } from "./timeline-data";

const LOOK = { colors: CHART_COLORS.light, paints: ["#2971e3", "#27a25e"] };
const KIND = { key: "operator", title: "Operator", color: "cpu_op", meaning: "", paint: "#2971e3" };

function draw(events: readonly Given[], change: { selected?: number; isHit?: Uint8Array } = {}): Element {
  const of = timeline(events);
  const layout = layoutLanes(of.lanes, new Set());
  const surface = new SvgSurface();
  const scene = {
    window: { from: 0, to: 1000 },
    selected: change.selected ?? null,
    hovered: null,
    isHit: change.isHit ?? null,
  };
  new SceneDrawer(of, (text) => 6 * text.length).lanes(surface, 0, 500, layout, 0, layout.height, scene, LOOK);
  const box = document.createElement("div");
  box.innerHTML = surface.toText(500, layout.height);
  return box;
}

const rects = (of: Element, color: string): string[][] =>
  [...of.querySelectorAll(`rect[fill="${color}"]`)].map((rect) =>
    ["x", "y", "width", "fill-opacity"].map((name) => rect.getAttribute(name) ?? ""),
  );

describe("the drawn timeline", () => {
  it("has a bar per event where there is room, and one for what touches", () => {
    const drawn = draw([
      { start: 0, duration: 200 },
      { start: 400, duration: 1 },
      { start: 402, duration: 1 },
      { start: 404, duration: 1 },
      { row: 1, start: 100, duration: 50, kind: 1 },
    ]);
    expect(rects(drawn, "#2971e3")).toEqual([
      ["0", "22", "99", ""],
      ["200", "22", "3", ""],
    ]);
    expect(rects(drawn, "#27a25e")).toEqual([["50", "38", "24", ""]]);
  });

  it("dims what the search does not look for", () => {
    const drawn = draw(
      [
        { start: 0, duration: 200, name: "a" },
        { start: 300, duration: 200, name: "b" },
      ],
      { isHit: Uint8Array.of(0, 1) },
    );
    expect(rects(drawn, "#2971e3").map((rect) => rect[3])).toEqual(["0.25", ""]);
    expect([...drawn.querySelectorAll("text")].map((text) => text.textContent)).toEqual(["b"]);
  });

  it("writes as much of a name as fits, and never as markup", () => {
    const drawn = draw([
      { start: 0, duration: 400, name: '<b>x</b>&"\u0000' },
      { start: 500, duration: 100, name: "abcdefghijklmnop" },
    ]);
    expect(drawn.querySelector("b")).toBeNull();
    expect([...drawn.querySelectorAll("text")].map((text) => text.textContent)).toEqual(['<b>x</b>&"\uFFFD', "abcde…"]);
  });

  it("frames the selected event and leads to its launch", () => {
    const events = [
      { start: 100, duration: 50 },
      { lane: 1, start: 300, duration: 50, launch: 0 },
    ];
    const dashed = (of: Element): string | null | undefined =>
      of.querySelector("polyline[stroke-dasharray]")?.getAttribute("points");
    const fromWork = draw(events, { selected: 1 });
    expect(dashed(fromWork)).toBe("50,37 50,51.5 150,51.5 150,66");
    expect(fromWork.querySelector("rect[fill=none]")?.getAttribute("x")).toBe("150");
    expect(dashed(draw(events, { selected: 0 }))).toBe("50,37 50,51.5 150,51.5 150,66");
    expect(dashed(draw(events))).toBeUndefined();
  });
});

describe("the image", () => {
  it("stands alone: title, legend, ruler and titles of the lanes", async () => {
    const state = new TimelineState(timeline([{ start: 0, duration: 1000, name: "aten::mm" }]));
    const image = await timelineImage("svg", {
      state,
      title: "Timeline: <step> 7",
      width: 600,
      kinds: [KIND],
      look: LOOK,
    });
    expect(image.type).toBe("image/svg+xml");
    const box = document.createElement("div");
    box.innerHTML = await image.text();
    const texts = [...box.querySelectorAll("text")].map((text) => (text.textContent ?? "").replace(/\u00a0/g, " "));
    expect(texts).toEqual(expect.arrayContaining(["Timeline: <step> 7", "Operator", "200 ns", "aten::mm", "thread 0"]));
    expect(box.querySelector("svg")?.getAttribute("height")).toBe(String(64 + 24 + 44 + 12));
  });
});
