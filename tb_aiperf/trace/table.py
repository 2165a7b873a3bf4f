"""`Trace`: a trace file as columns, one table per kind of event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
SmallArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

#: What runs on a device.
KERNEL, MEMCPY, MEMSET = range(3)

Self = TypeVar("Self", bound="Table")


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def select(self: Self, rows: Any) -> Self:
        """The rows that a numpy index picks; the table itself if it picks all in order."""
        if isinstance(rows, np.ndarray):
            if rows.dtype == np.bool_:
                rows = np.flatnonzero(rows)
            if len(rows) == len(self) and np.array_equal(rows, np.arange(len(rows))):
                return self
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Spans(Table):
    """n host ranges.

    name    [n] index into `Trace.names`
    start   [n] nanoseconds on the trace's clock
    end     [n] nanoseconds; at least start
    thread  [n] index into `Trace.threads`
    """

    name: SmallArray
    start: IntArray
    end: IntArray
    thread: SmallArray


@dataclass(frozen=True, slots=True)
class AnnotationSpans(Spans):
    """n ranges that the program named."""


@dataclass(frozen=True, slots=True)
class OverheadSpans(Spans):
    """n ranges in which the profiler itself was at work."""


@dataclass(frozen=True, slots=True)
class OperatorSpans(Spans):
    """n operators.

    shapes          [n] index into `Trace.shapes`, -1 where not recorded
    sequence        [n] autograd's sequence number, -1 where there is none
    forward_thread  [n] autograd's number of the thread of the forward operator; above 0 on backward operators only
    """

    shapes: SmallArray
    sequence: IntArray
    forward_thread: IntArray


@dataclass(frozen=True, slots=True)
class RuntimeSpans(Spans):
    """n calls of the device's runtime or driver. correlation: [n] id shared with the device work, -1 if none."""

    correlation: IntArray


@dataclass(frozen=True, slots=True)
class DeviceSpans(Spans):
    """n pieces of device work; `thread` is the pair of device and stream.

    category     [n] KERNEL, MEMCPY or MEMSET
    correlation  [n] id shared with the launch, -1 if none
    collective   [n] index into `Trace.collectives`, -1 where nothing is recorded
    """

    category: npt.NDArray[np.int8]
    correlation: IntArray
    collective: SmallArray


@dataclass(frozen=True, slots=True)
class PythonSpans(Spans):
    """n calls of Python functions and modules. module: [n] the profiler's number of the module instance, else -1."""

    module: IntArray


@dataclass(frozen=True, slots=True)
class MemoryEvents(Table):
    """n allocations and releases.

    time         [n] nanoseconds
    thread       [n] index into `Trace.threads`
    address      [n] -1 where not recorded
    size         [n] bytes, negative for a release
    device_type  [n] torch's number: 0 is the CPU, 1 CUDA or ROCm
    device       [n] index of the device, -1 for the CPU
    allocated, reserved  [n] the allocator's totals after the event in bytes, -1 where not recorded
    """

    time: IntArray
    thread: SmallArray
    address: IntArray
    size: IntArray
    device_type: IntArray
    device: IntArray
    allocated: IntArray
    reserved: IntArray


class Names(tuple[str, ...]):
    """Distinct names, of which there may be a million.

    masks: what has been found out about all of them, by question.
    """

    masks: dict[Any, BoolArray]

    def __new__(cls, names: Iterable[str]) -> Names:  # noqa: D102
        self = super().__new__(cls, names)
        self.masks = {}
        return self


@dataclass(frozen=True, slots=True)
class CollectiveArguments:
    """What the profiler recorded about a collective. None where it did not."""

    name: str | None
    group: str | None
    sequence: int | None
    elements: int | None
    dtype: str | None


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the machine that the trace was recorded on."""

    id: int
    name: str | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file as columns. Times are integer nanoseconds on the file's own clock.

    names, shapes: distinct texts that columns refer to. threads: distinct (process, thread) pairs; for device work
    (device, stream). base_ns: what to add to a time to get nanoseconds since 1970, 0 if the file does not tell.
    """

    path: str
    names: tuple[str, ...]
    shapes: tuple[str, ...]
    threads: tuple[tuple[int | str, int | str], ...]
    collectives: Sequence[CollectiveArguments]
    operators: OperatorSpans
    annotations: AnnotationSpans
    runtime: RuntimeSpans
    device: DeviceSpans
    python: PythonSpans
    overhead: OverheadSpans
    memory: MemoryEvents
    devices: tuple[Device, ...]
    backend: str | None
    rank: int | None
    world_size: int | None
    base_ns: int
    warnings: tuple[str, ...]
