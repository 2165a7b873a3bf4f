"""The collective operations of one rank: how often, how long, how much of it is exposed, how many bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import OperationTimes
from tb_aiperf.trace.categories import Coverage, collective_kernels
from tb_aiperf.trace.collectives import operation_of
from tb_aiperf.trace.intervals import union
from tb_aiperf.trace.kinds import HOST_COLLECTIVE, name_mask
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.table import CollectiveArguments, DeviceSpans, IntArray, Spans, Trace

_ONE_BYTE = (
    "Bool", "Byte", "Char", "QInt8", "QUInt8", "QUInt4x2", "QUInt2x4", "Bits8", "Bits4x2", "Bits2x4", "Bits1x8",
    "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "Float8_e8m0fnu", "Float4_e2m1fn_x2",
    *(f"{sign}{bits}" for sign in ("Int", "UInt") for bits in range(1, 8)),
)  # fmt: skip
#: Size of an element by the name that torch's ScalarType has in C++, which the profiler writes.
ELEMENT_BYTES = {
    **dict.fromkeys(_ONE_BYTE, 1),
    **dict.fromkeys(("Short", "UInt16", "Half", "BFloat16", "Bits16"), 2),
    **dict.fromkeys(("Int", "UInt32", "Float", "QInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Long", "UInt64", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}

#: More is no measurement.
_MAX_ELEMENTS = 1 << 48

_Key = tuple[str, str | None]


@dataclass(slots=True)
class _Sums:
    """Of one operation in one group: calls, nanoseconds, and bytes of the calls that tell them."""

    calls: int = 0
    total: int = 0
    exposed: int = 0
    sized: int = 0
    bytes: int = 0


class Operations:
    """Adds up the collectives of a trace, segment by segment: kernels if there are any, else ranges on the host."""

    def __init__(self) -> None:
        self._on_device: dict[_Key, _Sums] = {}
        self._on_host: dict[_Key, _Sums] = {}

    def add(self, segment: Segment, coverage: Coverage) -> None:
        """Take the collectives that begin in a segment, and the exposed time of those that run in it."""
        trace = segment.trace
        kernels = trace.device.select(collective_kernels(trace))
        for key, rows in _by_key(trace, kernels, kernels.collective.tolist()):
            self._add_kernels(segment, coverage, self._on_device.setdefault(key, _Sums()), kernels.select(rows))
        if self._on_device:
            return
        named = name_mask(trace.names, HOST_COLLECTIVE)
        for table in (trace.operators, trace.annotations):
            host = table.select(named[table.name] & segment.begins(table.start))
            for key, rows in _by_key(trace, host, [-1] * len(host)):
                sums = self._on_host.setdefault(key, _Sums())
                sums.calls += len(rows)
                sums.total += int((host.end - host.start)[rows].sum())

    def _add_kernels(self, segment: Segment, coverage: Coverage, sums: _Sums, kernels: DeviceSpans) -> None:
        running = union(segment.clip(kernels.start), segment.clip(kernels.end))
        sums.exposed += running.measure - int(coverage.kernel.within(running.start, running.end).sum())
        begun = kernels.select(segment.begins(kernels.start))
        sums.calls += len(begun)
        sums.total += int((begun.end - begun.start).sum())
        for row in begun.collective.tolist():
            size = None if row < 0 else _size(segment.trace.collectives[row])
            if size is not None:
                sums.sized += 1
                sums.bytes += size

    def result(self) -> list[OperationTimes]:
        """The operations by group, most time first."""
        device = bool(self._on_device)
        found = self._on_device if device else self._on_host
        return sorted(
            (
                OperationTimes(
                    operation=operation,
                    group=group,
                    calls=sums.calls,
                    total_us=sums.total / 1000,
                    exposed_us=sums.exposed / 1000 if device else None,
                    bytes=sums.bytes if sums.calls and sums.sized == sums.calls else None,
                )
                for (operation, group), sums in found.items()
            ),
            key=lambda row: (-row.total_us, row.operation, row.group or ""),
        )


def _by_key(trace: Trace, table: Spans, recorded: list[int]) -> list[tuple[_Key, IntArray]]:
    """The rows of each operation and group. recorded: [n] index into `Trace.collectives`, -1 where there is none."""
    rows: dict[_Key, list[int]] = {}
    operations: dict[str, str] = {}
    for row, (name, collective) in enumerate(zip(table.name.tolist(), recorded, strict=True)):
        arguments = trace.collectives[collective] if collective >= 0 else None
        told, group = (arguments.name, arguments.group) if arguments else (None, None)
        told = told or trace.names[name]
        operation = operations.get(told) or operations.setdefault(told, operation_of(told))
        rows.setdefault((operation, group), []).append(row)
    return [(key, np.array(found, np.int64)) for key, found in rows.items()]


def _size(arguments: CollectiveArguments) -> int | None:
    """Bytes that a rank sends in a collective."""
    element = ELEMENT_BYTES.get(arguments.dtype or "")
    if element is None or arguments.elements is None or not 0 <= arguments.elements <= _MAX_ELEMENTS:
        return None
    return arguments.elements * element
