"""Steps of a trace from the profiler's marks on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.kinds import STEP_MARK, name_mask
from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.table import BoolArray, IntArray, Trace


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


def find_steps(trace: Trace, launches: Launches) -> Steps:
    """The steps of `trace`: one per number of a host mark, or one over everything if there is none."""
    low, high = extent(trace)
    number, start, end, repeated = _marks(trace)
    if not len(number):
        return Steps(np.zeros(1, np.int64), np.array([low]), np.array([high]), np.ones(1, np.bool_), marked=False)
    warnings = (f"{repeated} repeated step marks were left out",) if repeated else ()
    drained = np.maximum(end, launches.last_end(start, end))
    # What the step before has under way is its own; the next step starts when that is done.
    after = np.maximum.accumulate(drained)
    begun = np.maximum(start, np.concatenate([start[:1], after[:-1]]))
    closed = np.maximum(drained, begun)
    return Steps(number, begun, closed, _partial(launches, begun, closed), marked=True, warnings=warnings)


def extent(trace: Trace) -> tuple[int, int]:
    """First start and last end of operators, annotations, runtime calls and device work, in nanoseconds.

    Python frames are left out: the profiler closes those still open at the moment it writes the file.
    """
    tables = [table for table in (trace.operators, trace.annotations, trace.runtime, trace.device) if len(table)]
    return min(int(table.start.min()) for table in tables), max(int(table.end.max()) for table in tables)


def _marks(trace: Trace) -> tuple[IntArray, IntArray, IntArray, int]:
    """Numbers, starts and ends of host marks in time order, and how many were left out for a number that is there."""
    is_mark = name_mask(trace.names, STEP_MARK)
    found = [table.select(is_mark[table.name]) for table in (trace.operators, trace.annotations)]
    number = np.concatenate([_numbers(trace.names, table.name) for table in found])
    start = np.concatenate([table.start for table in found])
    end = np.concatenate([table.end for table in found])
    # The longest of a number first: a mark that is repeated inside itself is one step.
    order = np.lexsort((start, start - end, number))
    first = np.concatenate([np.ones(min(1, len(order)), np.bool_), np.diff(number[order]) != 0])
    kept = order[first]
    kept = kept[np.argsort(start[kept], kind="stable")]
    return number[kept], start[kept], end[kept], len(order) - len(kept)


def _numbers(names: tuple[str, ...], name: np.ndarray[tuple[int], np.dtype[np.int32]]) -> IntArray:
    matches = (STEP_MARK.match(names[index]) for index in name.tolist())
    return np.array([int(match[1]) for match in matches if match], np.int64)


def _partial(launches: Launches, start: IntArray, end: IntArray) -> BoolArray:
    """[k] whether the first step holds device work from before the trace, or the last has launched work that is lost.

    Both happen at the edges of a recording: work launched before it has no launch in it, and work that runs behind its
    end has a launch and no kernel.
    """
    partial = np.zeros(len(start), np.bool_)
    foreign = ~launches.known & (launches.device.end > start[0]) & (launches.device.start < end[0])
    unfinished = launches.missing & (launches.runtime.start >= start[-1]) & (launches.runtime.start < end[-1])
    partial[0] |= foreign.any()
    partial[-1] |= unfinished.any()
    return partial
