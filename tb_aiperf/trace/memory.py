"""Memory of each device over time, from the profiler's ``[memory]`` events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.memory_counts import DeviceKey, MemoryCount, count_memory
from tb_aiperf.trace.operators import OperatorCalls
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.table import IntArray, MemoryEvents, Trace

#: A curve keeps at most this many points; each stands for the highest moment of an equal number of events.
CURVE_POINTS = 512
#: A machine has fewer; a damaged file may tell of any number.
MAX_DEVICES = 64
#: `holder` of memory that no operator asked for.
NO_OPERATOR = -1


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory of one device.

    device_type, device  torch's numbers: type 0 is the CPU
    time, allocated      [k] nanoseconds and bytes
    reserved             [k] bytes that the allocator holds, None where not recorded
    relative             True: the profiler recorded no totals, so `allocated` counts from the start of the trace
    peak_time, peak_allocated  the highest moment; peak_reserved: None where not recorded
    holder, held         [h] index into `Trace.names` of the innermost operator that asked for it (`NO_OPERATOR` if
                         none) and bytes still held at the peak, largest first. Memory from before the trace has none
    """

    device_type: int
    device: int
    time: IntArray
    allocated: IntArray
    reserved: IntArray | None
    relative: bool
    peak_time: int
    peak_allocated: int
    peak_reserved: int | None
    holder: IntArray
    held: IntArray


class MemoryTotals:
    """Memory of each device of a trace, of the `MAX_DEVICES` with most events, segment by segment.

    counts: of all its events.
    """

    def __init__(self, counts: Mapping[DeviceKey, MemoryCount]) -> None:
        busiest = sorted(counts, key=lambda key: (-counts[key].events, key))
        self._devices = {key: _DeviceTotals(key, counts[key]) for key in sorted(busiest[:MAX_DEVICES])}
        self._left_out = len(counts) - len(self._devices)

    def add(self, segment: Segment) -> None:
        """Take the events of a segment."""
        self.add_all(segment.trace.memory, segment.operators)

    def add_all(self, events: MemoryEvents, operators: OperatorCalls) -> None:
        """Take events that are later than those so far. operators: those that may have asked for memory."""
        first, label = label_groups(events.device_type, events.device)
        by_device = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
        for place, rows in zip(first.tolist(), by_device, strict=False):
            key = int(events.device_type[place]), int(events.device[place])
            if key in self._devices:
                self._devices[key].add(events.select(rows), operators)

    def warnings(self) -> list[str]:
        """How many devices are left out, if any."""
        return [f"memory of {self._left_out:,} devices with few events is left out"] if self._left_out else []

    def devices(self) -> list[DeviceMemory]:
        """One entry per device that has events."""
        return [device.result() for device in self._devices.values()]


def find_memory(trace: Trace, operators: OperatorCalls) -> list[DeviceMemory]:
    """One entry per device that has memory events; empty if the profiler recorded none."""
    totals = MemoryTotals(count_memory(trace.memory))
    totals.add_all(trace.memory, operators)
    return totals.devices()


@dataclass(frozen=True, slots=True)
class _Live:
    """n allocations that have not been released. holder: [n] index into `Trace.names`, or `NO_OPERATOR`."""

    address: IntArray
    size: IntArray
    holder: IntArray


class _DeviceTotals:
    """Memory of one device, batch by batch in time order."""

    def __init__(self, key: DeviceKey, count: MemoryCount) -> None:
        self._key = key
        self._count = count
        # The CPU's totals are written as zero: its allocator keeps none.
        self._relative = not count.allocated
        self._seen = 0
        self._held = 0
        self._live = _Live(*(np.zeros(0, np.int64) for _ in range(3)))
        self._curve = _Curve(count.events)
        self._peak: tuple[int, int] | None = None
        self._peak_reserved = 0
        self._holders = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def add(self, events: MemoryEvents, operators: OperatorCalls) -> None:
        """Take events that are later than those so far."""
        events = events.select(np.argsort(events.time, kind="stable"))
        allocated = self._held + np.cumsum(events.size) if self._relative else events.allocated
        self._curve.add(allocated, events.time, events.reserved)
        peak = int(allocated.argmax())
        if self._peak is None or allocated[peak] > self._peak[0]:
            self._peak = int(allocated[peak]), int(events.time[peak])
            live = _still_live(self._live, events.select(slice(0, peak + 1)), operators)
            holder, label = np.unique(live.holder, return_inverse=True)
            held = sums(label, live.size, len(holder))
            largest = np.lexsort((holder, -held))
            self._holders = holder[largest], held[largest]
        self._peak_reserved = max(self._peak_reserved, int(events.reserved.max()))
        self._held = int(allocated[-1])
        self._seen += len(events)
        if self._seen < self._count.events:
            self._live = _still_live(self._live, events, operators)

    def result(self) -> DeviceMemory:
        """All that was found."""
        assert self._peak is not None, "every device has events"
        allocated, time, reserved = self._curve.points()
        return DeviceMemory(
            device_type=self._key[0],
            device=self._key[1],
            time=time,
            allocated=allocated,
            reserved=reserved if self._count.reserved else None,
            relative=self._relative,
            peak_time=self._peak[1],
            peak_allocated=self._peak[0],
            peak_reserved=self._peak_reserved if self._count.reserved else None,
            holder=self._holders[0],
            held=self._holders[1],
        )


class _Curve:
    """The highest of each of at most `CURVE_POINTS` groups of neighbours, with what belongs to it. count: of values."""

    def __init__(self, count: int) -> None:
        self._edges = np.unique(np.linspace(0, count, min(count, CURVE_POINTS) + 1).astype(np.int64))
        self._best: list[IntArray | None] = [None] * (len(self._edges) - 1)
        self._seen = 0

    def add(self, *columns: IntArray) -> None:
        """Take more rows: the values, and what belongs to them."""
        rows = np.array(columns)
        first = self._seen
        self._seen += rows.shape[1]
        group = int(np.searchsorted(self._edges, first, side="right")) - 1
        while group < len(self._best) and self._edges[group] < self._seen:
            low, high = max(int(self._edges[group]), first), min(int(self._edges[group + 1]), self._seen)
            # A copy: a view would keep all rows.
            highest = rows[:, low - first + int(rows[0, low - first : high - first].argmax())].copy()
            best = self._best[group]
            if best is None or highest[0] > best[0]:
                self._best[group] = highest
            group += 1

    def points(self) -> IntArray:
        """[columns, k] the highest rows."""
        return np.array([best for best in self._best if best is not None]).T


def _still_live(before: _Live, events: MemoryEvents, operators: OperatorCalls) -> _Live:
    """What lives after some events."""
    address = np.append(before.address, events.address)
    size = np.append(before.size, events.size)
    # An address is in use if the last that happened to it is an allocation.
    order = np.argsort(address, kind="stable")
    last = order[np.append(np.diff(address[order]) != 0, np.ones(min(1, len(order)), np.bool_))]
    live = last[(size[last] > 0) & (address[last] >= 0)]
    old, new = live[live < len(before.address)], live[live >= len(before.address)]
    asked = events.select(new - len(before.address))
    place = operators.nesting.innermost(asked.thread, asked.time)
    names = np.append(operators.calls.name.astype(np.int64), NO_OPERATOR)[place]
    kept = np.append(old, new)
    return _Live(address[kept], size[kept], np.append(before.holder[old], names))
