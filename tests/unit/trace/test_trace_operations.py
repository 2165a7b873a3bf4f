"""The collective operations of one rank."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings

from tb_aiperf.records import OperationTimes
from tb_aiperf.trace.categories import collective_kernels, find_coverage
from tb_aiperf.trace.intervals import difference, union
from tb_aiperf.trace.operations import ELEMENT_BYTES, Operations
from tb_aiperf.trace.segments import TraceSource, WholeTrace
from tests.unit.trace.events import Event, kernel, read, span
from tests.unit.trace.pieces import in_pieces, pieces, trace_of


def operations_of(source: TraceSource) -> list[OperationTimes]:
    found = Operations()
    for segment in source.segments():
        found.add(segment, find_coverage(segment.trace))
    return found.result()


def collective(ts: float, dur: float, operation: str, group: str, elements: int | None, dtype: str) -> Event:
    told = {} if elements is None else {"In msg nelems": elements}
    args = {"Collective name": operation, "Process Group Name": group, "dtype": dtype, **told}
    return kernel(0, ts, dur, "ncclDevKernel_Generic", stream=20, **args)


def test_operations_by_hand(tmp_path: Path) -> None:
    """`gemm` runs in [20, 60): it hides all but [10, 20) of the first, and the end of the second."""
    events = [
        kernel(1, 20, 40),
        collective(10, 30, "allreduce", "0", 100, "Float"),
        collective(50, 20, "allreduce", "0", 50, "BFloat16"),
        # Both at once: 15 of time, in which no kernel runs that is no collective's.
        collective(100, 10, "_allgather_base", "1", 10, "Half"),
        collective(105, 10, "_allgather_base", "1", None, "Half"),
        collective(110, 5, "allreduce", "1", 8, "Long"),
        kernel(3, 200, 4, "ncclKernel_Broadcast_RING"),
    ]
    assert operations_of(WholeTrace(read(tmp_path, events))) == [
        OperationTimes(operation="all_reduce", group="0", calls=2, total_us=50.0, exposed_us=20.0, bytes=500),
        OperationTimes(operation="all_gather", group="1", calls=2, total_us=20.0, exposed_us=15.0, bytes=None),
        OperationTimes(operation="all_reduce", group="1", calls=1, total_us=5.0, exposed_us=5.0, bytes=64),
        OperationTimes(operation="broadcast", group=None, calls=1, total_us=4.0, exposed_us=4.0, bytes=None),
    ]


def test_on_a_cpu_backend_nothing_tells_what_is_exposed(tmp_path: Path) -> None:
    events = [span("gloo:all_reduce", 0, 10), span("gloo:all_reduce", 20, 5, "user_annotation"), span("aten::mm", 0, 9)]
    assert operations_of(WholeTrace(read(tmp_path, events))) == [
        OperationTimes(operation="all_reduce", group=None, calls=2, total_us=15.0, exposed_us=None, bytes=None)
    ]


def test_kernels_count_and_not_the_ranges_on_the_host(tmp_path: Path) -> None:
    events = [span("gloo:barrier", 0, 10), kernel(1, 20, 5, "ncclKernel_AllReduce")]
    (found,) = operations_of(WholeTrace(read(tmp_path, events)))
    assert (found.operation, found.total_us) == ("all_reduce", 5.0)


@pytest.mark.parametrize(("elements", "dtype"), [(-1, "Float"), (1 << 60, "Float"), (3, "Opaque")])
def test_sizes_that_are_no_measurement(tmp_path: Path, elements: int, dtype: str) -> None:
    (found,) = operations_of(WholeTrace(read(tmp_path, [collective(0, 5, "allreduce", "0", elements, dtype)])))
    assert found.bytes is None


def test_every_dtype_of_torch_has_its_size() -> None:
    torch = pytest.importorskip("torch")
    # What the profiler calls a type: torch's own name of the scalar type, in C++.
    written = {
        "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
        "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex32": "ComplexHalf",
        "complex64": "ComplexFloat", "complex128": "ComplexDouble", "qint8": "QInt8", "quint8": "QUInt8",
        "qint32": "QInt32", "quint4x2": "QUInt4x2", "quint2x4": "QUInt2x4",
    }  # fmt: skip
    sizes = {str(dtype).removeprefix("torch."): dtype.itemsize for dtype in vars(torch).values() if is_dtype(dtype)}
    assert len(sizes) > 20
    for name, size in sizes.items():
        ours = written.get(name) or (name.replace("uint", "UInt") if "uint" in name else name[0].upper() + name[1:])
        assert ELEMENT_BYTES[ours] == size, name


def is_dtype(value: object) -> bool:
    return type(value).__name__ == "dtype"


@settings(max_examples=200, deadline=None)
@given(*pieces)
def test_operations_do_not_depend_on_the_cuts(events: list[Event], batches: int, segment_bytes: int) -> None:
    trace = trace_of(events)
    with in_pieces(trace, batches, segment_bytes) as large:
        found = operations_of(large)
    assert found == operations_of(WholeTrace(trace))
    kernels = trace.device.select(collective_kernels(trace))
    if not len(kernels):
        return
    assert sum(row.calls for row in found) == len(kernels)
    exposed = difference(union(kernels.start, kernels.end), find_coverage(trace).kernel).measure / 1000
    each = [row.exposed_us for row in found if row.exposed_us is not None]
    assert len(each) == len(found)
    # Together they cover what is exposed; operations at the same time count for each.
    assert max(each) - 1e-6 <= exposed <= math.fsum(each) + 1e-6
