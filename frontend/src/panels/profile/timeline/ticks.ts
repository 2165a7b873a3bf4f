/** Round moments on a time axis of nanoseconds, with labels just as precise as their distance asks for. */

import type { Window } from "../../../charts/window";

export interface Tick {
  at: number;
  text: string;
}

const UNITS = [
  { name: "s", size: 1e9 },
  { name: "ms", size: 1e6 },
  { name: "µs", size: 1e3 },
  { name: "ns", size: 1 },
] as const;

/** The smallest of 1, 2, 5 × 10^k that is at least `value`. */
export function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = [1, 2, 5, 10].find((step) => step * power >= value * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** A moment, with digits down to `precision` nanoseconds. */
export function momentText(at: number, precision: number): string {
  if (at === 0) return "0";
  const unit = UNITS.find(({ size }) => Math.abs(at) >= size) ?? UNITS[UNITS.length - 1] ?? { name: "ns", size: 1 };
  const digits = Math.max(0, Math.ceil(Math.log10(unit.size / precision) - 1e-9));
  return `${(at / unit.size).toFixed(Math.min(9, digits))}\u00a0${unit.name}`;
}

/** At most one tick in `spacing` pixels. */
export function ticksOf(window: Window, width: number, spacing: number): Tick[] {
  const span = window.to - window.from;
  if (!(span > 0) || !(width > 0)) return [];
  const step = Math.max(1, roundStep((span * spacing) / width));
  const ticks: Tick[] = [];
  for (let index = Math.ceil(window.from / step); index * step <= window.to; index += 1) {
    // Not -0.
    const at = index * step + 0;
    ticks.push({ at, text: momentText(at, step) });
  }
  return ticks;
}
