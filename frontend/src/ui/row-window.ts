/** Which rows of a long table are in sight. */

/** Where each row begins, in pixels, with the end of the last as one more. */
export function rowOffsets(count: number, height: (index: number) => number): Float64Array {
  const offsets = new Float64Array(count + 1);
  for (let index = 0; index < count; index += 1) offsets[index + 1] = (offsets[index] ?? 0) + height(index);
  return offsets;
}

/** The last row that begins at or before `place`. */
function rowAt(offsets: Float64Array, place: number): number {
  let [low, high] = [0, offsets.length - 1];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) <= place) low = middle;
    else high = middle;
  }
  return low;
}

/** Rows from `first` to before `last` that lie between two places, with `spare` more on each side. */
export function rowsBetween(offsets: Float64Array, top: number, bottom: number, spare: number): [number, number] {
  const count = offsets.length - 1;
  if (count === 0) return [0, 0];
  return [Math.max(0, rowAt(offsets, top) - spare), Math.min(count, rowAt(offsets, bottom) + 1 + spare)];
}
