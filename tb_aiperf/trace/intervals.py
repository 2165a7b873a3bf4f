"""Sets of moments as sorted, disjoint, half-open intervals of integers, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.table import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Intervals:
    """The set of all t with start[i] <= t < end[i] for some i.

    start, end  [n] rising; start[i] < end[i] < start[i + 1], so each set has exactly one form
    """

    start: IntArray
    end: IntArray

    def __len__(self) -> int:
        return len(self.start)

    @property
    def measure(self) -> int:
        """Total length."""
        return int((self.end - self.start).sum())

    def within(self, low: IntArray, high: IntArray) -> IntArray:
        """[k] length of the part inside each window low[i] <= t < high[i], in O((n + k) log n)."""
        return self._before(high) - self._before(np.minimum(low, high))

    def contains(self, moments: IntArray) -> BoolArray:
        """[k] whether each moment is in the set."""
        at = np.searchsorted(self.start, moments, side="right") - 1
        inside: BoolArray = (at >= 0) & (moments < np.append(self.end, 0)[at])
        return inside

    def _before(self, moments: IntArray) -> IntArray:
        """[k] length of the part before each moment."""
        whole = np.concatenate([[0], np.cumsum(self.end - self.start)])
        count = np.searchsorted(self.end, moments, side="right")
        # At most one interval reaches across the moment: the first that has not ended.
        partial = np.maximum(moments - np.append(self.start, moments.max(initial=0))[count], 0)
        before: IntArray = whole[count] + partial
        return before


def union(start: IntArray, end: IntArray) -> Intervals:
    """The union of n intervals in any order; empty ones (end <= start) vanish, touching ones join. O(n log n)."""
    kept = end > start
    start, end = start[kept], end[kept]
    if not len(start):
        return Intervals(start, end)
    if (start[1:] < start[:-1]).any():
        # Stable: traces are nearly in order, which it takes advantage of.
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.concatenate([[True], start[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Intervals(start[first], reach[last])


def join(sets: Iterable[Intervals]) -> Intervals:
    """The union of several sets."""
    sets = list(sets)
    return union(np.concatenate([s.start for s in sets]), np.concatenate([s.end for s in sets]))


def difference(a: Intervals, b: Intervals) -> Intervals:
    """What is in `a` and not in `b`."""
    return _combine(a, b, 1, 0)


def intersection(a: Intervals, b: Intervals) -> Intervals:
    """What is in both."""
    return _combine(a, b, 1, 1)


def _combine(a: Intervals, b: Intervals, in_a: int, in_b: int) -> Intervals:
    """The moments that are inside `a` as `in_a` says and inside `b` as `in_b` says."""
    moments = np.concatenate([a.start, a.end, b.start, b.end])
    change_a = np.repeat(np.array([1, -1, 0, 0]), [len(a), len(a), len(b), len(b)])
    change_b = np.repeat(np.array([0, 0, 1, -1]), [len(a), len(a), len(b), len(b)])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    wanted = (np.cumsum(change_a[order]) == in_a) & (np.cumsum(change_b[order]) == in_b)
    return union(moments[:-1][wanted[:-1]], moments[1:][wanted[:-1]])


def sweep(layers: Iterable[Intervals], low: IntArray, high: IntArray) -> IntArray:
    """[layers + 1, k] exclusive length of each layer in each window: a moment counts for the first layer with it.

    The last row is what no layer has; each column sums to its window exactly.
    """
    rows = []
    covered = union(np.zeros(0, np.int64), np.zeros(0, np.int64))
    before = np.zeros(len(low), np.int64)
    for layer in layers:
        covered = join([covered, layer])
        length = covered.within(low, high)
        rows.append(length - before)
        before = length
    rows.append(np.maximum(high - low, 0) - before)
    return np.array(rows, np.int64)
