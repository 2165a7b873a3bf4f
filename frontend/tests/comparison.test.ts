import { describe, expect, it } from "vitest";
import { changeRange, changeText, comparisonOption, describeRow } from "../src/panels/profile/comparison-chart";
import {
  certaintyText,
  comparedRows,
  intervalText,
  operatorsFinding,
  tookTime,
} from "../src/panels/profile/comparison-rows";
import { CHART_COLORS } from "../src/theme/palette";
import { COMPARISON, compared, unjudged } from "./comparison-data";

const plain = (text: string): string => text.replace(/\u00a0/g, " ");
const PARTS = [{ key: "kernel", title: "Kernels", color: "kernel", meaning: "On the device.", paint: "#0a0b0c" }];
const ROWS = comparedRows(COMPARISON, PARTS, "#777777");

describe("the rows of a comparison", () => {
  it("are the step time and the categories, in the server's words and order", () => {
    expect(ROWS.map(({ key, title, paint, difference_us }) => [key, title, paint, difference_us])).toEqual([
      ["step_time", "Step time", "#777777", 500],
      ["kernel", "Kernels", "#0a0b0c", 10],
      ["data_loading", "Data loading", "#777777", 490],
      ["other", "Other", "#777777", 0],
    ]);
    expect(ROWS.filter(tookTime).map(({ key }) => key)).toEqual(["step_time", "kernel", "data_loading"]);
    expect(comparedRows({ ...COMPARISON, step_time_us: null, categories: [] }, PARTS, "#777777")).toEqual([]);
  });

  it("say how certain a change is", () => {
    const words = [
      compared(1, 2, [0.5, 1.5]),
      compared(1, 2, [-0.5, 2.5]),
      compared(1, 2, [0, 2]),
      compared(1, 2, null),
    ];
    expect(words.map(certaintyText)).toEqual(["clear", "not distinguishable", "not distinguishable", "no interval"]);
    expect(words.map(intervalText).map(plain)).toEqual([
      "+500 ns to +1.50 µs",
      "−500 ns to +2.50 µs",
      "0 s to +2.00 µs",
      "one step: no interval",
    ]);
  });

  it("name the operator that changed most among those that changed for certain", () => {
    const operators = COMPARISON.operators ?? [];
    expect(plain(operatorsFinding(operators))).toBe(
      "2 operators changed clearly; aten::<i>add</i> changed most: −70.0 µs host self time per step",
    );
    expect(operatorsFinding(operators.slice(2))).toBe("No operator's change is distinguishable from chance");
    expect(plain(operatorsFinding(unjudged(COMPARISON).operators ?? []))).toBe(
      "aten::<i>add</i> changed most: −70.0 µs host self time per step (one step: no interval)",
    );
    expect(operatorsFinding([])).toBe("Neither window recorded an operator");
  });
});

describe("the chart of a comparison", () => {
  it("reaches over all intervals and zero", () => {
    const [low, high] = changeRange(ROWS);
    expect([low, high]).toEqual([-72, 632]);
    expect(changeRange([])).toEqual([0, 1]);
    const falling = ROWS.slice(0, 1).map((row) => ({ ...row, ...compared(100, 0, [-110, -90]) }));
    expect(changeRange(falling)).toEqual([-115.5, 0]);
  });

  it("writes the change beside its bar only where it can be told from chance", () => {
    expect(ROWS.map(changeText).map(plain)).toEqual([
      "+500 µs",
      "not distinguishable",
      "+490 µs",
      "not distinguishable",
    ]);
    const [alone] = comparedRows(unjudged(COMPARISON), PARTS, "#777777");
    expect(alone && plain(changeText(alone))).toBe("+500 µs, no interval");
    expect(alone && plain(describeRow(alone))).toBe(
      "Step time: baseline 1.00 ms, this window 1.50 ms, difference +500 µs, 95 % interval one step: no interval",
    );
    expect(ROWS[1] && plain(describeRow(ROWS[1]))).toBe(
      "Kernels: baseline 600 µs, this window 610 µs, difference +10.0 µs, 95 % interval −40.0 µs to +60.0 µs, not distinguishable",
    );
  });

  it("draws a bar from zero, the zero line, the interval with its caps, and mutes what is not clear", () => {
    const colors = CHART_COLORS.light;
    const { series } = comparisonOption(ROWS, colors);
    const [only] = Array.isArray(series) ? series : [series];
    const draw = (only as { renderItem: unknown }).renderItem as (
      params: unknown,
      api: unknown,
    ) => { children: { type: string; shape?: object; style: Record<string, unknown> }[] };
    const api = { coord: ([x = 0, y = 0]: number[]) => [200 + x / 10, 20 + 40 * y], size: () => [0, 40] };
    const parts = (dataIndex: number) => draw({ dataIndex, coordSys: { x: 100, width: 200 } }, api).children;
    const [bar, zero, interval, ...rest] = parts(0);
    expect(bar).toMatchObject({ shape: { x: 200, width: 50 }, style: { fill: "#777777", opacity: 1 } });
    expect(zero?.shape).toEqual({ x1: 200, y1: 0, x2: 200, y2: 40 });
    expect(interval?.shape).toEqual({ x1: 240, y1: 20, x2: 260, y2: 20 });
    expect(rest.map(({ type }) => type)).toEqual(["line", "line", "text"]);
    expect(rest[2]?.style).toMatchObject({ x: 310, text: "+500\u00a0µs", fill: colors.text });
    const muted = parts(1);
    expect(muted[0]?.style).toMatchObject({ fill: "#0a0b0c", opacity: 0.3 });
    expect(muted[5]?.style).toMatchObject({ text: "not distinguishable", fill: colors.muted });
    const alone = comparisonOption(comparedRows(unjudged(COMPARISON), PARTS, "#777777"), colors);
    const [other] = Array.isArray(alone.series) ? alone.series : [alone.series];
    const drawAlone = (other as { renderItem: unknown }).renderItem as typeof draw;
    expect(drawAlone({ dataIndex: 0, coordSys: { x: 100, width: 200 } }, api).children.map(({ type }) => type)).toEqual(
      ["rect", "line", "text"],
    );
  });
});
