/**
 * Level of detail: the events of a row in a window, as marks that are at least a pixel wide. What is narrower is joined
 * with its neighbours of the same pixel, so that the number of marks is bounded by the width and no event is lost.
 */

import type { Window } from "../../../charts/window";
import { type Timeline, firstEndingAfter, firstStartingAt } from "./model";

/** Columns of marks; `n` of them hold. Kept between frames, so that drawing allocates nothing. */
export class Marks {
  n = 0;
  /** Pixels from the left edge of the window. */
  x = new Float64Array(256);
  width = new Float64Array(256);
  /** The event; of several, the longest (of those that are hits, if any is). */
  event = new Int32Array(256);
  /** How many events the mark stands for. */
  count = new Int32Array(256);
  /** 1: one of its events is a hit of the search. */
  hit = new Uint8Array(256);

  push(x: number, width: number, event: number, count: number, hit: number): void {
    if (this.n === this.x.length) this.grow();
    this.x[this.n] = x;
    this.width[this.n] = width;
    this.event[this.n] = event;
    this.count[this.n] = count;
    this.hit[this.n] = hit;
    this.n += 1;
  }

  private grow(): void {
    const wider = <Values extends Float64Array | Int32Array | Uint8Array>(old: Values, made: Values): Values => {
      made.set(old);
      return made;
    };
    const size = 2 * this.x.length;
    this.x = wider(this.x, new Float64Array(size));
    this.width = wider(this.width, new Float64Array(size));
    this.event = wider(this.event, new Int32Array(size));
    this.count = wider(this.count, new Int32Array(size));
    this.hit = wider(this.hit, new Uint8Array(size));
  }
}

/** Narrower than this is joined, in pixels. */
const NARROW = 1;

/**
 * Fills `marks` with the events from `first` to before `last`, a row's, that overlap `window`, which is `width` pixels
 * wide. `isHit`: by name, whether the search looks for it; null without a search.
 */
export function markRow(
  timeline: Timeline,
  first: number,
  last: number,
  window: Window,
  width: number,
  isHit: Uint8Array | null,
  marks: Marks,
): void {
  marks.n = 0;
  const { start, end, name } = timeline;
  const scale = width / (window.to - window.from);
  // An event that ends where the window begins is out of it, unless it is an instant.
  let at = firstEndingAfter(timeline, first, last, window.from);
  while (at > first && (end[at - 1] as number) === window.from && (start[at - 1] as number) === window.from) at -= 1;
  const stop = firstStartingAt(timeline, at, last, window.to);
  while (at < stop) {
    const left = ((start[at] as number) - window.from) * scale;
    const right = ((end[at] as number) - window.from) * scale;
    if (right - left >= NARROW) {
      const [from, to] = [Math.max(0, left), Math.min(width, right)];
      marks.push(from, Math.max(to - from, NARROW), at, 1, isHit === null ? 0 : (isHit[name[at] as number] as number));
      at += 1;
      continue;
    }
    const pixel = Math.max(0, Math.floor(left));
    const edge = pixel + 1;
    let [best, bestLength, hit, next] = [at, -1, 0, at];
    do {
      const from = ((start[next] as number) - window.from) * scale;
      const length = ((end[next] as number) - window.from) * scale - from;
      if (next > at && (from >= edge || length >= NARROW)) break;
      const isOne = isHit === null ? 0 : (isHit[name[next] as number] as number);
      if (isOne > hit || (isOne === hit && length > bestLength)) [best, bestLength, hit] = [next, length, isOne];
      next += 1;
    } while (next < stop);
    marks.push(pixel, NARROW, best, next - at, hit);
    at = next;
  }
}
