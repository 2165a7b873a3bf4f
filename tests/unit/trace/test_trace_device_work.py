"""Device work by name and operator, and the tables' bounds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings

from tb_aiperf.records import DeviceWorkTimes
from tb_aiperf.trace import device_work
from tb_aiperf.trace.device_work import DeviceWork
from tb_aiperf.trace.limits import keep_largest
from tb_aiperf.trace.segments import TraceSource, WholeTrace
from tests.unit.trace.events import Event, kernel, launch, read, span
from tests.unit.trace.pieces import in_pieces, pieces, trace_of


def work_of(source: TraceSource) -> tuple[list[DeviceWorkTimes], list[str]]:
    found = DeviceWork()
    for segment in source.segments():
        found.add(segment)
    return found.result()


def test_work_by_name_and_operator_by_hand(tmp_path: Path) -> None:
    """`gemm` was launched by two operators, once outside of any, and once before the trace began."""
    events = [
        span("aten::mm", 0, 10),
        launch(1, 1, 1),
        launch(2, 3, 1),
        span("aten::copy_", 20, 10),
        launch(3, 21, 1, name="cudaMemcpyAsync"),
        launch(4, 23, 1),
        launch(5, 40, 1),
        kernel(1, 50, 7),
        kernel(2, 60, 3),
        kernel(3, 70, 20, "Memcpy DtoD (Device -> Device)", "gpu_memcpy"),
        kernel(4, 100, 5),
        kernel(5, 110, 2),
        kernel(99, 120, 4),
        kernel(98, 130, 1, "Memset (Device)", "gpu_memset"),
        kernel(97, 140, 30, "ncclDevKernel_AllReduce"),
    ]
    found, warnings = work_of(WholeTrace(read(tmp_path, events)))
    assert warnings == []
    assert [tuple(getattr(row, field) for field in row.__struct_fields__) for row in found] == [
        ("ncclDevKernel_AllReduce", "communication", None, 1, 30.0, 30.0, 30.0),
        ("Memcpy DtoD (Device -> Device)", "memcpy", "aten::copy_", 1, 20.0, 20.0, 20.0),
        ("gemm", "kernel", "aten::mm", 2, 10.0, 3.0, 7.0),
        ("gemm", "kernel", None, 2, 6.0, 2.0, 4.0),
        ("gemm", "kernel", "aten::copy_", 1, 5.0, 5.0, 5.0),
        ("Memset (Device)", "memset", None, 1, 1.0, 1.0, 1.0),
    ]


def test_a_trace_without_device_work_has_none(tmp_path: Path) -> None:
    assert work_of(WholeTrace(read(tmp_path, [span("aten::mm", 0, 10)]))) == ([], [])


@settings(max_examples=200, deadline=None)
@given(*pieces)
def test_work_does_not_depend_on_the_cuts_and_adds_up(events: list[Event], batches: int, segment_bytes: int) -> None:
    trace = trace_of(events)
    with in_pieces(trace, batches, segment_bytes) as large:
        found, _ = work_of(large)
    assert found == work_of(WholeTrace(trace))[0]
    assert sum(row.calls for row in found) == len(trace.device)
    total = int((trace.device.end - trace.device.start).sum()) / 1000
    assert math.isclose(sum(row.total_us for row in found), total, abs_tol=1e-6)
    assert all(row.min_us * row.calls <= row.total_us <= row.max_us * row.calls for row in found)


def test_the_rows_with_the_most_time_stay_in_their_order() -> None:
    assert keep_largest([1.0, 5.0, 2.0, 4.0], float, "rows", limit=4) == ([1.0, 5.0, 2.0, 4.0], [])
    assert keep_largest([1.0, 5.0, 2.0, 4.0], float, "rows", limit=2) == (
        [5.0, 4.0],
        ["rows: 2 more are left out, which took 25.0% of the time of all"],
    )
    assert keep_largest([0.0, 0.0], float, "rows", limit=1)[1] == [
        "rows: 1 more are left out, which took 0.0% of the time of all"
    ]


def test_a_long_tail_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_work, "MAX_ROWS", 2)
    found, warnings = work_of(WholeTrace(read(tmp_path, [kernel(1, 10 * at, at, f"k{at}") for at in range(1, 5)])))
    assert [row.name for row in found] == ["k4", "k3"]
    assert warnings == ["device work by operator: 2 more are left out, which took 30.0% of the time of all"]
