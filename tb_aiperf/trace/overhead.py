"""Time in which the profiler itself was at work, as far as it recorded that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_aiperf.trace.intervals import union
from tb_aiperf.trace.steps import Steps

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment


class OverheadTotal:
    """Nanoseconds inside steps in which the profiler was at work, added up segment by segment."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._recorded = False
        self._total = 0

    def add(self, segment: Segment) -> None:
        """Take the part of the steps that lies in a segment."""
        overhead = segment.trace.overhead
        if len(overhead):
            self._recorded = True
            _, start, end = self._steps.within(segment.low, segment.high)
            self._total += int(union(overhead.start, overhead.end).within(start, end).sum())

    def result(self) -> int | None:
        """Nanoseconds; None where none was recorded."""
        return self._total if self._recorded else None
