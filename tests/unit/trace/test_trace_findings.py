"""What takes the time of a step, ranked, with its evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.records import CATEGORIES, IDLE_CAUSES, Finding
from tb_aiperf.trace import Trace
from tb_aiperf.trace.categories import break_down, find_coverage
from tb_aiperf.trace.device_timeline import idle_by_cause
from tb_aiperf.trace.device_work import DeviceWork
from tb_aiperf.trace.evidence import CallTotal, Evidence, EvidenceFinder, _Histogram
from tb_aiperf.trace.findings import MIN_SHARE, find_findings
from tb_aiperf.trace.operations import Operations
from tb_aiperf.trace.partial_steps import find_steps
from tb_aiperf.trace.profile import profile_trace
from tb_aiperf.trace.segments import TraceSource, WholeTrace, whole
from tb_aiperf.trace.steps import Steps
from tests.unit.trace.events import Event, kernel, launch, loading, mark, read, span
from tests.unit.trace.pieces import in_pieces, pieces, trace_of


def steps_of(trace: Trace) -> Steps:
    return find_steps(trace, whole(trace).launches)


def evidence_of(source: TraceSource, steps: Steps) -> Evidence:
    found = EvidenceFinder(source.steps)
    for segment in source.segments():
        found.add(segment)
    return found.result(steps)


def findings_of(trace: Trace) -> list[Finding]:
    segment, steps, coverage = whole(trace), steps_of(trace), find_coverage(trace)
    work, operations = DeviceWork(), Operations()
    work.add(segment)
    operations.add(segment, coverage)
    profile = profile_trace(trace)
    evidence = replace(
        evidence_of(WholeTrace(trace), steps),
        operator_times=profile.operators,
        kernel_times=profile.kernels,
        device_work=work.result()[0],
        operations=operations.result(),
    )
    idle = idle_by_cause(trace, segment.launches, coverage, steps)
    return find_findings(steps, break_down(coverage, steps), idle, evidence)


def findings(directory: Path, events: list[Event]) -> dict[str, Finding]:
    return {finding.cause: finding for finding in findings_of(read(directory, events))}


def test_without_a_device_the_categories_are_ranked(tmp_path: Path) -> None:
    """Of 100: loading 50, operators 30, collectives 16, and 4 of nothing, which is below the threshold."""
    events = [mark(1, 0, 100), loading(0, 50), span("aten::mm", 50, 30), span("gloo:all_reduce", 80, 16)]
    found = findings_of(read(tmp_path, events))
    assert [(finding.cause, finding.share) for finding in found] == [
        ("data_loading", 0.5),
        ("cpu_op", 0.3),
        ("communication", 0.16),
    ]
    first, second, third = found
    assert first.evidence == (
        "In 50.0% of 1 step, the program waits for its data loader and no device work hides it: 0.050 of 0.100 ms. "
        "Waits: enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ (50.0 µs in 1 call)."
    )
    assert first.action == "Give the loader more workers, prefetch, or make a sample cheaper."
    assert (first.speedup.low, first.speedup.expected, first.speedup.high) == (1 / 0.75, 2.0, 2.0)
    assert second.evidence.endswith(
        "Most time of their own on the host in the whole trace: aten::mm (30.0 µs in 1 call), "
        "gloo:all_reduce (16.0 µs in 1 call)."
    )
    assert third.evidence.endswith("In the whole trace: all_reduce (16.0 µs in 1 call).")
    assert (second.speedup.low, second.speedup.expected) == (1.0, pytest.approx(1 / 0.85))


def test_a_loader_without_workers_is_told_to_get_some(tmp_path: Path) -> None:
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    found = findings(tmp_path, [mark(1, 0, 100), span(name, 0, 90, "user_annotation")])
    assert found["data_loading"].action.startswith("Give the loader workers (num_workers above 0)")


def test_reading_a_result_back_is_a_synchronisation(tmp_path: Path) -> None:
    """The device runs dry at 30, while the host waits for it in `item`, and gets new work at 70: 40 of 100.

    Before its first work, the host takes 5 in its call and in `item`, and 5 in nothing that is recorded.
    """
    events = [
        mark(1, 0, 100),
        launch(1, 2, 3),
        kernel(1, 10, 20),
        span("aten::item", 8, 24),
        span("aten::_local_scalar_dense", 9, 22),
        launch(2, 10, 20, name="cudaStreamSynchronize"),
        span("aten::mm", 60, 10),
        launch(3, 65, 3),
        kernel(3, 70, 30),
    ]
    found = findings(tmp_path, events)
    assert {cause: finding.share for cause, finding in found.items()} == {
        "kernel": 0.5,
        "synchronisation": 0.4,
        "launch": 0.05,
        "other": 0.05,
    }
    assert (
        "The host was blocked in: cudaStreamSynchronize from aten::item > aten::_local_scalar_dense "
        "(20.0 µs in 1 call). This is part of what the categories runtime, cpu_op and other show, 50.0% together."
    ) in found["synchronisation"].evidence
    assert ".item()" in found["synchronisation"].action


def test_kernels_that_end_before_the_next_is_launched(tmp_path: Path) -> None:
    """Ten kernels of 2, launched every 10: 78 of the 100 the device waits; before the first launch has come, too."""
    events = [mark(1, 0, 100), span("aten::many", 0, 100)]
    for number in range(10):
        events += [launch(number + 1, 10 * number, 2), kernel(number + 1, 10 * number + 4, 2)]
    found = findings(tmp_path, events)
    assert list(found) == ["launch", "kernel"]
    assert found["launch"].share == pytest.approx(0.8)
    assert (
        "A kernel takes 2.0 µs (median of 10), and kernels are launched every 10.0 µs (median of 9): "
        "they end sooner than the next are launched."
    ) in found["launch"].evidence
    assert found["launch"].action.startswith("Launch fewer, larger kernels")


def test_a_long_pause_of_the_host_is_no_lack_of_large_kernels(tmp_path: Path) -> None:
    """Kernels of 8 come every 5; only once the host takes 50 in an operator."""
    events = [mark(1, 0, 120), span("aten::slow", 20, 60)]
    for number, at in enumerate([0, 5, 10, 15, 80, 85, 90, 95]):
        events += [
            launch(number + 1, at, 1),
            kernel(number + 1, at + 2 if number % 4 == 0 else at + 2 + 3 * (number % 4), 8),
        ]
    found = findings(tmp_path, events)
    assert "most launches come in time" in found["launch"].evidence
    assert found["launch"].action.startswith("Make the host's work between launches shorter")


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "Pin host memory"),
        ("Memcpy HtoD (Host -> Device)", "Pin host memory"),
        ("Memcpy HtoD (Pinned -> Device)", "Copy ahead of need"),
        ("Memcpy DtoH (Device -> Pageable)", "Bring results to the host less often"),
        ("Memcpy DtoD (Device -> Device)", "Avoid copies on the device"),
        ("CopyBuffer", "Pin host memory, copy with non_blocking=True"),
    ],
)
def test_what_to_do_about_copies_depends_on_their_way(tmp_path: Path, name: str, action: str) -> None:
    events = [
        mark(1, 0, 100),
        launch(1, 0, 1),
        kernel(1, 5, 60, name, "gpu_memcpy"),
        launch(2, 1, 1),
        kernel(2, 65, 30),
    ]
    found = findings(tmp_path, events)
    assert found["memcpy"].share == pytest.approx(0.6)
    assert f"Copies in the whole trace: {name} (60.0 µs in 1 call)." in found["memcpy"].evidence
    assert found["memcpy"].action.startswith(action)


def test_exposed_communication_names_its_operations(tmp_path: Path) -> None:
    """A collective of 60, of which a kernel hides 20; 10 more the device idles in a call of a collective."""
    args = {"Collective name": "allreduce", "Process Group Name": "3"}
    events = [
        mark(1, 0, 100),
        launch(1, 0, 1),
        kernel(1, 10, 60, "ncclDevKernel_Generic", stream=20, **args),
        launch(2, 1, 1),
        kernel(2, 20, 20),
        span("c10d::barrier", 70, 10),
        launch(3, 79, 1),
        kernel(3, 80, 20),
    ]
    found = findings(tmp_path, events)["communication"]
    assert found.share == pytest.approx(0.5)
    assert found.evidence.endswith(
        "Exposed in the whole trace: all_reduce in group 3 (40.0 µs in 1 call). "
        "For 10.0% of the time the device idles and the host is in a collective's call."
    )


def test_the_largest_part_is_named_however_the_rest_is_divided(tmp_path: Path) -> None:
    (only,) = findings_of(read(tmp_path, [mark(1, 0, 100), launch(1, 0, 1), kernel(1, 2, 98)]))
    assert (only.cause, only.share) == ("kernel", 0.98)
    assert only.evidence.endswith("Longest in the whole trace: gemm (98.0 µs in 1 call).")


def test_idle_time_without_a_cause_points_to_the_frames(tmp_path: Path) -> None:
    events = [mark(1, 0, 100), launch(1, 0, 1), kernel(1, 2, 18)]
    assert findings(tmp_path, events)["other"].action.startswith("Look at the step's timeline; record with with_stack")
    framed = [*events, span("train.py(1): f", 0, 100, "python_function")]
    assert findings(tmp_path, framed)["other"].action == "Look at the Python frames in the step's timeline."


def test_long_names_are_cut(tmp_path: Path) -> None:
    events = [mark(1, 0, 100), launch(1, 0, 1), kernel(1, 2, 98, "k" * 100)]
    assert f" {'k' * 71}… (98.0 µs" in findings(tmp_path, events)["kernel"].evidence


def test_evidence_is_of_the_steps_that_count(tmp_path: Path) -> None:
    """The first step holds foreign work, so it is partial: its calls are no evidence."""
    events = [
        kernel(77, 5, 5),
        mark(1, 0, 100),
        launch(1, 10, 50, name="cudaDeviceSynchronize"),
        loading(60, 10),
        mark(2, 100, 100),
        launch(2, 110, 30, name="cudaDeviceSynchronize"),
        launch(3, 140, 4, name="cudaStreamSynchronize"),
        span("aten::to", 150, 20),
        launch(4, 151, 9, name="cudaStreamSynchronize"),
        loading(170, 5),
        mark(3, 200, 100),
        launch(5, 210, 7, name="cudaDeviceSynchronize"),
        launch(6, 400, 1, name="cudaDeviceSynchronize"),
    ]
    trace = read(tmp_path, events)
    found = evidence_of(WholeTrace(trace), steps_of(trace))
    assert found.blocking == [
        CallTotal("cudaDeviceSynchronize", None, 2, 37.0),
        CallTotal("cudaStreamSynchronize", "aten::to", 1, 9.0),
        CallTotal("cudaStreamSynchronize", None, 1, 4.0),
    ]
    assert [(call.calls, call.total_us) for call in found.loading] == [(1, 5.0)]
    assert (found.kernels, found.kernel_us, found.launches, found.launch_interval_us) == (0, None, 0, None)


def test_medians_of_kernels_and_of_the_time_between_launches(tmp_path: Path) -> None:
    """Launches on two threads; of a graph's kernels, the launch counts once."""
    events = [mark(1, 0, 1000)]
    for number, (at, tid, lengths) in enumerate(
        [(0, 1, [1]), (10, 1, [2]), (30, 1, [900]), (100, 2, [4, 4, 4]), (200, 2, [3]), (225, 1, [2])]
    ):
        events.append(launch(number + 1, at, 1, tid))
        events += [
            kernel(number + 1, at + 5 + 10 * place, length, stream=number) for place, length in enumerate(lengths)
        ]
    trace = read(tmp_path, events)
    found = evidence_of(WholeTrace(trace), steps_of(trace))
    # 1, 2, 2, 3, 4, 4, 4, 900 and 10, 20, 195 on the first thread, 100 on the second.
    assert found.kernels == 8
    assert found.kernel_us == pytest.approx(3, rel=1 / 128)
    assert found.launches == 4
    assert found.launch_interval_us == pytest.approx(20, rel=1 / 128)


