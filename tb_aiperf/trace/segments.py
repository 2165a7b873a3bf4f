"""`Segment`: the part of a trace in one window of time, which is what every part of the analysis works on.

A trace that fits in memory is one segment. A larger one is cut into many, in time order and without overlap. Each part
of the analysis adds up what it finds in them: an object with ``add(segment)``, called once per segment in time order,
and a result, which must not depend on where the trace is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tb_aiperf.trace.launches import LaunchedWork, Launches, find_launches
from tb_aiperf.trace.memory_counts import MemoryCounts, count_memory
from tb_aiperf.trace.nesting import Nesting
from tb_aiperf.trace.operators import OperatorCalls, find_operators
from tb_aiperf.trace.steps import Marks, Steps, extent
from tb_aiperf.trace.table import BoolArray, IntArray, Trace


@dataclass(frozen=True, slots=True)
class Segment:
    """What happens in the window low <= t < high of a trace.

    trace      the rows that begin in the window, and as context those that began before it and are still open at its
               start. Of operators and of Python frames, the context holds all that they lie in, even what has ended
               meanwhile, so that parents, roots and recursion are those of the whole trace. Rows of equal start are in
               file order. Names, shapes, threads and everything else are those of the whole file: ids mean the same in
               all segments
    low, high  nanoseconds. Count a row in the segment in which it starts (`begins`), and clip durations that are to be
               spread over time (`clip`): the windows of all segments together hold every start
    launches   of each row of `trace.device`, wherever the launch lies; `missing` is told of calls that begin here
    launched   device work by its launch: what calls that begin in the window launched, wherever it runs itself.
               Attribute device work by this, and what has no launch (`~launches.known`) where it starts itself
    operators  the operators of `trace`, nested, each with the device work of `launched` that it launched
    work_before  when all device work that began before the window has ended (which may be inside it or behind it), None
                 for none. Work without duration does not count, neither here nor in
    work_after   start of the first device work at or behind `high`, and when the first of the calls began that launched
                 what starts then (that moment itself where unknown); None for none
    """

    trace: Trace
    low: int
    high: int
    launches: Launches
    launched: LaunchedWork
    operators: OperatorCalls
    work_before: int | None = None
    work_after: tuple[int, int] | None = None

    def begins(self, start: IntArray) -> BoolArray:
        """[n] whether what starts then is counted in this segment."""
        return (start >= self.low) & (start < self.high)

    def clip(self, moments: IntArray) -> IntArray:
        """[n] the moments, those outside the window moved to its edge: ``clip(end) - clip(start)`` is what is in it."""
        return np.clip(moments, self.low, self.high)

    def clip_nesting(self, nesting: Nesting) -> Nesting:
        """The same ranges and parents, with only the part of each that lies inside the window.

        Its `self_time` adds up over segments. Look moments up (`innermost`) in the nesting that was not clipped.
        """
        return replace(nesting, start=self.clip(nesting.start), end=self.clip(nesting.end))


class TraceSource(Protocol):
    """A trace as segments.

    trace   what is known of the whole file; its rows need not be there
    steps   the steps; which are `partial` is not known yet
    memory  counts of the memory events of each device
    origin  nanoseconds of the first event, see `extent`
    """

    @property
    def trace(self) -> Trace: ...  # noqa: D102
    @property
    def steps(self) -> Steps: ...  # noqa: D102
    @property
    def memory(self) -> MemoryCounts: ...  # noqa: D102
    @property
    def origin(self) -> int: ...  # noqa: D102

    def segments(self) -> Iterator[Segment]:
        """The segments in time order. Each is gone when the next is asked for: keep no reference to it."""


class WholeTrace:
    """A trace in memory, as the one segment that it is. See `TraceSource`."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.memory = count_memory(trace.memory)
        self._segment = whole(trace)
        launches, marks = self._segment.launched, Marks()
        marks.add(trace.names, trace.operators, trace.annotations)
        self.origin, end = extent(trace)
        self.steps = marks.steps(launches.last_end(marks.start, marks.end), self.origin, end)

    def segments(self) -> Iterator[Segment]:
        """The only segment."""
        yield self._segment


def whole(trace: Trace) -> Segment:
    """The one segment of a trace in memory."""
    launches = find_launches(trace)
    low, high = _extent(trace)
    return Segment(trace, low, high + 1, launches, launches.launched(), find_operators(trace, launches))


def _extent(trace: Trace) -> tuple[int, int]:
    """First start and last end of anything."""
    spans = (trace.operators, trace.annotations, trace.runtime, trace.device, trace.python, trace.overhead)
    starts = [table.start for table in spans] + [trace.memory.time]
    ends = [table.end for table in spans] + [trace.memory.time]
    return (
        min(int(start.min()) for start in starts if len(start)),
        max(int(end.max()) for end in ends if len(end)),
    )
