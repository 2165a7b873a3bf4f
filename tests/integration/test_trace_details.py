"""Call sites, timelines, device work, collectives and findings of real traces."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tb_aiperf.records import CATEGORIES, TraceProfile
from tb_aiperf.records.step_timeline import EVENT_KINDS, StepTimeline
from tb_aiperf.trace import analyze, read_trace
from tb_aiperf.trace.analysis import record_trace
from tb_aiperf.trace.findings import MIN_SHARE
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.partial_steps import find_steps
from tb_aiperf.trace.profile import TraceReading
from tb_aiperf.trace.reader import open_trace
from tests.unit.trace.published import ALL, DDP_A100, GLOO, MI300, NCCL_A100, OWLV2_H100, RESNET_V100, needs_traces

KINDS = [kind.key for kind in EVENT_KINDS]
#: So few bytes of each trace may lie in memory that it has many segments.
SMALL = 1 << 18


def profile_of(path: Path) -> TraceProfile:
    return analyze([path]).traces[0]


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@needs_traces
@pytest.mark.parametrize("path", ALL, ids=named)
def test_details_add_up(path: Path) -> None:
    profile = profile_of(path)
    work = profile.device_work
    for kernel in profile.kernels:
        rows = [row for row in work if row.name == kernel.name and row.kind in ("kernel", "communication")]
        assert sum(row.calls for row in rows) == kernel.calls
        assert sum(row.total_us for row in rows) == pytest.approx(kernel.total_us, abs=1e-3)
        assert (min(row.min_us for row in rows), max(row.max_us for row in rows)) == (kernel.min_us, kernel.max_us)
    by_operator: Counter[str] = Counter()
    for row in work:
        by_operator[row.operator or ""] += row.total_us  # type: ignore[assignment]
    assert by_operator.pop("", 0.0) == pytest.approx(profile.unattributed_device_us or 0.0, abs=1e-3)
    launching = {row.name: row.device_us for row in profile.operators if row.device_us}
    assert dict(by_operator) == pytest.approx(launching, abs=1e-3)
    if profile.call_sites is not None and len(profile.call_sites) < 500:
        assert sum(site.calls for site in profile.call_sites) == sum(row.calls for row in profile.operators)
        for column in ("host_self_us", "device_us"):
            sites = math.fsum(getattr(site, column) for site in profile.call_sites)
            assert sites == pytest.approx(math.fsum(getattr(row, column) for row in profile.operators), abs=1e-2)
    shares = [finding.share for finding in profile.findings]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1 + 1e-9
    assert all(share >= MIN_SHARE for share in shares[1:])
    assert 1 - sum(shares) <= MIN_SHARE * (len(CATEGORIES) - len(shares))


@needs_traces
@pytest.mark.parametrize("path", ALL, ids=named)
def test_timelines_hold_every_event_of_a_step(path: Path) -> None:
    trace = read_trace(path)
    steps = find_steps(trace, find_launches(trace))
    timelines = record_trace(path).timelines
    assert len(timelines) == len(steps)
    tables = (trace.operators, trace.annotations, trace.runtime, trace.python, trace.device)
    start = np.concatenate([table.start for table in tables])
    end = np.concatenate([table.end for table in tables])
    for timeline, low, high in zip(timelines, steps.start.tolist(), steps.end.tolist(), strict=True):
        instant = start == end
        inside = (start < high) & np.where(instant, start >= low, end > low) & (low < high)
        assert len(timeline) + timeline.left_out == inside.sum()
        durations = np.sort((end - start)[inside])[::-1][: len(timeline)]
        if timeline.left_out:
            assert np.sort(timeline.duration)[::-1].tolist() == durations.tolist()
            assert timeline.left_out_ns <= durations.min()
        assert (timeline.start + timeline.duration >= 0).all()
        assert (timeline.start < timeline.step_duration_ns).all()
        check_rows(timeline)


def check_rows(timeline: StepTimeline) -> None:
    """No two events of a row overlap, and they are in order."""
    same = (np.diff(timeline.lane) == 0) & (np.diff(timeline.row) == 0)
    ends = timeline.start + timeline.duration
    assert (timeline.start[1:] >= ends[:-1])[same].all()
    key = timeline.lane.astype(np.int64) << 32 | timeline.row
    assert (np.diff(key) >= 0).all()
    for lane, about in enumerate(timeline.lanes):
        assert timeline.row[timeline.lane == lane].max() + 1 == about.rows


@needs_traces
def test_launches_in_the_timeline_of_owlv2() -> None:
    """All work of the only step was launched in it, and none began before its launch did."""
    (timeline,) = record_trace(OWLV2_H100).timelines
    device = np.flatnonzero(timeline.kind >= KINDS.index("kernel"))
    assert len(device) == 5165
    launch = timeline.launch[device]
    assert (launch >= 0).all()
    names = Counter(timeline.names[name] for name in timeline.name[launch].tolist())
    assert names == {
        "cudaLaunchKernel": 2860, "cudaLaunchKernelExC": 745, "cuLaunchKernel": 725, "cudaMemsetAsync": 750,
        "cudaMemcpyAsync": 85,
    }  # fmt: skip
    assert (timeline.start[device] >= timeline.start[launch]).all()
    assert [lane.title for lane in timeline.lanes] == [
        "thread 21587 (main)", "thread 21587, Python", "thread 21716, Python", "GPU 0 stream 7",
    ]  # fmt: skip
    assert (timeline.left_out, len(timeline)) == (4062, 100_000)
    shown = Counter(KINDS[kind] for kind in timeline.kind.tolist())
    assert shown["annotation"] == 1
    assert shown["data_loading"] == 6


@needs_traces
@pytest.mark.parametrize("path", [MI300, OWLV2_H100, RESNET_V100[0], NCCL_A100, GLOO], ids=named)
def test_a_trace_in_pieces_tells_the_same(path: Path) -> None:
    whole = record_trace(path)
    with open_trace(path, SMALL) as source:
        reading = TraceReading(source, timelines=True)
        assert reading.profile() == whole.profile
        timelines = reading.timelines()
    assert len(timelines) == len(whole.timelines)
    for ours, theirs in zip(timelines, whole.timelines, strict=True):
        for column in StepTimeline.__dataclass_fields__:
            assert np.array_equal(getattr(ours, column), getattr(theirs, column)), column


@needs_traces
def test_call_sites_of_owlv2() -> None:
    sites = profile_of(OWLV2_H100).call_sites
    assert sites is not None
    softmax = next(site for site in sites if site.operator == "aten::_softmax")
    assert (softmax.calls, softmax.backward) == (120, False)
    assert softmax.device_us == pytest.approx(262_422, abs=1)
    assert softmax.frames[:4] == [
        "torch/nn/functional.py(2103): softmax",
        "transformers/models/owlv2/modeling_owlv2.py(410): forward",
        "transformers/models/owlv2/modeling_owlv2.py(518): forward",
        "transformers/models/owlv2/modeling_owlv2.py(750): forward",
    ]
    frames = {frame for site in sites for frame in site.frames}
    assert not any(frame.startswith(("<built-in", "nn.Module", "torch/overrides")) for frame in frames)
    # Every call was made from Python, on the only thread with frames.
    assert all(site.frames for site in sites)


@needs_traces
def test_backward_calls_of_mi300_have_the_place_of_their_forward_calls() -> None:
    sites = profile_of(MI300).call_sites
    assert sites is not None
    backward = [site for site in sites if site.operator == "ConvolutionBackward0"]
    assert sum(site.calls for site in backward) == 60
    assert all(site.backward for site in backward)
    assert {site.frames[0] for site in backward} == {"torch/nn/modules/conv.py(536): _conv_forward"}
    # Activation checkpointing runs the forward pass again, in Python, on the thread of the backward pass.
    again = [site for site in sites if "torch/utils/checkpoint.py(1500): recompute_fn" in site.frames]
    convolutions = [site for site in again if site.operator == "aten::miopen_convolution"]
    assert sum(site.calls for site in convolutions) == 57
    assert not any(site.backward for site in convolutions)


@needs_traces
def test_operations_of_a_rank() -> None:
    reduce, broadcast = profile_of(NCCL_A100).collectives
    assert (reduce.operation, reduce.group, reduce.calls, reduce.bytes) == ("all_reduce", "0", 15, 306_684_384)
    assert (broadcast.operation, broadcast.calls, broadcast.bytes) == ("broadcast", 6, 638_712)
    profile = profile_of(DDP_A100[0])
    (exchange,) = profile.collectives
    assert (exchange.operation, exchange.group, exchange.calls, exchange.bytes) == ("send_recv", None, 10, None)
    assert profile.device_timeline_us is not None
    assert exchange.exposed_us == pytest.approx(profile.device_timeline_us.communication_exposed, abs=20)
    (gloo,) = profile_of(GLOO).collectives
    assert (gloo.operation, gloo.calls, gloo.exposed_us, gloo.bytes) == ("all_reduce", 10, None, None)


@needs_traces
def test_findings_name_the_causes() -> None:
    loading, kernels = profile_of(OWLV2_H100).findings
    assert (loading.cause, kernels.cause) == ("data_loading", "kernel")
    assert "_SingleProcessDataLoaderIter.__next__ (619.045 ms in 6 calls)" in loading.evidence
    assert "num_workers above 0" in loading.action
    launch, *_ = profile_of(NCCL_A100).findings
    assert launch.cause == "launch"
    assert "A kernel takes 16.1 µs (median of 2,679)" in launch.evidence
    assert "kernels are launched every 171.5 µs (median of 2,698)" in launch.evidence
    communication, *_ = profile_of(MI300).findings
    assert communication.cause == "communication"
    assert "all_reduce in group 0 (35.221 ms in 6 calls)" in communication.evidence
    assert [finding.cause for finding in profile_of(RESNET_V100[0]).findings] == ["kernel", "data_loading", "launch"]


def test_places_in_a_trace_of_todays_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "trace.json"
    model, optimizer_of = torch.nn.Linear(8, 8), torch.optim.SGD

    def first_layer(batch: object) -> object:
        return model(batch)

    def second_layer(batch: object) -> object:
        return model(batch)

    optimizer = optimizer_of(model.parameters(), lr=0.1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as profiler:
        for _ in range(3):
            second_layer(first_layer(torch.ones(4, 8))).sum().backward()
            optimizer.step()
    profiler.export_chrome_trace(str(path))
    sites = profile_of(path).call_sites
    assert sites is not None

    def places(operator: str, backward: bool) -> Counter[str]:
        """Functions of this file from which an operator was called."""
        found: Counter[str] = Counter()
        for site in sites or ():
            if (site.operator, site.backward) == (operator, backward):
                frame = next(frame for frame in site.frames if Path(__file__).name in frame)
                found[frame.rsplit(": ", 1)[1]] += site.calls
        return found

    assert places("aten::addmm", False) == {"first_layer": 3, "second_layer": 3}
    # The gradient of the first layer's input is not wanted.
    assert places("aten::mm", True) == {"first_layer": 3, "second_layer": 6}
    step = next(site for site in sites if site.operator == "aten::add_" and "optim/sgd.py" in site.frames[0])
    assert [frame.rsplit(": ", 1)[1] for frame in step.frames][:3] == ["_single_tensor_sgd", "sgd", "step"]
