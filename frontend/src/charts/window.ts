/** A window on the x axis, and what zooming and moving make of it. */

export interface Window {
  from: number;
  to: number;
}

/** `window` scaled by `factor` about `center`, inside `full`. */
export function scaleWindow(window: Window, full: Window, center: number, factor: number): Window {
  const width = (window.to - window.from) * factor;
  if (width >= full.to - full.from) return full;
  const share = (center - window.from) / Math.max(window.to - window.from, Number.EPSILON);
  const from = Math.min(Math.max(center - share * width, full.from), full.to - width);
  return { from, to: from + width };
}

/** `window` moved by `distance`, inside `full`. */
export function moveWindow(window: Window, full: Window, distance: number): Window {
  const width = window.to - window.from;
  const from = Math.min(Math.max(window.from + distance, full.from), full.to - width);
  return { from, to: from + width };
}
