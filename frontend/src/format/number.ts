/** Numbers as a reader wants them: a unit, three significant digits, and words for what was not measured. */

export const NOT_MEASURED = "not measured";

/** No-break space, between a number and its unit. */
const NBSP = "\u00a0";

const SIGNIFICANT = 3;

type Maybe = number | null | undefined;

const isNumber = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

/** `value` to three significant digits, without exponent: 0.0123, 1.23, 12.3, 123, 1234. */
export function significant(value: number): string {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(SIGNIFICANT));
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)));
  return rounded.toFixed(Math.min(12, Math.max(0, SIGNIFICANT - 1 - magnitude)));
}

interface Scale {
  unit: string;
  factor: number;
  /** Largest rounded value shown in this unit. */
  below: number;
}

function scaled(value: number, scales: readonly Scale[]): string {
  const last = scales[scales.length - 1];
  for (const scale of scales) {
    const amount = value * scale.factor;
    // Compare the rounded amount: 999.96 ms reads 1.00 s, not 1000 ms.
    if (scale === last || Math.abs(Number(amount.toPrecision(SIGNIFICANT))) < scale.below) {
      const text = Math.abs(amount) >= 1000 ? Math.round(amount).toLocaleString("en-US") : significant(amount);
      return text + NBSP + scale.unit;
    }
  }
  return NOT_MEASURED;
}

const TIME_SCALES: readonly Scale[] = [
  { unit: "ns", factor: 1e9, below: 1000 },
  { unit: "µs", factor: 1e6, below: 1000 },
  { unit: "ms", factor: 1e3, below: 1000 },
  { unit: "s", factor: 1, below: 120 },
  { unit: "min", factor: 1 / 60, below: 120 },
  { unit: "h", factor: 1 / 3600, below: Infinity },
];

/** Times on an axis: round numbers, so without the zeros that only show precision. */
export const axisSeconds = (value: number): string => withoutTrailingZeros(seconds(value));
export const axisShare = (value: number): string => withoutTrailingZeros(share(value));

function withoutTrailingZeros(text: string): string {
  return text.replace(/\.(\d*?)0+(?=\D|$)/, (_, kept: string) => (kept === "" ? "" : `.${kept}`));
}

export function seconds(value: Maybe): string {
  if (!isNumber(value)) return NOT_MEASURED;
  if (value === 0) return `0${NBSP}s`;
  return scaled(value, TIME_SCALES);
}

/** A time in microseconds, as profiles have them. */
export const microseconds = (value: Maybe): string => (isNumber(value) ? seconds(value / 1e6) : NOT_MEASURED);

/** A change in microseconds, with its sign: +1.20 ms, −300 µs. */
export function microsecondsChange(value: Maybe): string {
  if (!isNumber(value) || value === 0) return microseconds(value);
  return (value > 0 ? "+" : "−") + microseconds(Math.abs(value));
}

export const nanoseconds = (value: Maybe): string => (isNumber(value) ? seconds(value / 1e9) : NOT_MEASURED);

const BYTE_SCALES: readonly Scale[] = ["B", "KiB", "MiB", "GiB", "TiB"].map((unit, power) => ({
  unit,
  factor: 1 / 1024 ** power,
  // From 1000 on in the next unit: three digits cannot tell 1000 from 1023.
  below: 1000,
}));

export function bytes(value: Maybe): string {
  if (!isNumber(value)) return NOT_MEASURED;
  return value === 0 ? `0${NBSP}B` : scaled(value, BYTE_SCALES);
}

/** A share in [0, 1] as a percentage; what is there but rounds to nothing is said to be small, not zero. */
export function share(value: Maybe): string {
  if (!isNumber(value)) return NOT_MEASURED;
  const percent = value * 100;
  if (percent === 0) return `0${NBSP}%`;
  if (Math.abs(percent) < 0.01) return `<${NBSP}0.01${NBSP}%`;
  return (Math.abs(percent) < 1 ? percent.toFixed(2) : significant(percent)) + NBSP + "%";
}

export function count(value: Maybe): string {
  return isNumber(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : NOT_MEASURED;
}

/** How many times as much: 5.10 ×. */
export function times(value: Maybe): string {
  return isNumber(value) ? significant(value) + NBSP + "×" : NOT_MEASURED;
}

/** A plain number with an optional unit. */
export function quantity(value: Maybe, unit = ""): string {
  if (!isNumber(value)) return NOT_MEASURED;
  if (unit === "bytes" || unit === "B") return bytes(value);
  if (unit === "s" || unit === "seconds") return seconds(value);
  if (unit === "share" || unit.startsWith("share of ")) return share(value);
  if (unit.endsWith("/s") && /^(B|bytes)\//.test(unit)) return `${bytes(value)}/s`;
  const text =
    Number.isInteger(value) || Math.abs(value) >= 1000
      ? value.toLocaleString("en-US", { maximumFractionDigits: 0 })
      : significant(value);
  return unit === "" ? text : text + NBSP + unit;
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)}${NBSP}${amount === 1 ? one : many}`;
}

const MOMENT = new Intl.DateTimeFormat("sv-SE", {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** A moment in local time: 2026-11-30 21:41:50. */
export function moment(unixSeconds: Maybe): string {
  return isNumber(unixSeconds) ? MOMENT.format(new Date(unixSeconds * 1000)) : NOT_MEASURED;
}