@settings(max_examples=200, deadline=None)
@given(*pieces)
def test_findings_divide_the_step_and_do_not_depend_on_the_cuts(
    events: list[Event], batches: int, segment_bytes: int
) -> None:
    trace = trace_of(events)
    with in_pieces(trace, batches, segment_bytes) as large:
        cut = evidence_of(large, steps_of(trace))
    assert cut == evidence_of(WholeTrace(trace), steps_of(trace))
    found = findings_of(trace)
    shares = [finding.share for finding in found]
    assert shares == sorted(shares, reverse=True)
    if not found:
        steps = steps_of(trace)
        counted = ~steps.partial if not steps.partial.all() else steps.partial
        assert (steps.start == steps.end)[counted].all()
        return
    assert sum(shares) <= 1 + 1e-9
    assert all(share >= MIN_SHARE for share in shares[1:])
    # What is not named is small: each of the others is below the threshold.
    assert 1 - sum(shares) < MIN_SHARE * (len(CATEGORIES) - len(found)) + 1e-9
    known = {part.key for part in (*CATEGORIES, *IDLE_CAUSES)}
    for finding in found:
        assert finding.cause in known
        assert 1 <= finding.speedup.low <= finding.speedup.expected <= finding.speedup.high <= 100
    assert len({finding.cause for finding in found}) == len(found)


@given(st.lists(st.integers(0, 2**52), min_size=1, max_size=30))
def test_a_median_is_right_to_half_a_percent(durations: list[int]) -> None:
    histogram = _Histogram()
    histogram.add(np.zeros(len(durations), np.int64), np.array(durations, np.int64))
    count, median = histogram.median(np.array([True, False, False]))
    exact = sorted(durations)[(len(durations) - 1) // 2]
    assert count == len(durations)
    assert median == pytest.approx(exact, rel=1 / 256)
