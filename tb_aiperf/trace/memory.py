"""Memory of each device over time, from the profiler's ``[memory]`` events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.operators import OperatorCalls
from tb_aiperf.trace.table import IntArray, MemoryEvents, Trace

#: A curve keeps at most this many points; each stands for the highest moment of an equal number of events.
CURVE_POINTS = 512
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


def find_memory(trace: Trace, operators: OperatorCalls) -> list[DeviceMemory]:
    """One entry per device that has memory events; empty if the profiler recorded none."""
    first, label = label_groups(trace.memory.device_type, trace.memory.device)
    return [_device_memory(trace.memory.select(label == device), operators) for device in range(len(first))]


def _device_memory(events: MemoryEvents, operators: OperatorCalls) -> DeviceMemory:
    events = events.select(np.argsort(events.time, kind="stable"))
    # The CPU's totals are written as zero: its allocator keeps none.
    relative = not (events.allocated > 0).any()
    allocated = np.cumsum(events.size) if relative else events.allocated
    reserved = events.reserved if (events.reserved > 0).any() else None
    peak = int(allocated.argmax())
    kept = _curve(allocated)
    holder, held = _holders(events, peak, operators)
    return DeviceMemory(
        device_type=int(events.device_type[0]),
        device=int(events.device[0]),
        time=events.time[kept],
        allocated=allocated[kept],
        reserved=None if reserved is None else reserved[kept],
        relative=relative,
        peak_time=int(events.time[peak]),
        peak_allocated=int(allocated[peak]),
        peak_reserved=None if reserved is None else int(reserved.max()),
        holder=holder,
        held=held,
    )


def _curve(values: IntArray) -> IntArray:
    """Rows of the highest value in each of at most `CURVE_POINTS` groups of neighbours."""
    edges = np.unique(np.linspace(0, len(values), min(len(values), CURVE_POINTS) + 1).astype(np.int64))
    return np.array(
        [
            low + int(values[low:high].argmax())
            for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
    )


def _holders(events: MemoryEvents, peak: int, operators: OperatorCalls) -> tuple[IntArray, IntArray]:
    """Operators whose allocations live at row `peak`, and how much they hold."""
    before = events.select(slice(0, peak + 1))
    # An address is in use if the last that happened to it up to the peak is an allocation.
    order = np.argsort(before.address, kind="stable")
    last = np.append(np.diff(before.address[order]) != 0, True)
    live = order[last]
    live = live[(before.size[live] > 0) & (before.address[live] >= 0)]
    place = operators.nesting.innermost(before.thread[live], before.time[live])
    names = np.append(operators.calls.name.astype(np.int64), NO_OPERATOR)[place]
    holder, label = np.unique(names, return_inverse=True)
    held = sums(label, before.size[live], len(holder))
    largest = np.lexsort((holder, -held))
    return holder[largest], held[largest]
