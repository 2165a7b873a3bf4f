"""What the device does over the whole trace, and why it idles inside a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import IDLE_CAUSES
from tb_aiperf.trace.categories import Coverage, host_ranges
from tb_aiperf.trace.intervals import Intervals, difference, join, sweep, union
from tb_aiperf.trace.kinds import COLLECTIVE_CALL, SYNCHRONISATION, name_mask
from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import IntArray, Trace

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


def device_timeline(coverage: Coverage) -> DeviceTimeline | None:
    """The timeline, or None without device work."""
    compute = join([coverage.kernel, coverage.memset])
    communication, memcpy = coverage.collective_kernel, coverage.memcpy
    busy = join([compute, communication, memcpy])
    if not len(busy):
        return None
    low, high = busy.start[:1], busy.end[-1:]
    own, exposed, copied, idle = sweep([compute, communication, memcpy], low, high)[:, 0].tolist()
    return DeviceTimeline(
        compute=own,
        communication=communication.measure,
        communication_exposed=exposed,
        memcpy=memcpy.measure,
        memcpy_exposed=copied,
        busy=busy.measure,
        idle=idle,
        total=int(high[0] - low[0]),
    )


def idle_by_cause(trace: Trace, launches: Launches, coverage: Coverage, steps: Steps) -> IntArray | None:
    """[5, k] nanoseconds of device idle time in each step by `IDLE_CAUSES`; None without device work.

    input: a data-loading range goes on. synchronisation: the device ran dry while the host was blocked in a
    synchronising call, so that nothing could be queued behind it; the gap lasts until the next work starts.
    communication: the host is in a collective's call. launch: the host is in an operator or a runtime call, or the
    launch is on its way, and the queue is empty. The time between work that was queued in good time is the device's own
    and counts as other, as does time in which the host runs nothing that the profiler records.
    """
    busy = union(trace.device.start, trace.device.end)
    if not len(busy):
        return None
    # Gaps between the pieces of busy time. What lies before the first and behind the last has no next or previous.
    gap_start, gap_end = busy.end[:-1], busy.start[1:]
    launch_start = _first_launch(launches, gap_end)
    queued = launch_start <= gap_start
    sync = _synchronisations(trace)
    drained = sync.contains(gap_start - 1) & ~queued
    late = ~queued & (launch_start < gap_end)
    host = difference(join([coverage.cpu_op, coverage.runtime]), union(gap_start[queued], gap_end[queued]))
    return sweep(
        [
            busy,
            coverage.data_loading,
            union(gap_start[drained], gap_end[drained]),
            host_ranges(trace, name_mask(trace.names, COLLECTIVE_CALL)),
            join([host, union(launch_start[late], gap_end[late])]),
        ],
        steps.start,
        steps.end,
    )[1:]


def _first_launch(launches: Launches, moments: IntArray) -> IntArray:
    """[k] when the first of the work that starts at each moment was launched; that moment itself where unknown."""
    rows = np.flatnonzero(launches.known)
    order = rows[np.lexsort((launches.runtime.start[launches.call[rows]], launches.device.start[rows]))]
    start = launches.device.start[order]
    at = np.searchsorted(start, moments, side="left")
    found = np.append(start, -1)[at] == moments
    launched = np.append(launches.runtime.start[launches.call[order]], 0)[at]
    return np.where(found, np.minimum(launched, moments), moments)


def _synchronisations(trace: Trace) -> Intervals:
    blocking = name_mask(trace.names, SYNCHRONISATION)[trace.runtime.name]
    return union(trace.runtime.start[blocking], trace.runtime.end[blocking])
