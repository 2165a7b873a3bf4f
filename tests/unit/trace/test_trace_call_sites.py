"""From where in the program operators were called."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.records import CallSite
from tb_aiperf.trace import call_sites, stacks
from tb_aiperf.trace.call_sites import CallSites
from tb_aiperf.trace.frames import tell_place
from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.operator_totals import OperatorTotals, summarise
from tb_aiperf.trace.segments import TraceSource, WholeTrace, whole
from tb_aiperf.trace.stacks import Stacks
from tests.unit.trace.events import Event, kernel, launch, read, span
from tests.unit.trace.pieces import in_pieces, trace_of


def frame(name: str, ts: float, dur: float, tid: int = 1) -> Event:
    return span(name, ts, dur, "python_function", tid)


def forward(name: str, ts: float, dur: float, sequence: int, tid: int = 1) -> Event:
    return span(name, ts, dur, tid=tid, **{"Sequence number": sequence, "Fwd thread id": 0})


def backward(name: str, ts: float, dur: float, sequence: int, tid: int = 2) -> Event:
    return span(name, ts, dur, tid=tid, **{"Sequence number": sequence, "Fwd thread id": 1})


def sites_of(source: TraceSource) -> tuple[list[CallSite] | None, list[str]]:
    found, operators = CallSites(), OperatorTotals(source.steps)
    for segment in source.segments():
        found.add(segment)
        operators.add(segment)
    return found.result(operators.by_name())


def sites(directory: Path, events: list[Event]) -> list[CallSite]:
    found, warnings = sites_of(WholeTrace(read(directory, events)))
    assert found is not None
    assert warnings == []
    return found


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("train.py(24): <module>", True),
        ("my/models/net.py(7): forward", True),
        (r"C:\code\net.py(7): forward", True),
        ("transformers/models/owlv2/modeling_owlv2.py(407): _shape", True),
        ("torch/nn/functional.py(1760): relu", True),
        ("torch/optim/adam.py(214): step", True),
        ("torch/optim/optimizer.py(1023): zero_grad", True),
        ("torch/_tensor.py(566): backward", True),
        ("torch/utils/checkpoint.py(1500): recompute_fn", True),
        ("/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py(124): forward", True),
        ("/home/me/torch/train.py(1): main", True),
        ("lightning/pytorch/trainer/trainer.py(584): fit", True),
        ("lightning/pytorch/trainer/connectors/logger_connector/result.py(424): _get_cache", True),
        ("lightning/pytorch/core/module.py(420): log", True),
        ("<built-in method add_ of Tensor object at 0x7fdebf466990>", False),
        ("<built-in function linear>", False),
        ("nn.Module: Linear_3", False),
        ("torch/nn/modules/module.py(1782): _call_impl", False),
        ("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py(1782): _call_impl", False),
        (r"C:\Python311\Lib\site-packages\torch\nn\modules\module.py(1782): _call_impl", False),
        ("torch/optim/optimizer.py(509): wrapper", False),
        ("torch/autograd/graph.py(966): _engine_run_backward", False),
        ("torch/utils/_device.py(100): __torch_function__", False),
        ("torch/profiler/profiler.py(700): start", False),
        ("lightning/pytorch/loops/fit_loop.py(469): advance", False),
        ("lightning/pytorch/trainer/call.py(49): _call_and_handle_interrupt", False),
        ("lightning/pytorch/core/module.py(1300): optimizer_step", False),
        ("contextlib.py(132): __enter__", False),
        ("/usr/lib/python3.11/multiprocessing/process.py(108): run", False),
        ("<frozen importlib._bootstrap>(241): _call_with_frames_removed", False),
        ("<string>(1): <module>", False),
    ],
)
def test_frames_that_tell_a_place(name: str, told: bool) -> None:
    assert tell_place([name]).tolist() == [told]


def test_stacks_by_hand(tmp_path: Path) -> None:
    """`step` calls `aten::mm` twice, and `aten::add` with `aten::copy_` in it; the script calls one more."""
    found = sites(
        tmp_path,
        [
            frame("train.py(1): <module>", 0, 100),
            frame("train.py(9): step", 10, 50),
            frame("torch/nn/modules/module.py(1): _call_impl", 11, 45),
            frame("nn.Module: Linear_0", 12, 43),
            frame("torch/nn/modules/linear.py(124): forward", 13, 20),
            span("aten::mm", 14, 4),
            launch(1, 15, 1),
            kernel(1, 60, 30),
            span("aten::mm", 19, 5),
            frame("<built-in method add>", 40, 10),
            span("aten::add", 41, 8),
            span("aten::copy_", 43, 3),
            span("aten::mm", 80, 2),
        ],
    )
    linear = ["torch/nn/modules/linear.py(124): forward", "train.py(9): step", "train.py(1): <module>"]
    step = linear[1:]
    assert found == [
        CallSite(operator="aten::mm", frames=linear, backward=False, calls=2, host_self_us=9.0, device_us=30.0),
        CallSite(operator="aten::add", frames=step, backward=False, calls=1, host_self_us=5.0, device_us=0.0),
        CallSite(operator="aten::copy_", frames=step, backward=False, calls=1, host_self_us=3.0, device_us=0.0),
        CallSite(operator="aten::mm", frames=step[1:], backward=False, calls=1, host_self_us=2.0, device_us=0.0),
    ]


def test_a_backward_call_has_the_place_of_its_forward_call(tmp_path: Path) -> None:
    """The number 7 is used twice: of the calls before the backward call, the last counts, with all inside it."""
    found = sites(
        tmp_path,
        [
            frame("net.py(1): first", 0, 10),
            forward("aten::linear", 1, 8, 7),
            frame("net.py(2): second", 10, 10),
            forward("aten::linear", 11, 2, 7),
            frame("net.py(3): third", 60, 10),
            forward("aten::linear", 61, 8, 7),
            backward("autograd::engine::evaluate_function: MmBackward0", 30, 20, 7),
            backward("MmBackward0", 31, 18, 7),
            span("aten::mm", 35, 10, tid=2),
            backward("AddBackward0", 52, 1, 99),
        ],
    )
    places = {
        (site.operator, site.backward): (site.frames, site.host_self_us)
        for site in found
        if site.operator != "aten::linear"
    }
    assert places == {
        ("autograd::engine::evaluate_function: MmBackward0", True): (["net.py(2): second"], 2.0),
        ("MmBackward0", True): (["net.py(2): second"], 8.0),
        ("aten::mm", True): (["net.py(2): second"], 10.0),
        ("AddBackward0", False): ([], 1.0),
    }
    assert [site.frames for site in found if site.operator == "aten::linear"] == [
        ["net.py(1): first"],
        ["net.py(3): third"],
        ["net.py(2): second"],
    ]


def test_python_inside_a_backward_call_is_the_place(tmp_path: Path) -> None:
    """A function with a backward pass in Python, and the recomputation of a checkpoint."""
    found = sites(
        tmp_path,
        [
            frame("net.py(1): forward", 0, 10),
            forward("Mine", 1, 8, 7),
            frame("torch/_tensor.py(566): backward", 20, 30, tid=2),
            backward("MineBackward", 21, 20, 7),
            frame("net.py(9): backward", 25, 10, tid=2),
            span("aten::mul", 26, 4, tid=2),
        ],
    )
    (mul,) = (site for site in found if site.operator == "aten::mul")
    assert (mul.frames, mul.backward) == (["net.py(9): backward", "torch/_tensor.py(566): backward"], False)
    (outer,) = (site for site in found if site.operator == "MineBackward")
    assert (outer.frames, outer.backward) == (["net.py(1): forward"], True)


def test_no_frames_were_recorded(tmp_path: Path) -> None:
    assert sites_of(WholeTrace(read(tmp_path, [span("aten::mm", 0, 10)]))) == (None, [])


def test_a_call_outside_all_frames_has_none(tmp_path: Path) -> None:
    (site,) = sites(tmp_path, [frame("a.py(1): f", 0, 5), span("aten::mm", 10, 10)])
    assert site.frames == []


def test_the_largest_places_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_sites, "MAX_CALL_SITES", 2)
    events = [
        event
        for place, dur in enumerate([10, 40, 20, 30])
        for event in (
            frame(f"a.py({place}): f", 100 * place, 50),
            span("aten::mm", 100 * place + 1, dur),
        )
    ]
    found, warnings = sites_of(WholeTrace(read(tmp_path, events)))
    assert found is not None
    assert [site.frames for site in found] == [["a.py(1): f"], ["a.py(3): f"]]
    assert warnings == ["call sites: 2 more are left out, which took 30.0% of the time of all"]


def test_deep_recursion_counts_for_its_outer_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "MAX_DEPTH", 3)
    events = [frame(f"a.py({depth}): f", depth, 100 - 2 * depth) for depth in range(9)]
    (site,) = sites(tmp_path, [*events, span("aten::mm", 20, 1)])
    assert site.frames == ["a.py(2): f", "a.py(1): f", "a.py(0): f"]


def test_more_stacks_than_may_be_told_apart(tmp_path: Path) -> None:
    trace = read(tmp_path, [span("aten::mm", 2, 1), *(frame(name, 0, 10) for name in "abc")])
    numbers, frames = Stacks(limit=2), nest(trace.python)
    assert numbers.number(frames, trace.python.name[frames.order].astype(np.int64)).tolist() == [1, 2, 2]
    assert [trace.names[name] for name in numbers.names(2)] == ["b", "a"]


def test_a_recursion_counts_once(tmp_path: Path) -> None:
    """`f` calls itself through torch, and again: the place is the same, however deep."""
    events = [
        frame("a.py(1): main", 0, 100),
        frame("a.py(5): f", 1, 90),
        span("aten::mm", 2, 1),
        frame("torch/overrides.py(1): handle_torch_function", 4, 80),
        frame("a.py(5): f", 5, 70),
        span("aten::mm", 6, 2),
        frame("a.py(1): main", 10, 10),
        frame("a.py(5): f", 11, 8),
        span("aten::mm", 12, 4),
    ]
    found = sites(tmp_path, events)
    assert [(site.frames, site.calls, site.host_self_us) for site in found] == [
        (["a.py(5): f", "a.py(1): main", "a.py(5): f", "a.py(1): main"], 1, 4.0),
        (["a.py(5): f", "a.py(1): main"], 2, 3.0),
    ]


moments, lengths, threads = st.integers(0, 60), st.integers(0, 40), st.integers(1, 2)
frames = st.builds(
    frame, st.sampled_from(["a.py(1): f", "b.py(2): g", "<built-in len>", "nn.Module: A_0"]), moments, lengths, threads
)
operators = st.builds(
    lambda name, ts, dur, tid, sequence, of_forward: span(
        name, ts, dur, tid=tid, **{"Sequence number": sequence, "Fwd thread id": of_forward}
    ),
    st.sampled_from(["aten::a", "aten::b", "XBackward0"]),
    moments,
    lengths,
    threads,
    st.integers(-1, 2),
    st.integers(-1, 1),
)
calls = st.builds(launch, st.integers(1, 4), moments, lengths, threads)
work = st.builds(kernel, st.integers(1, 4), moments, lengths)
anything = st.one_of(frames, frames, operators, operators, calls, work)


@settings(max_examples=300, deadline=None)
@given(st.lists(anything, max_size=50), st.integers(1, 3), st.sampled_from([1, 150, 500, 2000]))
def test_places_do_not_depend_on_the_cuts_and_add_up(events: list[Event], batches: int, segment_bytes: int) -> None:
    trace = trace_of([*events, frame("a.py(1): f", 0, 9)])
    with in_pieces(trace, batches, segment_bytes) as large:
        found: Any = sites_of(large)[0]
    assert found == sites_of(WholeTrace(trace))[0]
    table = summarise(whole(trace).operators)
    assert sum(site.calls for site in found) == table.calls.sum()
    assert math.isclose(sum(site.host_self_us for site in found), table.host_self.sum() / 1000, abs_tol=1e-6)
    assert math.isclose(sum(site.device_us for site in found), table.device_self.sum() / 1000, abs_tol=1e-6)
