"""What the device does over the whole trace, and why it idles inside a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.records import IDLE_CAUSES
from tb_aiperf.trace.categories import Coverage, host_ranges
from tb_aiperf.trace.intervals import Intervals, difference, join, sweep, union
from tb_aiperf.trace.kinds import COLLECTIVE_CALL, SYNCHRONISATION, name_mask
from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import BoolArray, IntArray, Trace

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment

IDLE_KEYS = tuple(cause.key for cause in IDLE_CAUSES)


@dataclass(frozen=True, slots=True)
class DeviceTimeline:
    """Nanoseconds over the time from the first to the last piece of device work, several devices taken as one.

    compute: kernels that are no collective, and memory sets. communication: collectives' kernels. memcpy: copies.
    The exposed parts go on while nothing before them does: communication without compute, copies without either.
    busy: any of them; idle: none. ``compute + communication_exposed + memcpy_exposed + idle == total``.
    """

    compute: int
    communication: int
    communication_exposed: int
    memcpy: int
    memcpy_exposed: int
    busy: int
    idle: int
    total: int


class DeviceTimelineTotals:
    """The timeline of a trace, added up segment by segment."""

    def __init__(self) -> None:
        self._exclusive = np.zeros(4, np.int64)
        self._communication = self._memcpy = 0
        self._extent: tuple[int, int] | None = None

    def add(self, segment: Segment, coverage: Coverage) -> None:
        """Take the device work inside a segment's window."""
        compute = join([coverage.kernel, coverage.memset])
        self._add([compute, coverage.collective_kernel, coverage.memcpy], segment.low, segment.high)

    def add_all(self, coverage: Coverage) -> None:
        """Take all device work of a trace."""
        layers = [join([coverage.kernel, coverage.memset]), coverage.collective_kernel, coverage.memcpy]
        busy = join(layers)
        if len(busy):
            self._add(layers, int(busy.start[0]), int(busy.end[-1]))

    def _add(self, layers: list[Intervals], low: int, high: int) -> None:
        worked = [layer for layer in layers if len(layer)]
        if not worked:
            return
        window = np.array([low]), np.array([high])
        self._exclusive += sweep(layers, *window)[:, 0]
        self._communication += int(layers[1].within(*window)[0])
        self._memcpy += int(layers[2].within(*window)[0])
        first, last = min(int(layer.start[0]) for layer in worked), max(int(layer.end[-1]) for layer in worked)
        before = self._extent or (first, last)
        self._extent = min(before[0], first), max(before[1], last)

    def result(self) -> DeviceTimeline | None:
        """The timeline, or None without device work."""
        if self._extent is None:
            return None
        compute, exposed, copied, _ = self._exclusive.tolist()
        busy, total = compute + exposed + copied, self._extent[1] - self._extent[0]
        return DeviceTimeline(
            compute=compute,
            communication=self._communication,
            communication_exposed=exposed,
            memcpy=self._memcpy,
            memcpy_exposed=copied,
            busy=busy,
            idle=total - busy,
            total=total,
        )


def device_timeline(coverage: Coverage) -> DeviceTimeline | None:
    """The timeline, or None without device work."""
    totals = DeviceTimelineTotals()
    totals.add_all(coverage)
    return totals.result()


