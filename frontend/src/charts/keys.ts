/** What the keys do on a chart, as pure functions. */

import { type Window, scaleWindow } from "./window";

/** Index of the value nearest to `place`; null when there is no place or nothing to choose from. */
export function nearestIndex(values: readonly number[], place: number | null): number | null {
  if (place === null || values.length === 0) return null;
  const distance = (index: number): number => Math.abs((values[index] ?? Infinity) - place);
  return values.reduce((best, _, index) => (distance(index) < distance(best) ? index : best), 0);
}

/** The cursor's next place among `length` items, or null when `key` does not move it. */
export function moveCursor(key: string, shift: boolean, cursor: number | null, length: number): number | null {
  if (length === 0) return null;
  const stride = shift ? Math.max(1, Math.round(length / 10)) : 1;
  const clamp = (index: number): number => Math.min(length - 1, Math.max(0, index));
  switch (key) {
    case "ArrowRight":
    case "ArrowUp":
      return cursor === null ? 0 : clamp(cursor + stride);
    case "ArrowLeft":
    case "ArrowDown":
      return cursor === null ? length - 1 : clamp(cursor - stride);
    case "Home":
      return 0;
    case "End":
      return length - 1;
    default:
      return null;
  }
}

/** `window` made half or twice as wide about `center`, inside `full`; null when `key` does not zoom. */
export function zoomByKey(key: string, window: Window, full: Window, center: number): Window | null {
  const zoomsIn = key === "+" || key === "=";
  if (!zoomsIn && key !== "-" && key !== "_") return null;
  return scaleWindow(window, full, center, zoomsIn ? 0.5 : 2);
}
