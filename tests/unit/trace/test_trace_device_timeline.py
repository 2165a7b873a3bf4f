from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tb_aiperf.trace.categories import find_coverage
from tb_aiperf.trace.device_timeline import IDLE_KEYS, device_timeline, idle_by_cause
from tb_aiperf.trace.intervals import union
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.partial_steps import find_steps
from tb_aiperf.trace.table import Trace
from tests.unit.trace.events import Event, kernel, launch, loading, mark, marks_after, read, span
from tests.unit.trace.test_trace_steps import events, marks


def idle_of(trace: Trace) -> list[dict[str, float]]:
    launches = find_launches(trace)
    table = idle_by_cause(trace, launches, find_coverage(trace), find_steps(trace, launches))
    assert table is not None
    return [
        {cause: value / 1000 for cause, value in zip(IDLE_KEYS, column, strict=True) if value}
        for column in table.T.tolist()
    ]


def test_timeline_by_hand(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            kernel(1, 100, 100),
            kernel(2, 150, 100, "ncclDevKernel_AllGather", stream=20),
            kernel(3, 180, 100, "Memcpy HtoD", "gpu_memcpy", stream=21),
            kernel(4, 350, 50, "Memset (Device)", "gpu_memset"),
        ],
    )
    timeline = device_timeline(find_coverage(trace))
    assert timeline is not None
    assert timeline.compute == 150_000
    assert (timeline.communication, timeline.communication_exposed) == (100_000, 50_000)
    assert (timeline.memcpy, timeline.memcpy_exposed) == (100_000, 30_000)
    assert (timeline.busy, timeline.idle, timeline.total) == (230_000, 70_000, 300_000)


def test_no_device_work_is_no_timeline(tmp_path: Path) -> None:
    trace = read(tmp_path, [span("aten::mm", 0, 1)])
    launches = find_launches(trace)
    assert device_timeline(find_coverage(trace)) is None
    assert idle_by_cause(trace, launches, find_coverage(trace), find_steps(trace, launches)) is None


def test_idle_by_cause_by_hand(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            mark(1, 0, 1000),
            launch(1, 0, 10),
            kernel(1, 20, 80),
            # Drained by a synchronisation: 100 to 160 until the next work starts.
            span("cudaStreamSynchronize", 50, 52, "cuda_runtime"),
            span("aten::mul", 110, 30),
            launch(2, 130, 10),
            kernel(2, 160, 40),
            # Waiting for data: 200 to 300, though an operator runs in it, then the operator until 330.
            loading(200, 100),
            span("aten::stack", 220, 10),
            span("aten::add", 300, 40),
            launch(3, 320, 10),
            kernel(3, 330, 70),
            # Queued in good time: 400 to 410 is the device's own.
            launch(4, 350, 10),
            kernel(4, 410, 90),
            # Host in a collective's call: 500 to 550.
            span("c10d::barrier", 500, 50),
            launch(5, 560, 10),
            kernel(5, 600, 400),
        ],
    )
    assert idle_of(trace) == [
        {
            "synchronisation": 60.0,
            "input": 100.0,
            # 0 to 10 by its runtime call, 300 to 330 by operator and launch, 560 to 600 by launch and its way.
            "launch": 10.0 + 30.0 + 40.0,
            "communication": 50.0,
            # 10 to 20 before the first work, 400 to 410, and 550 to 560, when the host runs nothing that is recorded.
            "other": 10.0 + 10.0 + 10.0,
        }
    ]


@given(events, marks)
@settings(max_examples=100, deadline=None)
def test_conservation_of_device_time(
    tmp_path_factory: pytest.TempPathFactory, others: list[Event], gaps: list[tuple[float, float]]
) -> None:
    """Idle causes sum to the idle time of each step; the timeline's exclusive parts to its total."""
    trace = read(tmp_path_factory.mktemp("trace"), [*others, *marks_after(gaps)])
    launches = find_launches(trace)
    found = find_steps(trace, launches)
    coverage = find_coverage(trace)
    timeline = device_timeline(coverage)
    idle = idle_by_cause(trace, launches, coverage, found)
    busy = union(trace.device.start, trace.device.end)
    if not len(busy):
        assert timeline is None
        assert idle is None
        return
    assert idle is not None
    assert timeline is not None
    assert (idle >= 0).all()
    expected = found.end - found.start - busy.within(found.start, found.end)
    assert np.array_equal(idle.sum(axis=0), expected)
    assert timeline.busy == timeline.compute + timeline.communication_exposed + timeline.memcpy_exposed == busy.measure
    assert timeline.busy + timeline.idle == timeline.total
    assert 0 <= timeline.communication_exposed <= timeline.communication
    assert 0 <= timeline.memcpy_exposed <= timeline.memcpy
