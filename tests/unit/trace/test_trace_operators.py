from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.trace.kernels import summarise_kernels
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.modules import summarise_modules
from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.operator_totals import OperatorTable, summarise
from tb_aiperf.trace.operators import find_operators, link_backward
from tb_aiperf.trace.table import Spans, Trace
from tests.unit.trace.events import kernel, launch, loading, mark, read, span

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(0, 2)), max_size=25)


def table_of(rows: list[tuple[int, int, int]]) -> Spans:
    start, length, thread = np.array(rows, np.int64).reshape(-1, 3).T
    small = thread.astype(np.int32)
    return Spans(np.zeros_like(small), start, start + length, small)


@given(spans)
def test_the_parent_is_the_latest_begun_that_is_still_open(rows: list[tuple[int, int, int]]) -> None:
    nesting = nest(table_of(rows))
    start, end, thread = nesting.start.tolist(), nesting.end.tolist(), nesting.thread.tolist()
    for place in range(len(rows)):
        open_before = [i for i in range(place) if thread[i] == thread[place] and end[i] > start[place]]
        # A range that outlasts its parent hides what closed under it.
        parent = nesting.parent[place]
        assert parent == (open_before[-1] if open_before else -1)
        inside = [i for i in range(place + 1, len(rows)) if thread[i] == thread[place]]
        ancestors = {place}
        for child in inside:
            if nesting.parent[child] in ancestors:
                ancestors.add(child)
        assert sorted(ancestors) == list(range(place, nesting.stop[place]))


@given(spans, st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 70)), max_size=10))
def test_innermost(rows: list[tuple[int, int, int]], wanted: list[tuple[int, int]]) -> None:
    nesting = nest(table_of(rows))
    thread, moment = np.array(wanted, np.int64).reshape(-1, 2).T
    found = nesting.innermost(thread.astype(np.int32), moment)
    for place, (on, at) in zip(found.tolist(), wanted, strict=True):
        around = [i for i in range(len(rows)) if nesting.thread[i] == on and nesting.start[i] <= at < nesting.end[i]]
        assert place == (around[-1] if around else -1)


@given(spans)
def test_self_times_add_up_to_the_outermost(rows: list[tuple[int, int, int]]) -> None:
    """Where ranges nest properly, which is made so here by clipping each to the range that it began in."""
    clipped: list[tuple[int, int, int]] = []
    nesting = nest(table_of(rows))
    ends = nesting.end.tolist()
    for place, parent in enumerate(nesting.parent.tolist()):
        ends[place] = min(ends[place], ends[parent]) if parent >= 0 else ends[place]
        begin = int(nesting.start[place])
        clipped.append((begin, max(ends[place] - begin, 0), int(nesting.thread[place])))
    nesting = nest(table_of(clipped))
    outermost = nesting.parent < 0
    assert nesting.self_time().sum() == (nesting.end - nesting.start)[outermost].sum()


