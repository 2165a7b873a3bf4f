"""Steps of a trace from the profiler's marks on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.kinds import STEP_MARK, name_mask
from tb_aiperf.trace.table import BoolArray, IntArray, SmallArray, Spans, Trace


@dataclass(frozen=True, slots=True)
class Steps:
    """k steps in time order.

    number      [k] of the mark, 0 for the single step of a trace without marks
    start, end  [k] nanoseconds. A step ends when its mark and the last device work launched inside it have ended; it
                starts with its mark, but no sooner than the step before it ends
    partial     [k] whether the trace may miss some of the step
    marked      False: the trace has no marks, and the step is the whole of it
    """

    number: IntArray
    start: IntArray
    end: IntArray
    partial: BoolArray
    marked: bool
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.number)

    @property
    def judged(self) -> BoolArray:
        """[k] the steps by which a trace is judged: those that are not partial, or all if every one is."""
        return ~self.partial if not self.partial.all() else np.ones(len(self), np.bool_)

    def within(self, low: int, high: int) -> tuple[slice, IntArray, IntArray]:
        """The steps that overlap a window, and start and end of the part of each that lies inside it."""
        first = int(np.searchsorted(self.end, low, side="left"))
        stop = int(np.searchsorted(self.start, high, side="right"))
        inside = slice(first, max(first, stop))
        return inside, np.clip(self.start[inside], low, high), np.clip(self.end[inside], low, high)


class Marks:
    """The profiler's step marks, one per number: of several with a number, the longest, which is the outermost.

    number, start, end  [k] in time order. repeated: how many others were left out
    """

    def __init__(self) -> None:
        self.number = self.start = self.end = np.zeros(0, np.int64)
        self.repeated = 0

    def add(self, names: Sequence[str], *tables: Spans) -> None:
        """Take the marks among more host ranges."""
        is_mark = name_mask(names, STEP_MARK)
        found = [table.select(is_mark[table.name]) for table in tables]
        number = np.concatenate([self.number, *(_numbers(names, table.name) for table in found)])
        start = np.concatenate([self.start, *(table.start for table in found)])
        end = np.concatenate([self.end, *(table.end for table in found)])
        # The longest of a number first: a mark that is repeated inside itself is one step.
        order = np.lexsort((start, start - end, number))
        first = np.append(np.ones(min(1, len(order)), np.bool_), np.diff(number[order]) != 0)
        kept = order[first]
        kept = kept[np.argsort(start[kept], kind="stable")]
        self.repeated += len(order) - len(kept)
        self.number, self.start, self.end = number[kept], start[kept], end[kept]

    def __len__(self) -> int:
        return len(self.number)

    def steps(self, last_end: IntArray, low: int, high: int) -> Steps:
        """Steps of a trace with these marks; that they are `partial` is not known yet.

        last_end: [k] end of the last device work launched inside each mark. low, high: the extent of the trace.
        """
        if not len(self):
            return Steps(np.zeros(1, np.int64), np.array([low]), np.array([high]), np.ones(1, np.bool_), marked=False)
        drained = np.maximum(self.end, last_end)
        # What the step before has under way is its own; the next step starts when that is done.
        after = np.maximum.accumulate(drained)
        begun = np.maximum(self.start, np.append(self.start[:1], after[:-1]))
        closed = np.maximum(drained, begun)
        warnings = (f"{self.repeated} repeated step marks were left out",) if self.repeated else ()
        return Steps(self.number, begun, closed, np.zeros(len(self), np.bool_), marked=True, warnings=warnings)


def extent(trace: Trace) -> tuple[int, int]:
    """First start and last end of operators, annotations, runtime calls and device work, in nanoseconds.

    Python frames are left out: the profiler closes those still open at the moment it writes the file.
    """
    tables = [table for table in (trace.operators, trace.annotations, trace.runtime, trace.device) if len(table)]
    return min(int(table.start.min()) for table in tables), max(int(table.end.max()) for table in tables)


def _numbers(names: Sequence[str], name: SmallArray) -> IntArray:
    matches = (STEP_MARK.match(names[index]) for index in name.tolist())
    return np.array([int(match[1]) for match in matches if match], np.int64)
