import { describe, expect, it } from "vitest";
import { type Column, runsCsv, tableCsv } from "../src/ui/data-table";

interface Row {
  step: number;
  time: number | null;
}

const STEP: Column<Row> = { title: "Step", name: "step", raw: (row) => row.step, cell: () => "shown otherwise" };
const TIME: Column<Row> = { title: "Time", name: "time_s", raw: (row) => row.time, fileOnly: true };

describe("tables as CSV", () => {
  it("hold every column at full precision, those left out on the screen too", () => {
    expect(
      tableCsv(
        [STEP, TIME],
        [
          { step: 3, time: 0.123456789 },
          { step: 4, time: null },
        ],
      ),
    ).toBe("step,time_s\r\n3,0.123456789\r\n4,\r\n");
  });

  it("join runs under all their columns", () => {
    const runs = [
      { name: "a", columns: [STEP], rows: [{ step: 1, time: 9 }] },
      { name: "b,c", columns: [TIME, STEP], rows: [{ step: 2, time: 0.5 }] },
    ];
    const text = runsCsv(
      runs,
      (run) => run.columns,
      (run) => run.rows,
    );
    expect(text).toBe('run,step,time_s\r\na,1,\r\n"b,c",2,0.5\r\n');
  });
});
