"""Tables of the analysis as records: names instead of indices, microseconds instead of nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tb_aiperf.records import (
    CategoryTimes,
    DeviceMemoryProfile,
    DeviceTimes,
    IdleTimes,
    KernelTimes,
    MemoryHolder,
    ModuleTimes,
    OperatorShapeTimes,
    OperatorSteps,
    OperatorTimes,
    StepProfile,
)
from tb_aiperf.trace.categories import CATEGORY_KEYS
from tb_aiperf.trace.device_timeline import IDLE_KEYS, DeviceTimeline
from tb_aiperf.trace.kernels import KernelTable
from tb_aiperf.trace.kinds import COLLECTIVE_KERNEL, name_mask
from tb_aiperf.trace.memory import NO_OPERATOR, DeviceMemory
from tb_aiperf.trace.modules import ModuleTable
from tb_aiperf.trace.operator_totals import OperatorStepTable, OperatorTable
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import IntArray, Trace

#: torch's numbers of device types.
_DEVICE_TYPES = {0: "cpu", 1: "cuda", 12: "xpu", 13: "mps", 15: "hpu", 20: "privateuse1"}
#: Holders of memory beyond these are small.
_MAX_HOLDERS = 20


def microseconds(nanoseconds: int) -> float:
    """Nanoseconds as microseconds with three decimals."""
    return nanoseconds / 1000


def all_microseconds(nanoseconds: IntArray) -> list[float]:
    """Nanoseconds as microseconds with three decimals."""
    values: list[float] = (nanoseconds / 1000).tolist()
    return values


def step_records(steps: Steps, categories: IntArray, idle: IntArray | None, origin: int) -> list[StepProfile]:
    """categories: [8, k] nanoseconds. idle: [5, k] nanoseconds. origin: nanoseconds of the first event."""
    profiles = []
    for row in range(len(steps)):
        times = dict(zip(CATEGORY_KEYS, all_microseconds(categories[:, row]), strict=True))
        causes = None if idle is None else dict(zip(IDLE_KEYS, all_microseconds(idle[:, row]), strict=True))
        profiles.append(
            StepProfile(
                step=int(steps.number[row]) if steps.marked else None,
                start_us=microseconds(int(steps.start[row]) - origin),
                duration_us=microseconds(int(steps.end[row] - steps.start[row])),
                partial=bool(steps.partial[row]),
                categories_us=CategoryTimes(**times),
                idle_us=None if causes is None else IdleTimes(**causes),
            )
        )
    return profiles


def timeline_record(timeline: DeviceTimeline) -> DeviceTimes:
    """The device's timeline."""
    return DeviceTimes(**{name: microseconds(getattr(timeline, name)) for name in DeviceTimes.__struct_fields__})


def operator_records(trace: Trace, table: OperatorTable) -> list[OperatorTimes]:
    """Operators by name."""
    return [
        OperatorTimes(name=trace.names[name], **times)
        for name, times in zip(table.name.tolist(), _operator_times(table), strict=True)
    ]


def operator_shape_records(trace: Trace, table: OperatorTable) -> list[OperatorShapeTimes]:
    """Operators by name and input shapes."""
    return [
        OperatorShapeTimes(name=trace.names[name], shapes=trace.shapes[shapes] if shapes >= 0 else None, **times)
        for name, shapes, times in zip(table.name.tolist(), table.shapes.tolist(), _operator_times(table), strict=True)
    ]


def _operator_times(table: OperatorTable) -> Iterator[dict[str, Any]]:
    columns = (table.host_self, table.host_total, table.device_self, table.device_total)
    names = ("calls", "host_self_us", "host_total_us", "device_us", "device_total_us")
    for row in zip(table.calls.tolist(), *map(all_microseconds, columns), strict=True):
        yield dict(zip(names, row, strict=True))


def operator_step_records(trace: Trace, table: OperatorStepTable) -> list[OperatorSteps]:
    """Most time first."""
    rows = zip(table.name.tolist(), table.calls.tolist(), table.host_self, table.device_self, strict=True)
    return [
        OperatorSteps(
            name=trace.names[name],
            calls=calls,
            host_self_us=all_microseconds(host_self),
            device_us=all_microseconds(device_self),
        )
        for name, calls, host_self, device_self in rows
    ]


def module_records(trace: Trace, table: ModuleTable) -> list[ModuleTimes]:
    """Modules."""
    numbers = (table.name, table.module, table.parent, table.calls)
    times = (table.host_self, table.host_total, table.device_total)
    rows = zip(*(column.tolist() for column in numbers), *map(all_microseconds, times), strict=True)
    return [
        ModuleTimes(
            name=trace.names[name],
            module=module,
            parent=parent if parent >= 0 else None,
            calls=calls,
            host_self_us=own,
            host_total_us=total,
            device_us=device,
        )
        for name, module, parent, calls, own, total, device in rows
    ]


def kernel_records(trace: Trace, table: KernelTable) -> list[KernelTimes]:
    """Kernels."""
    times = map(all_microseconds, (table.total, table.low, table.high))
    collective = name_mask(trace.names, COLLECTIVE_KERNEL, anywhere=True)
    return [
        KernelTimes(
            name=trace.names[name],
            communication=bool(collective[name]),
            calls=calls,
            total_us=total,
            min_us=low,
            max_us=high,
        )
        for name, calls, total, low, high in zip(table.name.tolist(), table.calls.tolist(), *times, strict=True)
    ]


def memory_record(trace: Trace, memory: DeviceMemory, origin: int) -> DeviceMemoryProfile:
    """Memory of one device. origin: nanoseconds of the first event."""
    kind = _DEVICE_TYPES.get(memory.device_type, f"device type {memory.device_type}")
    largest = zip(memory.holder[:_MAX_HOLDERS].tolist(), memory.held[:_MAX_HOLDERS].tolist(), strict=True)
    return DeviceMemoryProfile(
        device=kind if memory.device < 0 else f"{kind}:{memory.device}",
        relative=memory.relative,
        peak_us=microseconds(memory.peak_time - origin),
        peak_allocated_bytes=memory.peak_allocated,
        peak_reserved_bytes=memory.peak_reserved,
        time_us=all_microseconds(memory.time - origin),
        allocated_bytes=memory.allocated.tolist(),
        reserved_bytes=None if memory.reserved is None else memory.reserved.tolist(),
        holders=[
            MemoryHolder(operator=None if name == NO_OPERATOR else trace.names[name], bytes=held)
            for name, held in largest
        ],
    )
