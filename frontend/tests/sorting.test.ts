import { describe, expect, it } from "vitest";
import { rowOffsets, rowsBetween } from "../src/ui/row-window";
import { nextSort, sorted } from "../src/ui/sorting";

describe("sorting rows", () => {
  const rows = [
    { name: "op10", time: 3 },
    { name: "op9", time: null },
    { name: "Op1", time: 5 },
    { name: "op2", time: 3 },
  ];
  const names = (ordered: readonly { name: string }[]): string[] => ordered.map((row) => row.name);

  it("puts numbers in order, missing ones last either way, and keeps the order of equals", () => {
    expect(names(sorted(rows, (row) => row.time, true))).toEqual(["Op1", "op10", "op2", "op9"]);
    expect(names(sorted(rows, (row) => row.time, false))).toEqual(["op10", "op2", "Op1", "op9"]);
  });

  it("counts the numbers in names", () => {
    expect(names(sorted(rows, (row) => row.name, false))).toEqual(["Op1", "op2", "op9", "op10"]);
  });

  it("begins with the largest number and the first name, and turns round at a second click", () => {
    const first = nextSort({ column: "name", descending: false }, "time", true);
    expect(first).toEqual({ column: "time", descending: true });
    expect(nextSort(first, "time", true)).toEqual({ column: "time", descending: false });
    expect(nextSort(first, "name", false)).toEqual({ column: "name", descending: false });
  });
});

describe("the rows in sight", () => {
  const offsets = rowOffsets(1000, (index) => (index === 3 ? 100 : 10));

  it("lie one below the other", () => {
    expect([...offsets.slice(0, 6)]).toEqual([0, 10, 20, 30, 130, 140]);
    expect(offsets[1000]).toBe(10_090);
  });

  it.each([
    [0, 25, 0, [0, 3]],
    [30, 129, 0, [3, 4]],
    [129, 131, 0, [3, 5]],
    [5000, 5010, 2, [489, 495]],
    [10_080, 11_000, 5, [994, 1000]],
    [20_000, 30_000, 0, [999, 1000]],
  ])("from %i to %i with %i to spare are %j", (top, bottom, spare, expected) => {
    expect(rowsBetween(offsets, top, bottom, spare)).toEqual(expected);
  });

  it("are none of none", () => {
    expect(
      rowsBetween(
        rowOffsets(0, () => 10),
        0,
        100,
        5,
      ),
    ).toEqual([0, 0]);
  });
});
