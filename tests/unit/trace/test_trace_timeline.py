"""The events of each step, to be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.records.step_timeline import EVENT_KINDS, Lane, StepTimeline
from tb_aiperf.trace import Trace, timeline
from tb_aiperf.trace.rows import place_in_rows
from tb_aiperf.trace.segments import TraceSource, WholeTrace
from tb_aiperf.trace.timeline import Timelines
from tests.unit.trace.events import Event, kernel, launch, loading, mark, read, span
from tests.unit.trace.pieces import in_pieces, pieces, trace_of

KINDS = [kind.key for kind in EVENT_KINDS]


def timelines_of(source: TraceSource) -> tuple[StepTimeline, ...]:
    found = Timelines(source.trace, source.steps)
    for segment in source.segments():
        found.add(segment)
    return found.result()


def timelines(directory: Path, events: list[Event]) -> tuple[StepTimeline, ...]:
    return timelines_of(WholeTrace(read(directory, events)))


def told(found: StepTimeline) -> list[tuple[Any, ...]]:
    """Events as lane, row, kind, name, shape, start, duration and the name of what launched them."""
    return [
        (
            found.lanes[found.lane[at]].title,
            int(found.row[at]),
            KINDS[found.kind[at]],
            found.names[found.name[at]],
            found.shapes[found.shape[at]] if found.shape[at] >= 0 else None,
            int(found.start[at]),
            int(found.duration[at]),
            found.names[found.name[found.launch[at]]] if found.launch[at] >= 0 else None,
        )
        for at in range(len(found))
    ]


def test_two_steps_by_hand(tmp_path: Path) -> None:
    """`aten::mm` has shapes and launches a kernel of its own step; the other kernel belongs to the step before."""
    events = [
        mark(4, 100, 100),
        span("aten::linear", 110, 60),
        span("aten::mm", 120, 40, **{"Input Dims": [[8, 64], [64, 64]]}),
        launch(1, 125, 5),
        kernel(1, 140, 80),
        launch(2, 170, 20, name="cudaStreamSynchronize"),
        span("train.py(1): <module>", 0, 500, "python_function"),
        span("train.py(9): step", 105, 90, "python_function"),
        span("MmBackward0", 150, 20, tid=2, **{"Sequence number": 3, "Fwd thread id": 1}),
        mark(5, 200, 100),
        loading(200, 10),
        launch(3, 211, 5, name="cudaMemcpyAsync"),
        kernel(3, 230, 10, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 14),
        kernel(9, 225, 10, "ncclDevKernel_AllReduce"),
        span("after all steps", 400, 10),
    ]
    first, second = timelines(tmp_path, events)
    assert (first.step, first.step_duration_ns, first.left_out, first.left_out_ns) == (4, 120_000, 0, 0)
    assert first.lanes == (
        Lane(kind="host", title="thread 1 (main)", rows=4),
        Lane(kind="python", title="thread 1, Python", rows=2),
        Lane(kind="host", title="thread 2 (backward)", rows=1),
        Lane(kind="device", title="GPU 0 stream 7", rows=1),
    )
    assert told(first) == [
        ("thread 1 (main)", 0, "annotation", "ProfilerStep#4", None, 0, 100_000, None),
        ("thread 1 (main)", 0, "annotation", "ProfilerStep#5", None, 100_000, 100_000, None),
        ("thread 1 (main)", 1, "operator", "aten::linear", None, 10_000, 60_000, None),
        ("thread 1 (main)", 1, "synchronisation", "cudaStreamSynchronize", None, 70_000, 20_000, None),
        ("thread 1 (main)", 1, "data_loading", loading(0, 0)["name"], None, 100_000, 10_000, None),
        ("thread 1 (main)", 1, "runtime", "cudaMemcpyAsync", None, 111_000, 5_000, None),
        ("thread 1 (main)", 2, "operator", "aten::mm", "[[8, 64], [64, 64]]", 20_000, 40_000, None),
        ("thread 1 (main)", 3, "runtime", "cudaLaunchKernel", None, 25_000, 5_000, None),
        ("thread 1, Python", 0, "python", "train.py(1): <module>", None, -100_000, 500_000, None),
        ("thread 1, Python", 1, "python", "train.py(9): step", None, 5_000, 90_000, None),
        ("thread 2 (backward)", 0, "operator", "MmBackward0", None, 50_000, 20_000, None),
        ("GPU 0 stream 7", 0, "kernel", "gemm", None, 40_000, 80_000, "cudaLaunchKernel"),
    ]
    assert (second.step, second.step_duration_ns) == (5, 80_000)
    assert told(second) == [
        ("thread 1 (main)", 0, "annotation", "ProfilerStep#5", None, -20_000, 100_000, None),
        ("thread 1, Python", 0, "python", "train.py(1): <module>", None, -220_000, 500_000, None),
        ("GPU 0 stream 7", 0, "communication", "ncclDevKernel_AllReduce", None, 5_000, 10_000, None),
        ("GPU 0 stream 14", 0, "memcpy", "Memcpy HtoD (Pageable -> Device)", None, 10_000, 10_000, None),
    ]
    assert set(second.names) == {row[3] for row in told(second)}


def test_a_trace_without_marks_is_one_step(tmp_path: Path) -> None:
    (found,) = timelines(tmp_path, [span("aten::mm", 10, 20), kernel(1, 15, 25, cat="gpu_memset")])
    assert (found.step, found.step_duration_ns) == (None, 30_000)
    assert [(row[2], row[5]) for row in told(found)] == [("operator", 0), ("memset", 5_000)]


def test_of_calls_with_one_id_the_one_that_launched_is_linked(tmp_path: Path) -> None:
    """The driver's call inside the runtime's has the same id; the second kernel was launched before the step."""
    events = [
        launch(5, 0, 5, name="cudaGraphLaunch"),
        mark(1, 50, 100),
        launch(7, 60, 10, name="cudaLaunchKernelExC"),
        launch(7, 62, 5, name="cuLaunchKernelEx"),
        kernel(7, 80, 5, "first"),
        kernel(5, 90, 5, "second"),
    ]
    (found,) = timelines(tmp_path, events)
    links = {row[3]: row[7] for row in told(found) if row[2] == "kernel"}
    assert links == {"first": "cudaLaunchKernelExC", "second": None}


def test_an_annotation_lies_around_the_operator_of_equal_length(tmp_path: Path) -> None:
    (found,) = timelines(tmp_path, [span("aten::mm", 0, 10), span("mine", 0, 10, "user_annotation")])
    assert [(row[3], row[1]) for row in told(found)] == [("mine", 0), ("aten::mm", 1)]


def test_titles_tell_processes_apart(tmp_path: Path) -> None:
    events = [
        span("a", 0, 5, tid=7, pid=7),
        span("b", 0, 5, tid=3, pid=9),
        kernel(1, 0, 5, stream=3),
        {**kernel(1, 0, 5), "tid": "stream 20", "pid": 1},
    ]
    (found,) = timelines(tmp_path, events)
    assert [lane.title for lane in found.lanes] == [
        "process 7 thread 7 (main)",
        "process 9 thread 3",
        "GPU 0 stream 3",
        "GPU 1 stream 20",
    ]


def test_overlapping_work_gets_rows(tmp_path: Path) -> None:
    """Three pieces overlap like stairs: the third fits into the first row again."""
    (found,) = timelines(tmp_path, [kernel(1, 0, 10), kernel(2, 5, 10), kernel(3, 10, 10), span("a", 0, 1)])
    device = found.kind == KINDS.index("kernel")
    assert dict(zip(found.start[device].tolist(), found.row[device].tolist(), strict=True)) == {
        0: 0,
        10_000: 0,
        5_000: 1,
    }
    assert found.lanes[1].rows == 2


def test_the_shortest_are_left_out_but_no_annotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_STEP_EVENTS", 4)
    events = [
        mark(1, 0, 100),
        span("mine", 50, 0, "user_annotation"),
        *(span(f"aten::{dur}", 10 * at, dur) for at, dur in enumerate([5, 3, 9, 5, 1])),
    ]
    (found,) = timelines(tmp_path, events)
    # Of the two that take 5, the first.
    assert sorted(found.names) == ["ProfilerStep#1", "aten::5", "aten::9", "mine"]
    assert (found.left_out, found.left_out_ns) == (3, 5_000)
    assert found.start[found.names.index("aten::5") == found.name].tolist() == [0]


def test_events_are_shared_fairly_among_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 for three steps of 2, 9 and 9 events: the first needs 2, which leaves 5 for each of the others."""
    monkeypatch.setattr(timeline, "MAX_EVENTS", 12)
    monkeypatch.setattr(timeline, "MIN_STEP_EVENTS", 1)
    events = [
        event
        for step, count in enumerate([1, 8, 8])
        for event in (
            mark(step, 100 * step, 99),
            *(span("aten::a", 100 * step + 10 * at, at + 1) for at in range(count)),
        )
    ]
    found = timelines(tmp_path, events)
    assert [(len(step), step.left_out, step.left_out_ns) for step in found] == [(2, 0, 0), (5, 4, 4_000), (5, 4, 4_000)]


