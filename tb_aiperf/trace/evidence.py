"""Figures behind the findings: which calls block the host, how long kernels take, how fast they are launched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import DeviceWorkTimes, KernelTimes, OperationTimes, OperatorTimes
from tb_aiperf.trace.categories import collective_kernels
from tb_aiperf.trace.kinds import DATA_LOADING, SYNCHRONISATION, name_mask
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import KERNEL, BoolArray, IntArray
from tb_aiperf.trace.totals import Totals

#: Only the first and the last step may be partial, and that is known in the end: so figures are kept for each of them,
#: and for the rest.
_FIRST, _MIDDLE, _LAST = range(3)
#: Binary digits of a duration that its bin in a histogram tells, so that a median is right to half a percent.
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class CallTotal:
    """Calls of one name, and the time that they took. operator: in which operator, None for none."""

    name: str
    operator: str | None
    calls: int
    total_us: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `find_findings` cites.

    blocking         runtime calls that blocked the host until the device caught up, by operator, most time first
    loading          waits in a data loader, most time first
    kernels          number of kernels that are no collective's; kernel_us: their median, None without any
    launches         number of calls that launched kernels, after another on their thread; launch_interval_us: median
                     time from that one to them, None without any
    The above is of the steps that the findings are about, the rest of the whole trace.

    frames           whether Python frames were recorded
    others           records
    """

    blocking: Sequence[CallTotal] = ()
    loading: Sequence[CallTotal] = ()
    kernels: int = 0
    kernel_us: float | None = None
    launches: int = 0
    launch_interval_us: float | None = None
    frames: bool = False
    operator_times: Sequence[OperatorTimes] = ()
    kernel_times: Sequence[KernelTimes] = ()
    device_work: Sequence[DeviceWorkTimes] = ()
    operations: Sequence[OperationTimes] = ()


