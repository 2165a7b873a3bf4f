import { describe, expect, it } from "vitest";
import { moveCursor, nearestIndex, zoomByKey } from "../src/charts/keys";
import { hoveredIndex, hoveredX, tooltip } from "../src/charts/tooltip";
import { moveWindow, scaleWindow } from "../src/charts/window";
import { histogramShares } from "../src/panels/steps/distribution-options";

describe("keys on a chart", () => {
  it("move the cursor and stop at the ends", () => {
    expect(moveCursor("ArrowRight", false, null, 40)).toBe(0);
    expect(moveCursor("ArrowLeft", false, null, 40)).toBe(39);
    expect(moveCursor("ArrowRight", false, 39, 40)).toBe(39);
    expect(moveCursor("ArrowRight", true, 3, 40)).toBe(7);
    expect(moveCursor("Home", false, 7, 40)).toBe(0);
    expect(moveCursor("End", false, 7, 40)).toBe(39);
    expect(moveCursor("x", false, 7, 40)).toBeNull();
    expect(moveCursor("End", false, null, 0)).toBeNull();
  });

  it("find the cursor again among other items", () => {
    expect(nearestIndex([0, 10, 20], 14)).toBe(1);
    expect(nearestIndex([], 14)).toBeNull();
    expect(nearestIndex([0, 10], null)).toBeNull();
  });

  it("zoom about the cursor and no further than everything", () => {
    const full = { from: 0, to: 100 };
    expect(zoomByKey("+", full, full, 25)).toEqual({ from: 12.5, to: 62.5 });
    expect(zoomByKey("-", { from: 90, to: 100 }, full, 100)).toEqual({ from: 80, to: 100 });
    expect(zoomByKey("-", { from: 10, to: 90 }, full, 50)).toEqual(full);
    expect(zoomByKey("a", full, full, 25)).toBeNull();
  });
});

describe("windows", () => {
  it("keep the place under the pointer and stay inside", () => {
    const full = { from: 0, to: 100 };
    expect(scaleWindow({ from: 20, to: 60 }, full, 30, 0.5)).toEqual({ from: 25, to: 45 });
    expect(moveWindow({ from: 20, to: 60 }, full, 70)).toEqual({ from: 60, to: 100 });
    expect(moveWindow({ from: 20, to: 60 }, full, -70)).toEqual({ from: 0, to: 40 });
  });
});

describe("tooltips", () => {
  it("show names as text, whatever they hold", () => {
    const name = '<img src=x onerror="alert(1)">';
    const node = tooltip(name, [{ color: "#123456", name, value: "<b>1</b>" }], "<i>note</i>");
    expect(node.querySelectorAll("img, b, i")).toHaveLength(0);
    expect(node.querySelector(".tip-title")?.textContent).toBe(name);
    expect(node.querySelector(".tip-value")?.textContent).toBe("<b>1</b>");
  });

  it("find the hovered place in what ECharts hands over", () => {
    expect(hoveredX([{ axisValue: "12.5" }])).toBe(12.5);
    expect(hoveredX([])).toBeNull();
    expect(hoveredX({ axisValue: "a" })).toBeNull();
    expect(hoveredIndex([{ dataIndex: 3 }])).toBe(3);
    expect(hoveredIndex(null)).toBeNull();
  });
});

describe("histograms", () => {
  it("give shares of all steps, those outside included", () => {
    const slices = histogramShares({ edges_s: [0, 1, 2], counts: [6, 2], below: 1, above: 1 });
    expect(slices).toEqual([
      { middle: 0.5, from: 0, to: 1, share: 0.6 },
      { middle: 1.5, from: 1, to: 2, share: 0.2 },
    ]);
  });
});