def test_a_step_of_no_duration_has_no_events(tmp_path: Path) -> None:
    """The second mark lies in the first, so that its step begins where the first ends, which is where it ends."""
    events = [mark(1, 0, 100), mark(2, 50, 20), mark(3, 100, 50), span("aten::a", 90, 20), span("aten::b", 100, 0)]
    found = timelines(tmp_path, events)
    assert [(step.step, [row[3] for row in told(step)]) for step in found] == [
        (1, ["ProfilerStep#1", "ProfilerStep#2", "aten::a"]),
        (2, []),
        (3, ["aten::a", "ProfilerStep#3", "aten::b"]),
    ]
    assert len(found[1]) == 0
    assert found[1].lanes == ()


spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20)), max_size=40)


@given(spans)
def test_rows_of_a_lane_never_overlap_and_are_as_few_as_can_be(events: list[tuple[int, int, int]]) -> None:
    events.sort(key=lambda event: (event[0], event[1], -event[2]))
    lane, start, length = (
        (np.array(column, np.int64) for column in zip(*events, strict=True)) if events else (np.zeros(0, np.int64),) * 3
    )
    end = start + length
    row = place_in_rows(lane.astype(np.int32), start, end)
    for number in range(3):
        mine = lane == number
        for place in set(row[mine].tolist()):
            here = mine & (row == place)
            assert (start[here][1:] >= end[here][:-1]).all()
        going_on = [int(((start <= moment) & (end > moment) & mine).sum()) for moment in range(60)]
        if (length[mine] > 0).any():
            deep = row[mine & (length > 0)].max(initial=-1) + 1
            assert deep == max(going_on)


