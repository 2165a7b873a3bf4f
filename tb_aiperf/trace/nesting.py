"""Which host range lies in which, thread by thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace import compiled
from tb_aiperf.trace.grouping import stable_order
from tb_aiperf.trace.table import BoolArray, IntArray, SmallArray, Spans

#: Levels that are climbed one at a time, all moments at once.
_USUAL_DEPTH = 100


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
        for _ in range(_USUAL_DEPTH):
            rows = rows[self.end[place[rows]] <= moment[rows]]
            if not len(rows):
                return place
            place[rows] = self.parent[place[rows]]
            rows = rows[place[rows] >= 0]
        place[rows] = self._innermost_at_any_depth(thread[rows], moment[rows])
        return place

    def _innermost_at_any_depth(self, thread: SmallArray, moment: IntArray) -> IntArray:
        """`innermost` in O((n + k) log n): the parents that the moments would have, were they ranges."""
        count = len(self.start)
        thread, start = np.concatenate([self.thread, thread]), np.concatenate([self.start, moment])
        order = np.lexsort((start, thread))
        parent, _ = _parents(start[order], np.concatenate([self.end, moment])[order], thread[order])
        moments = np.flatnonzero(order >= count)
        place = np.empty(len(moment), np.int64)
        place[order[moments] - count] = np.where(parent[moments] >= 0, order[parent[moments]], -1)
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
        by_label = stable_order(label)
        base = label[by_label] * count
        # The farthest that any earlier range of the label reaches; what belongs to smaller labels lies below its base.
        reach = np.maximum.accumulate(base + self.stop[by_label])
        inside = np.zeros(len(label), np.bool_)
        inside[by_label[1:]] = reach[:-1] > base[1:] + by_label[1:]
        return inside


def nest(table: Spans) -> Nesting:
    """Nest the ranges of a table in O(n log n)."""
    order = _nesting_order(table.start, table.end, table.thread)
    start, end, thread = table.start[order], table.end[order], table.thread[order]
    return Nesting(order, start, end, thread, *_parents(start, end, thread))


def _nesting_order(start: IntArray, end: IntArray, thread: SmallArray) -> IntArray:
    """[n] the rows by thread, then start, then falling end, else in order."""
    # Traces are nearly in order of start, which this sort takes advantage of; equal starts are few.
    order = np.argsort(start, kind="stable")
    moment = start[order]
    same = moment[1:] == moment[:-1]
    if same.any():
        places = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        rows = order[places]
        order[places] = rows[np.lexsort((-end[rows], start[rows]))]
    return order[stable_order(thread[order])]


def _parents(start: IntArray, end: IntArray, thread: SmallArray) -> tuple[IntArray, IntArray]:
    """Parent and stop of each range."""
    if compiled.native is None:
        parent, stop = _parents_of_lists(start.tolist(), end.tolist(), thread.tolist())
        return np.array(parent, np.int64), np.array(stop, np.int64)
    parents, stops = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    columns = (np.ascontiguousarray(start, np.int64), np.ascontiguousarray(end, np.int64))
    compiled.native.parents(*columns, np.ascontiguousarray(thread, np.int32), parents, stops)
    return parents, stops


def _parents_of_lists(start: list[int], end: list[int], thread: list[int]) -> tuple[list[int], list[int]]:
    """`_parents` by a stack of open ranges."""
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
