import { describe, expect, it } from "vitest";
import type { ThemeName } from "../src/host/theme";
import { contrast, inkOn, linearRgb } from "../src/theme/contrast";
import { CHART_COLORS, PART_COLORS, STAGE_COLORS, partColor, runColor, stageColor } from "../src/theme/palette";

type Triple = [number, number, number];

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. */
const DEFICIENCIES: Record<string, Triple[]> = {
  none: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const times = (rows: Triple[], [x, y, z]: Triple): Triple => rows.map(([a, b, c]) => a * x + b * y + c * z) as Triple;

/** Björn Ottosson's OKLab, in which distances match what eyes see. */
function oklab(linear: Triple): Triple {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    linear.map((value) => Math.min(1, Math.max(0, value))) as Triple,
  ).map(Math.cbrt) as Triple;
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

function distance(a: string, b: string, deficiency: Triple[]): number {
  const [x, y] = [a, b].map((color) => oklab(times(deficiency, linearRgb(color)))) as [Triple, Triple];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

const STACK = Object.keys(STAGE_COLORS).filter((key) => !key.startsWith("user_"));
const NAMED = Object.keys(STAGE_COLORS).filter((key) => key.startsWith("user_"));

describe.each(["light", "dark"] as ThemeName[])("stage colours, %s", (theme) => {
  const color = (key: string): string => stageColor(key, theme);

  it("exist for 13 stages and 8 named by a program", () => {
    expect(STACK).toHaveLength(13);
    expect(NAMED).toHaveLength(8);
  });

  it.each(Object.entries(DEFICIENCIES))("stay apart with %s", (_, deficiency) => {
    for (const keys of [STACK, NAMED]) {
      for (const [index, key] of keys.entries()) {
        for (const other of keys.slice(index + 1)) {
          const neighbours = keys[index + 1] === other;
          // 0.02 is about the smallest difference that can be seen side by side.
          expect(distance(color(key), color(other), deficiency), `${key} and ${other}`).toBeGreaterThan(
            neighbours ? 0.095 : 0.055,
          );
        }
      }
    }
  });

  it("stand out from the card", () => {
    for (const key of [...STACK, ...NAMED]) {
      expect(contrast(color(key), CHART_COLORS[theme].surface), key).toBeGreaterThan(1.6);
    }
  });

  it("carry a legible label", () => {
    for (const key of STACK) expect(contrast(color(key), inkOn(color(key))), key).toBeGreaterThan(4.4);
  });

  it("leave text legible", () => {
    const { text, muted, accent, surface } = CHART_COLORS[theme];
    for (const ink of [text, muted, accent]) expect(contrast(ink, surface)).toBeGreaterThan(4.5);
  });
});

/** As the server has them: colours in the order of the categories, of the idle causes and of the kinds of events. */
const SEQUENCES = [
  ["kernel", "memcpy", "memset", "communication", "runtime", "data_loading", "cpu_op", "other"],
  ["data_loading", "synchronisation", "communication", "runtime", "other"],
  [
    ...["cpu_op", "annotation", "runtime", "synchronisation", "data_loading"],
    ...["python", "kernel", "memcpy", "memset", "communication"],
  ],
];

describe.each(["light", "dark"] as ThemeName[])("colours of a profile, %s", (theme) => {
  const parts = Object.keys(PART_COLORS);
  const isBeside = (a: string, b: string): boolean =>
    SEQUENCES.some((keys) => keys.includes(a) && keys.includes(b) && Math.abs(keys.indexOf(a) - keys.indexOf(b)) === 1);

  it("exist for every key, and another for what is not known", () => {
    expect(new Set(SEQUENCES.flat())).toEqual(new Set(parts));
    expect(partColor("new on the server", theme)).toBe(stageColor("other", theme));
  });

  it("are those of the stages that mean the same", () => {
    expect(partColor("data_loading", theme)).toBe(stageColor("data_wait", theme));
    expect(partColor("memcpy", theme)).toBe(stageColor("transfer", theme));
    expect(partColor("other", theme)).toBe(stageColor("other", theme));
  });

  it.each(Object.entries(DEFICIENCIES))("stay apart with %s", (_, deficiency) => {
    for (const [index, key] of parts.entries()) {
      for (const other of parts.slice(index + 1)) {
        expect(
          distance(partColor(key, theme), partColor(other, theme), deficiency),
          `${key} and ${other}`,
        ).toBeGreaterThan(isBeside(key, other) ? 0.1 : 0.065);
      }
    }
  });

  it("stand out from the card and carry a legible label", () => {
    for (const key of parts) {
      expect(contrast(partColor(key, theme), CHART_COLORS[theme].surface), key).toBeGreaterThan(1.75);
      expect(contrast(partColor(key, theme), inkOn(partColor(key, theme))), key).toBeGreaterThan(4.5);
    }
  });
});

describe("run colours", () => {
  it("are TensorBoard's, then again", () => {
    expect(runColor(0, "light")).toBe("#425066");
    expect(runColor(0, "dark")).toBe("#8e98a3");
    expect(runColor(7, "light")).toBe(runColor(0, "light"));
  });
});
