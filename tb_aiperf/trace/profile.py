"""`profile_trace`: a `Trace` as a `TraceProfile`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_aiperf.records import (
    CategoryTimes,
    DeviceMemoryProfile,
    DeviceTimes,
    IdleTimes,
    KernelTimes,
    MemoryHolder,
    MemoryProfile,
    ModuleTimes,
    OperatorShapeTimes,
    OperatorTimes,
    StepProfile,
    TraceProfile,
)
from tb_aiperf.trace.categories import CATEGORY_KEYS, Coverage, break_down, find_coverage
from tb_aiperf.trace.device_timeline import IDLE_KEYS, DeviceTimeline, device_timeline, idle_by_cause
from tb_aiperf.trace.findings import find_findings
from tb_aiperf.trace.intervals import union
from tb_aiperf.trace.kernels import summarise_kernels
from tb_aiperf.trace.kinds import COLLECTIVE_KERNEL, name_mask
from tb_aiperf.trace.launches import Launches, find_launches
from tb_aiperf.trace.memory import NO_OPERATOR, DeviceMemory, find_memory
from tb_aiperf.trace.modules import summarise_modules
from tb_aiperf.trace.operators import OperatorCalls, OperatorTable, find_operators, summarise
from tb_aiperf.trace.steps import Steps, extent, find_steps
from tb_aiperf.trace.table import IntArray, Trace

#: torch's numbers of device types.
_DEVICE_TYPES = {0: "cpu", 1: "cuda", 12: "xpu", 13: "mps", 15: "hpu", 20: "privateuse1"}
#: Work on one stream runs in order. Clocks and branches of a graph overlap by less than this, wrong durations by more.
_MAX_OVERLAP_NS = 1_000_000
#: Holders beyond these are small.
_MAX_HOLDERS = 20


def profile_trace(trace: Trace) -> TraceProfile:
    """Everything that a trace tells, as a record."""
    launches = find_launches(trace)
    steps = find_steps(trace, launches)
    coverage = find_coverage(trace)
    categories = break_down(coverage, steps)
    idle = idle_by_cause(trace, launches, coverage, steps)
    timeline = device_timeline(coverage)
    operators = find_operators(trace, launches)
    origin = extent(trace)[0]
    memory = [_memory(trace, device, origin) for device in find_memory(trace, operators)]
    has_device = bool(len(trace.device))
    return TraceProfile(
        path=trace.path,
        rank=trace.rank,
        world_size=trace.world_size,
        device=_device_name(trace),
        marked=steps.marked,
        warnings=[*trace.warnings, *steps.warnings, *_warnings(trace, launches, coverage)],
        steps=_steps(steps, categories, idle, origin),
        device_timeline_us=None if timeline is None else _timeline(timeline),
        operators=_operators(trace, operators),
        operators_by_shape=_operators_by_shape(trace, operators),
        call_sites=None,
        modules=_modules(trace, launches),
        kernels=_kernels(trace),
        device_work=[],
        unattributed_device_us=microseconds(operators.unattributed) if has_device else None,
        memory=MemoryProfile(devices=memory) if memory else None,
        collectives=[],
        profiler_overhead_us=_overhead(trace, steps),
        findings=find_findings(steps, categories),
    )


def microseconds(nanoseconds: int) -> float:
    """Nanoseconds as microseconds with three decimals."""
    return nanoseconds / 1000


def _all_microseconds(nanoseconds: IntArray) -> list[float]:
    values: list[float] = (nanoseconds / 1000).tolist()
    return values


def _steps(steps: Steps, categories: IntArray, idle: IntArray | None, origin: int) -> list[StepProfile]:
    profiles = []
    for row in range(len(steps)):
        times = dict(zip(CATEGORY_KEYS, _all_microseconds(categories[:, row]), strict=True))
        causes = None if idle is None else dict(zip(IDLE_KEYS, _all_microseconds(idle[:, row]), strict=True))
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


def _timeline(timeline: DeviceTimeline) -> DeviceTimes:
    return DeviceTimes(**{name: microseconds(getattr(timeline, name)) for name in DeviceTimes.__struct_fields__})


def _operators(trace: Trace, operators: OperatorCalls) -> list[OperatorTimes]:
    table = summarise(operators)
    return [
        OperatorTimes(name=trace.names[name], **times)
        for name, times in zip(table.name.tolist(), _operator_times(table), strict=True)
    ]


def _operators_by_shape(trace: Trace, operators: OperatorCalls) -> list[OperatorShapeTimes] | None:
    if not (operators.calls.shapes >= 0).any():
        return None
    table = summarise(operators, by_shape=True)
    return [
        OperatorShapeTimes(name=trace.names[name], shapes=trace.shapes[shapes] if shapes >= 0 else None, **times)
        for name, shapes, times in zip(table.name.tolist(), table.shapes.tolist(), _operator_times(table), strict=True)
    ]


def _operator_times(table: OperatorTable) -> Iterator[dict[str, Any]]:
    columns = (table.host_self, table.host_total, table.device_self, table.device_total)
    names = ("calls", "host_self_us", "host_total_us", "device_us", "device_total_us")
    for row in zip(table.calls.tolist(), *map(_all_microseconds, columns), strict=True):
        yield dict(zip(names, row, strict=True))


def _modules(trace: Trace, launches: Launches) -> list[ModuleTimes] | None:
    table = summarise_modules(trace, launches)
    if table is None:
        return None
    numbers = (table.name, table.module, table.parent, table.calls)
    times = (table.host_self, table.host_total, table.device_total)
    rows = zip(*(column.tolist() for column in numbers), *map(_all_microseconds, times), strict=True)
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


def _overhead(trace: Trace, steps: Steps) -> float | None:
    if not len(trace.overhead):
        return None
    at_work = union(trace.overhead.start, trace.overhead.end)
    return microseconds(int(at_work.within(steps.start, steps.end).sum()))


def _kernels(trace: Trace) -> list[KernelTimes]:
    table = summarise_kernels(trace)
    times = map(_all_microseconds, (table.total, table.low, table.high))
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


def _memory(trace: Trace, memory: DeviceMemory, origin: int) -> DeviceMemoryProfile:
    kind = _DEVICE_TYPES.get(memory.device_type, f"device type {memory.device_type}")
    largest = zip(memory.holder[:_MAX_HOLDERS].tolist(), memory.held[:_MAX_HOLDERS].tolist(), strict=True)
    return DeviceMemoryProfile(
        device=kind if memory.device < 0 else f"{kind}:{memory.device}",
        relative=memory.relative,
        peak_us=microseconds(memory.peak_time - origin),
        peak_allocated_bytes=memory.peak_allocated,
        peak_reserved_bytes=memory.peak_reserved,
        time_us=_all_microseconds(memory.time - origin),
        allocated_bytes=memory.allocated.tolist(),
        reserved_bytes=None if memory.reserved is None else memory.reserved.tolist(),
        holders=[
            MemoryHolder(operator=None if name == NO_OPERATOR else trace.names[name], bytes=held)
            for name, held in largest
        ],
    )


def _used_devices(trace: Trace) -> list[tuple[int | str, int]]:
    """Devices with their pieces of work, the busiest first."""
    work = np.bincount(trace.device.thread, minlength=len(trace.threads)).tolist()
    used: Counter[int | str] = Counter()
    for (device, _), count in zip(trace.threads, work, strict=True):
        if count:
            used[device] += count
    return used.most_common()


def _device_name(trace: Trace) -> str:
    used = _used_devices(trace)
    if not used:
        return "cpu"
    names = {device.id: device.name for device in trace.devices}
    number = used[0][0]
    return (names.get(number) if isinstance(number, int) else None) or f"device {number}"


def _warnings(trace: Trace, launches: Launches, coverage: Coverage) -> list[str]:
    """Why something is missing or doubtful."""
    warnings = []
    if trace.world_size is None:
        warnings.append("world size unknown: the file has no distributedInfo")
    if not len(trace.operators):
        warnings.append("no operators: the profiler recorded no CPU activity")
    if not len(coverage.data_loading):
        warnings.append("no data-loading range was recorded: waiting for data, if any, counts as other")
    if not len(trace.memory):
        warnings.append("no memory events: the profiler recorded them only with profile_memory=True")
    if not len(trace.device):
        return [*warnings, "no device work: the profiler recorded the CPU only, so device figures are missing"]
    devices = _used_devices(trace)
    if len(devices) > 1:
        warnings.append(f"work of {len(devices)} devices is taken together: the device is busy while any of them is")
    outlasting, longest = _outlasting(trace)
    if outlasting:
        warnings.append(
            f"{outlasting} pieces of device work outlast the start of the next on their stream, by up to "
            f"{longest / 1e6:.3f} ms: the profiler's durations cannot be trusted there"
        )
    lost = int((~launches.known).sum())
    if lost:
        warnings.append(
            f"{lost} of {len(trace.device)} pieces of device work have no launch in the trace: "
            "they were launched before it began, or the profiler dropped calls"
        )
    missing = int(launches.missing.sum())
    if missing:
        warnings.append(
            f"{missing} kernel launches have no kernel in the trace: "
            "the profiler dropped or cut off device work, or a graph was being captured"
        )
    return warnings


def _outlasting(trace: Trace) -> tuple[int, int]:
    """How many pieces of device work run past the start of the next on their stream, and the longest overlap."""
    device = trace.device.select(np.lexsort((trace.device.start, trace.device.thread)))
    overlap = np.where(np.diff(device.thread) == 0, device.end[:-1] - device.start[1:], 0)
    return int((overlap > _MAX_OVERLAP_NS).sum()), int(overlap.max(initial=0))
