from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.trace.categories import CATEGORY_KEYS, break_down, find_coverage
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.partial_steps import find_steps
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import Trace
from tests.unit.trace.events import Event, kernel, launch, loading, mark, marks_after, read, span


def steps_of(trace: Trace) -> Steps:
    return find_steps(trace, find_launches(trace))


def categories_of(trace: Trace) -> list[dict[str, float]]:
    """Microseconds of the categories that are not zero, per step."""
    table = break_down(find_coverage(trace), steps_of(trace))
    return [
        {name: value / 1000 for name, value in zip(CATEGORY_KEYS, column, strict=True) if value}
        for column in table.T.tolist()
    ]


def bounds(steps: Steps) -> list[tuple[int, float, float]]:
    return [
        (number, start / 1000, end / 1000)
        for number, start, end in zip(steps.number.tolist(), steps.start.tolist(), steps.end.tolist(), strict=True)
    ]


def test_a_step_ends_with_the_work_that_it_launched_and_the_next_starts_then(tmp_path: Path) -> None:
    events = [mark(1, 0, 100), launch(9, 90, 5), kernel(9, 95, 40), mark(2, 100, 100), span("aten::mm", 150, 10)]
    assert bounds(steps_of(read(tmp_path, events))) == [(1, 0, 135), (2, 135, 200)]


def test_a_launch_on_another_thread_counts_and_one_outside_does_not(tmp_path: Path) -> None:
    events = [mark(1, 100, 100), launch(1, 150, 5, tid=2), kernel(1, 160, 60), launch(2, 50, 5), kernel(2, 60, 500)]
    assert bounds(steps_of(read(tmp_path, events))) == [(1, 100, 220)]


def test_a_queue_longer_than_a_step_leaves_no_negative_step(tmp_path: Path) -> None:
    events = [mark(1, 0, 10), launch(1, 5, 1), kernel(1, 6, 94), mark(2, 10, 10), mark(3, 20, 100)]
    assert bounds(steps_of(read(tmp_path, events))) == [(1, 0, 100), (2, 100, 100), (3, 100, 120)]


def test_marks_on_the_device_and_repeated_numbers_are_no_steps(tmp_path: Path) -> None:
    device_mark = span("ProfilerStep#1", 20, 30, "gpu_user_annotation", 7, 0)
    steps = steps_of(read(tmp_path, [mark(2, 100, 50), mark(1, 0, 100), mark(1, 10, 20), device_mark]))
    assert bounds(steps) == [(1, 0, 100), (2, 100, 150)]
    assert steps.warnings == ("1 repeated step marks were left out",)


def test_without_marks_the_trace_is_one_step(tmp_path: Path) -> None:
    python = span("main.py(1): <module>", 0, 9000, "python_function")
    steps = steps_of(read(tmp_path, [python, span("aten::mm", 10, 5), launch(9, 12, 1), kernel(9, 20, 130)]))
    assert not steps.marked
    assert bounds(steps) == [(0, 10, 150)]


def test_first_and_last_may_be_partial(tmp_path: Path) -> None:
    before = kernel(77, 5, 20)
    lost = launch(88, 290, 5)
    events = [before, mark(1, 0, 100), launch(1, 10, 5), kernel(1, 30, 5), mark(2, 100, 100), mark(3, 200, 100), lost]
    assert steps_of(read(tmp_path, events)).partial.tolist() == [True, False, True]
    assert steps_of(read(tmp_path, events[1:-1])).partial.tolist() == [False, False, False]


def test_every_moment_counts_for_the_first_category(tmp_path: Path) -> None:
    events = [
        mark(1, 0, 1000),
        span("train_step", 0, 1000, "user_annotation"),
        span("aten::mm", 0, 700),
        loading(0, 600),
        launch(1, 0, 500),
        kernel(5, 0, 400, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        kernel(4, 0, 300, cat="gpu_memset"),
        kernel(3, 0, 200, cat="gpu_memcpy"),
        kernel(2, 0, 100),
    ]
    each = dict.fromkeys(CATEGORY_KEYS[:-1], 100.0)
    assert categories_of(read(tmp_path, events)) == [{**each, "other": 300.0}]


def test_a_gpu_collective_is_its_kernel_and_a_cpu_collective_its_host_range(tmp_path: Path) -> None:
    gpu = [mark(1, 0, 100), span("c10d::allreduce_", 10, 20), span("nccl:all_reduce", 12, 10, "user_annotation")]
    assert categories_of(read(tmp_path, gpu)) == [{"cpu_op": 20.0, "other": 80.0}]
    rccl = [*gpu, kernel(1, 50, 30, "RCCLGenericKernel")]
    assert categories_of(read(tmp_path, rccl)) == [{"communication": 30.0, "cpu_op": 20.0, "other": 50.0}]
    cpu = [mark(1, 0, 100), span("gloo:all_reduce", 10, 20), span("gloo:all_reduce", 25, 10, "user_annotation", tid=2)]
    assert categories_of(read(tmp_path, cpu)) == [{"communication": 25.0, "other": 75.0}]


@pytest.mark.parametrize("category", ["cpu_op", "Operator", "user_annotation"])
def test_data_loading_in_any_host_category(tmp_path: Path, category: str) -> None:
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [mark(1, 0, 100), span(name, 10, 50, category), span("aten::stack", 20, 10)]
    assert categories_of(read(tmp_path, events)) == [{"data_loading": 50.0, "other": 50.0}]


events = st.lists(
    st.one_of(
        st.builds(span, st.sampled_from(["aten::mm", "gloo:barrier"]), st.integers(0, 300), st.integers(0, 90)),
        st.builds(loading, st.integers(0, 300), st.integers(0, 90)),
        st.builds(launch, st.integers(0, 5), st.integers(0, 300), st.integers(0, 30)),
        st.builds(
            kernel,
            st.integers(0, 5),
            st.integers(0, 400),
            st.integers(0, 90),
            st.sampled_from(["gemm", "ncclKernel"]),
            st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset"]),
        ),
    ),
    max_size=20,
)
marks = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 90)), min_size=1, max_size=4)


@given(events, marks)
@settings(max_examples=100, deadline=None)
def test_conservation(
    tmp_path_factory: pytest.TempPathFactory, others: list[Event], gaps: list[tuple[float, float]]
) -> None:
    """Categories sum to the step exactly, none is negative, steps do not overlap, and there is one per mark."""
    trace = read(tmp_path_factory.mktemp("trace"), [*others, *marks_after(gaps)])
    found = steps_of(trace)
    table = break_down(find_coverage(trace), found)
    assert found.number.tolist() == list(range(len(gaps)))
    assert (table >= 0).all()
    assert (table.sum(axis=0) == found.end - found.start).all()
    assert (found.start[1:] >= found.end[:-1]).all()
    assert (found.end - found.start >= 0).all()
