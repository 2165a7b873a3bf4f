"""`Checks`: what is missing or doubtful in a trace, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.trace.categories import Coverage
from tb_aiperf.trace.table import Trace

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment

#: Work on one stream runs in order. Clocks and branches of a graph overlap by less than this, wrong durations by more.
_MAX_OVERLAP_NS = 1_000_000


class Checks:
    """Counts what a reader of the figures must know, segment by segment.

    trace: tells what is known of the whole file; its rows do not matter.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._operators = self._loading = self._memory = False
        self._work = self._lost = self._missing = 0
        #: Pieces of device work on each stream, and when the last of those so far ends, at the least int64 for none.
        self._on_stream = np.zeros(len(trace.threads), np.int64)
        self._stream_end = np.full(len(trace.threads), np.iinfo(np.int64).min)
        self._outlasting = self._longest = 0

    def add(self, segment: Segment, coverage: Coverage) -> None:
        """Look at what begins in a segment."""
        trace, launches = segment.trace, segment.launches
        self._operators |= bool(len(trace.operators))
        self._loading |= bool(len(coverage.data_loading))
        self._memory |= bool(len(trace.memory))
        self._missing += int((launches.missing & segment.begins(trace.runtime.start)).sum())
        begins = segment.begins(trace.device.start)
        self._work += int(begins.sum())
        self._lost += int((begins & ~launches.known).sum())
        self._follow(trace.device.thread[begins], trace.device.start[begins], trace.device.end[begins])

    def _follow(self, thread: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        """How many pieces of device work run past the start of the next on their stream, and the longest overlap."""
        order = np.lexsort((start, thread))
        thread, start, end = thread[order], start[order], end[order]
        first = np.flatnonzero(np.append(np.ones(min(1, len(thread)), np.bool_), np.diff(thread) != 0))
        before = np.append(self._stream_end[:1], end[:-1])[: len(end)]
        before[first] = self._stream_end[thread[first]]
        # Never is far away: a difference to it would overflow.
        overlap = np.where(before > start, before - np.minimum(start, before), 0)
        self._outlasting += int((overlap > _MAX_OVERLAP_NS).sum())
        self._longest = max(self._longest, int(overlap.max(initial=0)))
        last = np.append(first[1:], len(thread))[: len(first)] - 1
        self._stream_end[thread[first]] = end[last]
        self._on_stream += np.bincount(thread, minlength=len(self._on_stream))

    def device_name(self) -> str:
        """Name of the device that ran most of the work, ``cpu`` where none did."""
        used = self._used_devices()
        if not used:
            return "cpu"
        names = {device.id: device.name for device in self._trace.devices}
        number = used[0][0]
        return (names.get(number) if isinstance(number, int) else None) or f"device {number}"

    @property
    def has_device_work(self) -> bool:
        """Whether any device ran anything."""
        return self._work > 0

    def warnings(self) -> list[str]:
        """Why something is missing or doubtful."""
        warnings = []
        if self._trace.world_size is None:
            warnings.append("world size unknown: the file has no distributedInfo")
        if not self._operators:
            warnings.append("no operators: the profiler recorded no CPU activity")
        if not self._loading:
            warnings.append("no data-loading range was recorded: waiting for data, if any, counts as other")
        if not self._memory:
            warnings.append("no memory events: the profiler recorded them only with profile_memory=True")
        if not self._work:
            return [*warnings, "no device work: the profiler recorded the CPU only, so device figures are missing"]
        devices = self._used_devices()
        if len(devices) > 1:
            warnings.append(
                f"work of {len(devices)} devices is taken together: the device is busy while any of them is"
            )
        if self._outlasting:
            warnings.append(
                f"{self._outlasting} pieces of device work outlast the start of the next on their stream, by up to "
                f"{self._longest / 1e6:.3f} ms: the profiler's durations cannot be trusted there"
            )
        if self._lost:
            warnings.append(
                f"{self._lost} of {self._work} pieces of device work have no launch in the trace: "
                "they were launched before it began, or the profiler dropped calls"
            )
        if self._missing:
            warnings.append(
                f"{self._missing} kernel launches have no kernel in the trace: "
                "the profiler dropped or cut off device work, or a graph was being captured"
            )
        return warnings

    def _used_devices(self) -> list[tuple[int | str, int]]:
        """Devices with their pieces of work, the busiest first."""
        used: Counter[int | str] = Counter()
        for (device, _), count in zip(self._trace.threads, self._on_stream.tolist(), strict=True):
            if count:
                used[device] += count
        return used.most_common()