class EvidenceFinder:
    """Adds up the evidence, segment by segment. steps: of the whole trace."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._names: tuple[str, ...] = ()
        #: By part of the steps, call, operator and the operator around that: calls and nanoseconds.
        self._blocking = Totals(4, (np.add, np.add))
        #: By part of the steps and name: calls and nanoseconds.
        self._loading = Totals(2, (np.add, np.add))
        self._kernels, self._intervals = _Histogram(), _Histogram()
        #: When the last launch on a thread began.
        self._last: dict[int, int] = {}
        self._frames = False

    def add(self, segment: Segment) -> None:
        """Take what begins in a segment."""
        trace = segment.trace
        self._names = trace.names
        self._frames |= len(trace.python) > 0
        self._add_blocking(segment)
        loading = name_mask(trace.names, DATA_LOADING)
        for table in (trace.operators, trace.annotations):
            rows = np.flatnonzero(loading[table.name] & segment.begins(table.start))
            part, inside = self._part_of(table.start[rows])
            rows = rows[inside]
            duration = table.end[rows] - table.start[rows]
            self._loading.add(part, table.name[rows], np.ones(len(rows), np.int64), duration)
        device = trace.device
        kernels = device.select((device.category == KERNEL) & ~collective_kernels(trace) & segment.begins(device.start))
        part, inside = self._part_of(kernels.start)
        self._kernels.add(part, (kernels.end - kernels.start)[inside])
        self._add_intervals(segment)

    def _add_blocking(self, segment: Segment) -> None:
        runtime, operators = segment.trace.runtime, segment.operators
        blocking = name_mask(segment.trace.names, SYNCHRONISATION)[runtime.name]
        rows = np.flatnonzero(blocking & segment.begins(runtime.start))
        part, inside = self._part_of(runtime.start[rows])
        rows = rows[inside]
        inner = operators.nesting.innermost(runtime.thread[rows], runtime.start[rows])
        outer = np.append(operators.nesting.parent, -1)[inner]
        name = np.append(operators.calls.name, -1)
        duration = runtime.end[rows] - runtime.start[rows]
        ones = np.ones(len(rows), np.int64)
        self._blocking.add(part, runtime.name[rows], name[inner], name[outer], ones, duration)

    def _add_intervals(self, segment: Segment) -> None:
        """Take the launches of kernels. A call that launches several, such as a graph's, is one."""
        launched = segment.launched
        kernel = launched.device.category == KERNEL
        thread, start = launched.thread[kernel], launched.start[kernel]
        order = np.lexsort((start, thread))
        thread, start = thread[order], start[order]
        distinct = np.append(np.ones(min(1, len(start)), np.bool_), (np.diff(thread) != 0) | (np.diff(start) != 0))
        thread, start = thread[distinct], start[distinct]
        first = np.flatnonzero(np.append(np.ones(min(1, len(start)), np.bool_), np.diff(thread) != 0))
        before = np.append(start[:1], start[:-1])[: len(start)]
        before[first] = [self._last.get(number, begun) for number, begun in _pairs(thread, start, first)]
        last = np.append(first[1:], len(start))[: len(first)] - 1
        self._last.update(_pairs(thread, start, last))
        # The first launch of a thread has none before it.
        interval, start = (start - before)[start > before], start[start > before]
        part, inside = self._part_of(start)
        self._intervals.add(part, interval[inside])

    def _part_of(self, moments: IntArray) -> tuple[IntArray, BoolArray]:
        """[m] _FIRST, _MIDDLE or _LAST of each moment that lies in a step, and [n] which those are."""
        steps = self._steps
        step = np.searchsorted(steps.start, moments, side="right") - 1
        inside = step >= 0
        inside[inside] = moments[inside] < steps.end[step[inside]]
        step = step[inside]
        return np.where(step == 0, _FIRST, np.where(step == len(steps) - 1, _LAST, _MIDDLE)), inside

    def result(self, steps: Steps) -> Evidence:
        """The evidence of the steps that are not partial, of all if every one is. steps: as before, `partial` known."""
        whole = steps.judged
        wanted = np.array([whole[0], True, whole[-1]])
        kernels, kernel_ns = self._kernels.median(wanted)
        launches, interval_ns = self._intervals.median(wanted)
        return Evidence(
            blocking=self._sum(self._blocking, wanted),
            loading=self._sum(self._loading, wanted),
            kernels=kernels,
            kernel_us=kernel_ns and kernel_ns / 1000,
            launches=launches,
            launch_interval_us=interval_ns and interval_ns / 1000,
            frames=self._frames,
        )

    def _sum(self, totals: Totals, wanted: BoolArray) -> list[CallTotal]:
        part, name, *operators, calls, total = totals.columns()
        found: dict[tuple[str, str | None], tuple[int, int]] = defaultdict(lambda: (0, 0))
        for row in np.flatnonzero(wanted[part]).tolist():
            inside = [self._names[column[row]] for column in reversed(operators) if column[row] >= 0]
            key = self._names[name[row]], " > ".join(inside) or None
            found[key] = found[key][0] + int(calls[row]), found[key][1] + int(total[row])
        totals_found = [CallTotal(*key, count, time / 1000) for key, (count, time) in found.items()]
        return sorted(totals_found, key=lambda call: (-call.total_us, call.name, call.operator or ""))


def _pairs(thread: IntArray, start: IntArray, rows: IntArray) -> list[tuple[int, int]]:
    return list(zip(thread[rows].tolist(), start[rows].tolist(), strict=True))


class _Histogram:
    """Counts of durations, by part of the steps, in bins that are narrow against what they hold."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, (66 - _DIGITS) << (_DIGITS - 1)), np.int64)

    def add(self, part: IntArray, duration: IntArray) -> None:
        """Take durations in nanoseconds, at least 0."""
        # The leading binary digits and how many there are behind them.
        shift = np.maximum(np.frexp(duration.astype(np.float64))[1] - _DIGITS, 0)
        bins = (shift.astype(np.int64) << (_DIGITS - 1)) + (duration >> shift)
        np.add.at(self._counts, (part, bins), 1)

    def median(self, wanted: BoolArray) -> tuple[int, float | None]:
        """The number of durations in the wanted parts, and their median; None without any."""
        counts = self._counts[wanted].sum(axis=0)
        total = int(counts.sum())
        if not total:
            return 0, None
        place = int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
        shift = max((place >> (_DIGITS - 1)) - 1, 0)
        low = (place - (shift << (_DIGITS - 1))) << shift
        return total, low + ((1 << shift) - 1) / 2