def overlapping(trace: Trace, low: int, high: int) -> int:
    count = 0
    for table in (trace.operators, trace.annotations, trace.runtime, trace.python, trace.device):
        instant = table.start == table.end
        count += int(((table.start < high) & np.where(instant, table.start >= low, table.end > low)).sum())
    return count


@settings(max_examples=300, deadline=None)
@given(
    *pieces,
    st.sampled_from([(5, 3, 1), (12, 6, 2), (1000, 100, 10)]),
)
def test_timelines_do_not_depend_on_the_cuts(
    events: list[Event], batches: int, segment_bytes: int, limits: tuple[int, int, int]
) -> None:
    trace = trace_of(events)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("MAX_EVENTS", "MAX_STEP_EVENTS", "MIN_STEP_EVENTS"), limits, strict=True):
            patch.setattr(timeline, name, value)
        expected = timelines_of(WholeTrace(trace))
        patch.setattr(timeline, "_SPARE", 0)
        patch.setattr(timeline, "_BATCH", 3)
        with in_pieces(trace, batches, segment_bytes) as large:
            found = timelines_of(large)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert told(ours) == told(theirs)
        assert (ours.lanes, ours.left_out, ours.left_out_ns) == (theirs.lanes, theirs.left_out, theirs.left_out_ns)
    steps = WholeTrace(trace).steps
    for step, low, high in zip(expected, steps.start.tolist(), steps.end.tolist(), strict=True):
        assert len(step) + step.left_out == (overlapping(trace, low, high) if high > low else 0)
        assert len(step) <= limits[1]
        check_order(step)


def check_order(step: StepTimeline) -> None:
    keys = list(zip(step.lane.tolist(), step.row.tolist(), step.start.tolist(), strict=True))
    assert keys == sorted(keys)
    ends = (step.start + step.duration).tolist()
    for (before, end), after in zip(zip(keys, ends, strict=True), keys[1:], strict=False):
        if before[:2] == after[:2]:
            assert end <= after[2]
    for lane, count in enumerate(step.lanes):
        assert step.row[step.lane == lane].max() + 1 == count.rows
    launched = step.launch >= 0
    assert (step.kind[launched] >= KINDS.index("kernel")).all()
    assert np.isin(step.kind[step.launch[launched]], [KINDS.index("runtime"), KINDS.index("synchronisation")]).all()