@given(spans, st.data())
def test_recursion(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    nesting = nest(table_of(rows))
    label = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    found = nesting.is_recursive(np.array(label, np.int64)).tolist()
    for place in range(len(rows)):
        ancestors, outer = [], int(nesting.parent[place])
        while outer >= 0:
            ancestors.append(label[outer])
            outer = int(nesting.parent[outer])
        assert found[place] == (label[place] in ancestors)


def by_name(trace: Trace, table: OperatorTable) -> dict[Any, list[float]]:
    shape = [None if index < 0 else trace.shapes[index] for index in table.shapes.tolist()]
    rows = zip(table.calls, table.host_self, table.host_total, table.device_self, table.device_total, strict=True)
    return {
        (trace.names[name], *([shapes] if shapes else [])): [int(calls), *(int(value) / 1000 for value in rest)]
        for name, shapes, (calls, *rest) in zip(table.name.tolist(), shape, rows, strict=True)
    }


def small_model(tmp_path: Path) -> Trace:
    return read(
        tmp_path,
        [
            mark(1, 0, 1000),
            loading(0, 50),
            span("aten::linear", 100, 100, **{"Input Dims": [[8, 4]], "Sequence number": 5}),
            span("aten::addmm", 120, 60, **{"Input Dims": [[4, 2]], "Sequence number": 5}),
            launch(1, 130, 10),
            kernel(1, 200, 300),
            span("aten::linear", 300, 50, **{"Input Dims": [[16, 4]]}),
            launch(2, 340, 5),
            kernel(2, 500, 40, cat="gpu_memcpy"),
            span("AddmmBackward0", 600, 80, tid=2, **{"Sequence number": 5, "Fwd thread id": 1}),
            launch(3, 610, 5, tid=2),
            kernel(3, 620, 70, "gemm_backward"),
            launch(4, 700, 5),
            kernel(4, 710, 11),
            kernel(99, 800, 7),
        ],
    )


def test_operators_by_hand(tmp_path: Path) -> None:
    trace = small_model(tmp_path)
    operators = find_operators(trace, find_launches(trace))
    assert by_name(trace, summarise(operators)) == {
        # calls, host self, host total, device self, device total
        ("aten::addmm",): [1, 60, 60, 300, 300],
        ("AddmmBackward0",): [1, 80, 80, 70, 70],
        ("aten::linear",): [2, 90, 150, 40, 340],
    }
    # One launch outside operators, and one kernel without a launch.
    assert operators.unattributed == 11_000 + 7000


def test_operators_by_shape(tmp_path: Path) -> None:
    trace = small_model(tmp_path)
    table = summarise(find_operators(trace, find_launches(trace)), by_shape=True)
    assert by_name(trace, table) == {
        ("aten::addmm", "[[4, 2]]"): [1, 60, 60, 300, 300],
        ("AddmmBackward0",): [1, 80, 80, 70, 70],
        ("aten::linear", "[[16, 4]]"): [1, 50, 50, 40, 40],
        ("aten::linear", "[[8, 4]]"): [1, 40, 100, 0, 300],
    }


def test_recursion_counts_once(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            span("aten::copy_", 0, 100),
            span("aten::to", 10, 80),
            span("aten::copy_", 20, 50),
            launch(1, 30, 1),
            kernel(1, 40, 9),
        ],
    )
    assert by_name(trace, summarise(find_operators(trace, find_launches(trace)))) == {
        ("aten::copy_",): [2, 20 + 50, 100, 9, 9],
        ("aten::to",): [1, 30, 80, 0, 9],
    }


def test_backward_links_to_the_innermost_forward(tmp_path: Path) -> None:
    trace = small_model(tmp_path)
    operators = find_operators(trace, find_launches(trace))
    name = [trace.names[index] for index in operators.calls.name.tolist()]
    link = link_backward(operators).tolist()
    assert {name[row]: name[to] for row, to in enumerate(link) if to >= 0} == {"AddmmBackward0": "aten::addmm"}


def test_kernels_by_hand(tmp_path: Path) -> None:
    trace = small_model(tmp_path)
    table = summarise_kernels(trace)
    assert [
        (trace.names[name], calls, total)
        for name, calls, total in zip(table.name, table.calls, table.total, strict=True)
    ] == [("gemm", 3, 318_000), ("gemm_backward", 1, 70_000)]


def test_modules_by_hand(tmp_path: Path) -> None:
    def module(name: str, number: int, ts: float, dur: float) -> dict[str, Any]:
        return span(f"nn.Module: {name}", ts, dur, "python_function", **{"Python module id": number})

    trace = read(
        tmp_path,
        [
            module("Net_0", 0, 0, 100),
            module("Linear_0", 1, 10, 30),
            module("Linear_1", 2, 50, 30),
            module("Net_0", 0, 200, 50),
            module("Linear_0", 1, 210, 30),
            launch(1, 20, 5),
            kernel(1, 30, 500),
            launch(2, 90, 5),
            kernel(2, 600, 60),
            launch(3, 220, 5),
            kernel(3, 700, 7),
        ],
    )
    table = summarise_modules(trace, find_launches(trace))
    assert table is not None
    assert [trace.names[index].removeprefix("nn.Module: ") for index in table.name] == ["Net_0", "Linear_0", "Linear_1"]
    assert table.calls.tolist() == [2, 2, 1]
    assert table.host_total.tolist() == [150_000, 60_000, 30_000]
    assert table.host_self.tolist() == [60_000, 60_000, 30_000]
    assert table.device_total.tolist() == [567_000, 507_000, 0]
    assert table.parent.tolist() == [-1, 0, 0]


def test_no_modules_recorded_is_none(tmp_path: Path) -> None:
    trace = small_model(tmp_path)
    assert summarise_modules(trace, find_launches(trace)) is None
