"""Which steps at the edges of a recording are incomplete; all steps of a trace in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.steps import Marks, Steps, extent
from tb_aiperf.trace.table import Trace


class PartialSteps:
    """Finds out whether the trace misses some of the first or the last step, segment by segment.

    Both happen at the edges of a recording: work launched before it has no launch in it, and work that runs behind its
    end has a launch and no kernel.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._first = self._last = False

    def add(self, segment: Segment) -> None:
        """Look at the launches of a segment."""
        self.add_launches(segment.launches)

    def add_launches(self, launches: Launches) -> None:
        """Look for foreign work in the first step and for launches in the last whose work is lost."""
        if not self._steps.marked:
            return
        start, end = self._steps.start, self._steps.end
        device, begun = launches.device, launches.runtime.start
        self._first |= bool((~launches.known & (device.end > start[0]) & (device.start < end[0])).any())
        self._last |= bool((launches.missing & (begun >= start[-1]) & (begun < end[-1])).any())

    def steps(self) -> Steps:
        """The steps, `partial` known."""
        if not self._steps.marked:
            return self._steps
        partial = np.zeros(len(self._steps), np.bool_)
        partial[0] |= self._first
        partial[-1] |= self._last
        return replace(self._steps, partial=partial)


def find_steps(trace: Trace, launches: Launches) -> Steps:
    """The steps of `trace`: one per number of a host mark, or one over everything if there is none."""
    marks = Marks()
    marks.add(trace.names, trace.operators, trace.annotations)
    partial = PartialSteps(marks.steps(launches.launched().last_end(marks.start, marks.end), *extent(trace)))
    partial.add_launches(launches)
    return partial.steps()
