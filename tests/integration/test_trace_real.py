"""Traces of real machines: conservation on all of them, and independent readings of some."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import pytest

from tb_aiperf.trace import analyze, profile_trace, read_trace
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.modules import summarise_modules
from tb_aiperf.trace.operator_totals import summarise
from tb_aiperf.trace.operators import find_operators, link_backward
from tests.unit.trace.published import (
    ALL,
    DDP_A100,
    GLOO,
    MI210,
    MI300,
    NCCL_A100,
    NS_V100,
    ORACLES,
    OWLV2_H100,
    RESNET_V100,
    needs_traces,
)

pytestmark = needs_traces

#: Distinct step marks on the host, counted in the files' text.
MARKS = {
    "control.json.gz": 6,
    "test.json.gz": 6,
    "mi250_minitoy_train_ROCm6_2_kineto.json.gz": 2,
    GLOO.name: 1,
    DDP_A100[0].name: 2,
    DDP_A100[1].name: 2,
    MI210.name: 0,
    NCCL_A100.name: 3,
    NS_V100.name: 5,
    OWLV2_H100.name: 1,
    RESNET_V100[0].name: 6,
    RESNET_V100[1].name: 6,
    MI300.name: 3,
    "triton_example.json.gz": 1,
}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "path", [*ALL, *sorted(ORACLES.glob("*/**/*trace_*.json"))], ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_conservation(path: Path) -> None:
    (profile,) = analyze([path]).traces
    if path in ALL:
        assert len(profile.steps) == max(1, MARKS[path.name])
        assert profile.marked == (MARKS[path.name] > 0)
    end = 0.0
    for step in profile.steps:
        parts = [getattr(step.categories_us, name) for name in step.categories_us.__struct_fields__]
        assert math.fsum(parts) == pytest.approx(step.duration_us, abs=0.001)
        assert all(0 <= part <= step.duration_us for part in parts)
        assert step.start_us >= end - 0.001
        end = step.start_us + step.duration_us
        if step.idle_us is not None:
            idle = math.fsum(getattr(step.idle_us, name) for name in step.idle_us.__struct_fields__)
            assert idle <= step.duration_us + 0.001
    device = profile.device_timeline_us
    if device is not None:
        exposed = device.compute + device.communication_exposed + device.memcpy_exposed
        assert exposed == pytest.approx(device.busy, abs=0.001)
        assert device.busy + device.idle == pytest.approx(device.total, abs=0.001)
        assert profile.unattributed_device_us is not None
    trace = read_trace(path)
    attributed = math.fsum(operator.device_us for operator in profile.operators)
    work = int((trace.device.end - trace.device.start).sum()) / 1000
    assert attributed + (profile.unattributed_device_us or 0) == pytest.approx(work, abs=0.001)


@pytest.mark.parametrize("path", [OWLV2_H100, MI210], ids=lambda p: p.parent.name)
def test_device_timeline_agrees_with_an_independent_reading(path: Path) -> None:
    """The other reading keeps times in double microseconds, which costs it up to 0.001 % here."""
    (profile,) = analyze([path]).traces
    device = profile.device_timeline_us
    assert device is not None
    independent = {row["type"]: float(row["time ms"]) for row in rows_of(path.with_name("gpu_timeline.csv"))}
    ours = {
        "computation_time": device.compute,
        "exposed_comm_time": device.communication_exposed,
        "exposed_memcpy_time": device.memcpy_exposed,
        "busy_time": device.busy,
        "idle_time": device.idle,
        "total_time": device.total,
        "total_comm_time": device.communication,
        "total_memcpy_time": device.memcpy,
    }
    assert {name: value / 1000 for name, value in ours.items()} == pytest.approx(independent, rel=1e-4, abs=1e-9)


def test_kernels_of_owlv2() -> None:
    (profile,) = analyze([OWLV2_H100]).traces
    calls: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows_of(OWLV2_H100.with_name("kernel_summary.csv")):
        calls[row["Kernel name"]] += int(row["Kernel duration (µs)_count"])
        total[row["Kernel name"]] += float(row["Kernel duration (µs)_sum"])  # type: ignore[assignment]
    assert {kernel.name: kernel.calls for kernel in profile.kernels} == calls
    assert {kernel.name: kernel.total_us for kernel in profile.kernels} == pytest.approx(dict(total), abs=0.001)


def test_operators_of_owlv2() -> None:
    trace = read_trace(OWLV2_H100)
    operators = find_operators(trace, find_launches(trace))
    table = summarise(operators)
    names = [trace.names[index] for index in table.name]
    own = dict(zip(names, (table.device_self / 1000).tolist(), strict=True))
    subtree = dict(zip(names, (table.device_total / 1000).tolist(), strict=True))
    calls = dict(zip(names, table.calls.tolist(), strict=True))
    rows = rows_of(OWLV2_H100.with_name("ops_summary.csv"))
    direct = {row["name"]: float(row["total_direct_kernel_time_sum"]) for row in rows}
    assert {name: own[name] for name in direct} == pytest.approx(direct, abs=0.01)
    assert sum(own.values()) == pytest.approx(sum(direct.values()), rel=1e-6)
    below = {row["name"]: float(row["total_subtree_kernel_time_sum"]) for row in rows}
    # The other reading leaves out the calls that launched nothing themselves, and so what these contain.
    different = {name for name in below if abs(subtree[name] - below[name]) > 0.01}
    assert different == {"aten::where"}
    launching = Counter(trace.names[index] for index in operators.calls.name[operators.device_self > 0].tolist())
    assert {row["name"]: int(row["Count"]) for row in rows} == launching
    assert all(calls[name] >= launching[name] for name in launching)


def test_the_loader_takes_half_of_the_owlv2_step() -> None:
    (profile,) = analyze([OWLV2_H100]).traces
    (step,) = profile.steps
    assert step.categories_us.data_loading == pytest.approx(619_045, abs=1)
    assert step.duration_us == pytest.approx(1_211_182, abs=1)
    finding = profile.findings[0]
    assert finding.cause == "data_loading"
    assert finding.share == pytest.approx(0.511, abs=0.001)
    assert finding.speedup.expected == pytest.approx(1 / (1 - finding.share))
    assert finding.speedup.low < finding.speedup.expected <= finding.speedup.high
    assert step.idle_us is not None
    assert step.idle_us.input == pytest.approx(619_045, abs=1)
    assert profile.unattributed_device_us == 0.0


def test_memory_and_modules_of_owlv2() -> None:
    trace = read_trace(OWLV2_H100)
    memory = profile_trace(trace).memory
    assert memory is not None
    cpu, gpu = memory.devices
    assert (cpu.device, gpu.device, gpu.relative) == ("cpu", "cuda:0", False)
    assert gpu.peak_allocated_bytes == max(gpu.allocated_bytes) == int(trace.memory.allocated.max())
    assert gpu.peak_reserved_bytes == int(trace.memory.reserved.max())
    assert gpu.peak_allocated_bytes <= gpu.peak_reserved_bytes
    assert {holder.operator: holder.bytes for holder in gpu.holders[:2]} == dict.fromkeys(
        ("aten::_softmax", "aten::bmm"), 860_295_680
    )
    assert sum(holder.bytes for holder in gpu.holders) <= gpu.peak_allocated_bytes
    modules = summarise_modules(trace, find_launches(trace))
    assert modules is not None
    assert trace.names[modules.name[0]] == "nn.Module: Owlv2ForObjectDetection_0"
    assert modules.calls[0] == 5
    # All kernels are launched inside the model, copies of its inputs and outputs are not.
    assert modules.device_total[0] / 1000 == pytest.approx(552_216, abs=1)


@pytest.mark.parametrize(
    ("path", "communication_us", "exposed_us"), [(MI300, 71_517, 55_371), (NCCL_A100, 46_876, 39_529)]
)
def test_communication_is_the_collectives_kernels(path: Path, communication_us: float, exposed_us: float) -> None:
    (profile,) = analyze([path]).traces
    device = profile.device_timeline_us
    assert device is not None
    assert device.communication == pytest.approx(communication_us, abs=1)
    assert device.communication_exposed == pytest.approx(exposed_us, abs=1)
    by_name = sum(kernel.total_us for kernel in profile.kernels if "nccl" in kernel.name)
    assert device.communication == pytest.approx(by_name, abs=0.01)
    assert sum(step.categories_us.communication for step in profile.steps) == pytest.approx(exposed_us, rel=0.01)


def test_host_steps_of_mi300_are_neither_repeated_nor_of_the_device() -> None:
    (profile,) = analyze([MI300]).traces
    assert [(step.step, step.partial) for step in profile.steps] == [(15, True), (16, False), (17, False)]
    assert any("968 of 3653 pieces of device work have no launch" in warning for warning in profile.warnings)


def test_epoch_times_with_nanoseconds_keep_them() -> None:
    trace = read_trace(NS_V100)
    first = 1_712_195_495_519_689_047
    assert first in trace.operators.start.tolist()
    assert len(set((trace.operators.start % 1000).tolist())) > 900


def test_transfer_and_wait_of_two_of_128_ranks() -> None:
    found = analyze(DDP_A100).collectives
    assert found is not None
    assert (found.ranks, found.calls, found.warnings) == ([0, 1], 10, [])
    (operation,) = found.operations
    assert (operation.operation, operation.transfer_us) == ("send_recv", 272_898.0)
    assert operation.wait_us == [123_301.0, 106_155.0]
    assert operation.late_us == [106_155.0, 123_301.0]


def test_gloo_is_communication_on_the_host() -> None:
    (profile,) = analyze([GLOO]).traces
    assert (profile.rank, profile.world_size, profile.device) == (34, 300, "cpu")
    assert profile.steps[0].categories_us.communication == pytest.approx(178_777, abs=1)


def test_backward_is_linked_to_forward() -> None:
    trace = read_trace(MI300)
    operators = find_operators(trace, find_launches(trace))
    links = link_backward(operators)
    names = [trace.names[index] for index in operators.calls.name]
    linked = {(names[row], names[to]) for row, to in enumerate(links.tolist()) if to >= 0}
    assert ("AddmmBackward0", "aten::addmm") in linked
    assert ("MseLossBackward0", "aten::mse_loss") in linked
    backward = sum(name.endswith("Backward0") and not name.startswith("autograd") for name in names)
    assert sum(links >= 0) >= backward > 0
