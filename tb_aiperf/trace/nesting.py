"""Which host range lies in which, thread by thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.table import BoolArray, IntArray, SmallArray, Spans


@dataclass(frozen=True, slots=True)
class Nesting:
    """n ranges in order of thread, then start, an enclosing one before what it encloses.

    order   [n] index into the table that was nested
    start, end, thread  [n] of the ranges, in this order
    parent  [n] place of the innermost range still open at the start, -1 for none. A range that outlasts its parent is
            a child all the same
    stop    [n] place behind the last range that began while this one was open: a subtree is ``[i, stop[i])``
    """

    order: IntArray
    start: IntArray
    end: IntArray
    thread: SmallArray
    parent: IntArray
    stop: IntArray

    def innermost(self, thread: SmallArray, moment: IntArray) -> IntArray:
        """[k] place of the innermost range open at each moment on each thread, -1 for none."""
        place = np.full(len(moment), -1, np.int64)
        if not len(self.start):
            return place
        for number in np.unique(thread).tolist():
            wanted = thread == number
            low = np.searchsorted(self.thread, number, side="left")
            high = np.searchsorted(self.thread, number, side="right")
            begun = np.searchsorted(self.start[low:high], moment[wanted], side="right")
            place[wanted] = np.where(begun > 0, low + begun - 1, -1)
        rows = np.flatnonzero(place >= 0)
        while len(rows := rows[self.end[place[rows]] <= moment[rows]]):
            place[rows] = self.parent[place[rows]]
            rows = rows[place[rows] >= 0]
        return place

    def subtree_sum(self, values: IntArray) -> IntArray:
        """[n] sum of `values` over each range and all inside it."""
        before = np.concatenate([[0], np.cumsum(values)])
        total: IntArray = before[self.stop] - before[:-1]
        return total

    def self_time(self) -> IntArray:
        """[n] nanoseconds of each range outside its children."""
        inner = np.flatnonzero(self.parent >= 0)
        outer = self.parent[inner]
        own = self.end - self.start
        np.subtract.at(own, outer, np.minimum(self.end[inner], self.end[outer]) - self.start[inner])
        # Children of one thread overlap only where the profiler mixed up ends.
        return own.clip(min=0)

    def is_recursive(self, label: IntArray) -> BoolArray:
        """[n] whether a range lies in one of the same label (from 0), at any depth."""
        count = len(label) + 1
        by_label = np.argsort(label, kind="stable")
        base = label[by_label] * count
        # The farthest that any earlier range of the label reaches; what belongs to smaller labels lies below its base.
        reach = np.maximum.accumulate(base + self.stop[by_label])
        inside = np.zeros(len(label), np.bool_)
        inside[by_label[1:]] = reach[:-1] > base[1:] + by_label[1:]
        return inside


def nest(table: Spans) -> Nesting:
    """Nest the ranges of a table in O(n log n)."""
    order = np.lexsort((-table.end, table.start, table.thread))
    start, end, thread = table.start[order], table.end[order], table.thread[order]
    parent, stop = _parents(start.tolist(), end.tolist(), thread.tolist())
    return Nesting(order, start, end, thread, np.array(parent, np.int64), np.array(stop, np.int64))


def _parents(start: list[int], end: list[int], thread: list[int]) -> tuple[list[int], list[int]]:
    """Parent and stop of each range, by a stack of open ranges."""
    count = len(start)
    parent = [-1] * count
    stop = [count] * count
    stack: list[int] = []
    current = -1
    for place in range(count):
        if thread[place] != current:
            current = thread[place]
            while stack:
                stop[stack.pop()] = place
        begin = start[place]
        while stack and end[stack[-1]] <= begin:
            stop[stack.pop()] = place
        if stack:
            parent[place] = stack[-1]
        stack.append(place)
    return parent, stop