class IdleTotals:
    """Nanoseconds of device idle time in each step by `IDLE_CAUSES`, added up segment by segment.

    input: a data-loading range goes on. synchronisation: the device ran dry while the host was blocked in a
    synchronising call, so that nothing could be queued behind it; the gap lasts until the next work starts.
    communication: the host is in a collective's call. launch: the host is in an operator or a runtime call, or the
    launch is on its way, and the queue is empty. The time between work that was queued in good time is the device's own
    and counts as other, as does time in which the host runs nothing that the profiler records.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._times = np.zeros((len(IDLE_KEYS), len(steps)), np.int64)
        self._any_work = False
        #: Whether the host was blocked when the last device work before the segment ended.
        self._blocked = False

    def add(self, segment: Segment, coverage: Coverage) -> None:
        """Take the part of the steps that lies in a segment."""
        before = segment.work_before
        if not len(segment.trace.device) and before is None and segment.work_after is None:
            return  # the trace has no device work
        inside, start, end = self._steps.within(segment.low, segment.high)
        if before is not None and before > segment.low:
            before = None  # what it belongs to is among the segment's rows
        gaps = self._gaps(segment.trace, segment.launches, before, segment.work_after)
        self._times[:, inside] += _sweep_idle(segment.trace, coverage, gaps, start, end)

    def add_all(self, trace: Trace, launches: Launches, coverage: Coverage) -> None:
        """Take all steps of a trace."""
        gaps = self._gaps(trace, launches, None, None)
        self._times += _sweep_idle(trace, coverage, gaps, self._steps.start, self._steps.end)

    def result(self) -> IntArray | None:
        """[5, k] nanoseconds; None without device work."""
        return self._times if self._any_work else None

    def _gaps(self, trace: Trace, launches: Launches, before: int | None, after: tuple[int, int] | None) -> _Gaps:
        """The gaps between the pieces of busy time. What lies before the first and behind the last is none.

        before: end of the last work before these rows. after: start of the next behind them, and of its launch.
        """
        busy = union(trace.device.start, trace.device.end)
        self._any_work |= bool(len(busy))
        earlier = np.array([] if before is None else [before], np.int64)
        ends = np.append(earlier, busy.end)
        blocked = _synchronisations(trace).contains(ends - 1)
        if len(earlier):
            blocked[0] = self._blocked
        if len(ends):
            self._blocked = bool(blocked[-1])
        starts = busy.start if len(earlier) else busy.start[1:]
        launched = _first_launch(launches, starts)
        if after is not None and len(ends) and after[0] > ends[-1]:
            starts, launched = np.append(starts, after[0]), np.append(launched, after[1])
        count = len(starts)
        return _Gaps(busy, ends[:count], starts, blocked[:count], launched)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """n gaps between device work.

    busy      the work
    start, end  [n] nanoseconds: when the work before ends, and when the next starts
    blocked   [n] whether the host was blocked when the gap began
    launched  [n] nanoseconds: when the next work was launched
    """

    busy: Intervals
    start: IntArray
    end: IntArray
    blocked: BoolArray
    launched: IntArray


def idle_by_cause(trace: Trace, launches: Launches, coverage: Coverage, steps: Steps) -> IntArray | None:
    """[5, k] nanoseconds of device idle time in each step by `IDLE_CAUSES`, see `IdleTotals`; None without work."""
    totals = IdleTotals(steps)
    totals.add_all(trace, launches, coverage)
    return totals.result()


def _sweep_idle(trace: Trace, coverage: Coverage, gaps: _Gaps, start: IntArray, end: IntArray) -> IntArray:
    """[5, k] nanoseconds of idle time by cause in each window."""
    queued = gaps.launched <= gaps.start
    drained = gaps.blocked & ~queued
    late = ~queued & (gaps.launched < gaps.end)
    host = difference(join([coverage.cpu_op, coverage.runtime]), union(gaps.start[queued], gaps.end[queued]))
    return sweep(
        [
            gaps.busy,
            coverage.data_loading,
            union(gaps.start[drained], gaps.end[drained]),
            host_ranges(trace, name_mask(trace.names, COLLECTIVE_CALL)),
            join([host, union(gaps.launched[late], gaps.end[late])]),
        ],
        start,
        end,
    )[1:]


def _first_launch(launches: Launches, moments: IntArray) -> IntArray:
    """[k] when the first of the work that starts at each moment was launched; that moment itself where unknown."""
    rows = np.flatnonzero(launches.known)
    order = rows[np.lexsort((launches.start[rows], launches.device.start[rows]))]
    start = launches.device.start[order]
    at = np.searchsorted(start, moments, side="left")
    found = np.append(start, -1)[at] == moments
    launched = np.append(launches.start[order], 0)[at]
    return np.where(found, np.minimum(launched, moments), moments)


def _synchronisations(trace: Trace) -> Intervals:
    blocking = name_mask(trace.names, SYNCHRONISATION)[trace.runtime.name]
    return union(trace.runtime.start[blocking], trace.runtime.end[blocking])
