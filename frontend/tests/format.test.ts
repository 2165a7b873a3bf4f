import { describe, expect, it } from "vitest";
import { toCsv } from "../src/format/csv";
import { fileName } from "../src/format/file";
import {
  NOT_MEASURED,
  axisSeconds,
  axisShare,
  bytes,
  count,
  microseconds,
  microsecondsChange,
  nanoseconds,
  plural,
  quantity,
  seconds,
  share,
  significant,
  times,
} from "../src/format/number";
import { compactShapes, shortened, wordsOf } from "../src/format/words";

const plain = (text: string): string => text.replace(/\u00a0/g, " ");

describe("numbers", () => {
  it.each([
    [0, "0"],
    [0.012345, "0.0123"],
    [1.2, "1.20"],
    [12.349, "12.3"],
    [123.4, "123"],
    [1234.5, "1230"],
    [9.999, "10.0"],
    [-0.5, "-0.500"],
  ])("shows %d to three digits as %s", (value, text) => {
    expect(significant(value)).toBe(text);
  });

  it.each([
    [0, "0 s"],
    [6e-8, "60.0 ns"],
    [1e-6, "1.00 µs"],
    [0.0000205, "20.5 µs"],
    [0.00099996, "1.00 ms"],
    [0.0412, "41.2 ms"],
    [0.99996, "1.00 s"],
    [1.926, "1.93 s"],
    [119.4, "119 s"],
    [120, "2.00 min"],
    [5400, "90.0 min"],
    [7200, "2.00 h"],
    [4_000_000, "1,111 h"],
  ])("shows %d s as %s", (value, text) => {
    expect(plain(seconds(value))).toBe(text);
  });

  it("gives a change its sign", () => {
    expect([1500, -0.3, 0].map(microsecondsChange).map(plain)).toEqual(["+1.50 ms", "−300 ns", "0 s"]);
  });

  it("says that a number was not measured, and never 0", () => {
    for (const format of [
      seconds,
      microseconds,
      microsecondsChange,
      nanoseconds,
      share,
      bytes,
      count,
      times,
      quantity,
    ]) {
      expect(format(null)).toBe(NOT_MEASURED);
      expect(format(undefined)).toBe(NOT_MEASURED);
      expect(format(Number.NaN)).toBe(NOT_MEASURED);
    }
  });

  it.each([
    [0.5234, "52.3 %"],
    [1, "100 %"],
    [0.0008, "0.08 %"],
    [0.0115, "1.15 %"],
    [0.00002, "< 0.01 %"],
    [0, "0 %"],
  ])("shows the share %d as %s", (value, text) => {
    expect(plain(share(value))).toBe(text);
  });

  it.each([
    [0, "0 s"],
    [0.5, "500 ns"],
    [0.9996, "1.00 µs"],
    [60.5, "60.5 µs"],
    [619_045, "619 ms"],
    [1_211_182, "1.21 s"],
  ])("shows %d µs as %s", (value, text) => {
    expect(plain(microseconds(value))).toBe(text);
    expect(plain(nanoseconds(1000 * value))).toBe(text);
  });

  it("drops the zeros of round numbers on an axis only", () => {
    expect(plain(axisSeconds(0.05))).toBe("50 ms");
    expect(plain(axisSeconds(0.0125))).toBe("12.5 ms");
    expect(plain(axisSeconds(0.1))).toBe("100 ms");
    expect(plain(axisShare(0.25))).toBe("25 %");
    expect(plain(axisShare(1))).toBe("100 %");
  });

  it("shows quantities in their unit", () => {
    expect(plain(quantity(455_289_586.5, "bytes"))).toBe("434 MiB");
    expect(plain(quantity(3_100_000, "B/s"))).toBe("2.96 MiB/s");
    expect(plain(quantity(0.444, "share of all cores"))).toBe("44.4 %");
    expect(plain(quantity(1.4203, "cores"))).toBe("1.42 cores");
    expect(plain(quantity(2, "cores"))).toBe("2 cores");
    expect(plain(bytes(1023.9))).toBe("1.00 KiB");
    expect(count(1_000_000)).toBe("1,000,000");
    expect(plain(plural(1, "step"))).toBe("1 step");
    expect(plain(plural(3, "stretch", "stretches"))).toBe("3 stretches");
  });
});

describe("words", () => {
  it.each([
    ["gpu_0_memory", "GPU 0 memory"],
    ["num_workers", "Num workers"],
    ["cudnn_benchmark", "cuDNN benchmark"],
    ["io_wait", "I/O wait"],
    ["tb_aiperf", "tb_aiperf"],
  ])("writes %s as %s", (key, text) => {
    expect(wordsOf(key)).toBe(text);
  });
});

describe("long names", () => {
  it("lose their middle, and keep both ends", () => {
    expect(shortened("short", 10)).toBe("short");
    expect(shortened("void at::native::kernel<float>(int)", 11)).toBe("void …(int)");
    expect(shortened("abcdef", 5)).toBe("ab…ef");
  });

  it("of shapes lose the blanks that some traces hold", () => {
    expect(compactShapes("[\n  [\n    8,\n    64\n  ], []\n]")).toBe("[[8,64],[]]");
  });
});

describe("CSV", () => {
  it("quotes commas, quotes and line ends, and leaves missing values empty", () => {
    const text = toCsv(
      ["run", "median_s"],
      [
        ['we,ird "run"', 0.0412],
        ["two\nlines", null],
      ],
    );
    expect(text).toBe('run,median_s\r\n"we,ird ""run""",0.0412\r\n"two\nlines",\r\n');
  });

  it("makes file names of any run name", () => {
    expect(fileName("step time", "a/b ü?<x>")).toBe("step_time-a_b_ü_x_");
  });
});
