"""Trace profiles in the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tb_aiperf.records import (
    CallSite,
    CategoryTimes,
    CollectivesProfile,
    CollectiveTimes,
    DeviceMemoryProfile,
    DeviceTimes,
    Estimate,
    Finding,
    IdleTimes,
    KernelTimes,
    MemoryHolder,
    MemoryProfile,
    ModuleTimes,
    OperationTimes,
    OperatorTimes,
    StepProfile,
    TraceAnalysis,
    TraceProfile,
)
from tb_aiperf.terminal_profile import print_analysis


def finding(cause: str, share: float) -> Finding:
    speedup = Estimate(low=1.0, expected=1.5, high=2.0)
    return Finding(cause=cause, share=share, speedup=speedup, evidence=f"{cause} [b]shown[/b].", action="Do it.")


def site(operator: str, frames: int, *, backward: bool = False) -> CallSite:
    names = [f"net.py({line}): f{line}" for line in range(frames)]
    return CallSite(operator=operator, frames=names, backward=backward, calls=1200, host_self_us=2500.0, device_us=40.0)


def profile(**values: Any) -> TraceProfile:
    step = StepProfile(
        step=3,
        start_us=0.0,
        duration_us=10_000.0,
        partial=False,
        categories_us=CategoryTimes(
            kernel=6000.0, memcpy=0.0, memset=0.0, communication=0.0, runtime=0.0, data_loading=0.0, cpu_op=4000.0,
            other=0.0,
        ),
        idle_us=IdleTimes(input=0.0, synchronisation=1000.0, launch=3000.0, communication=0.0, other=0.0),
    )  # fmt: skip
    timeline = DeviceTimes(
        compute=6000.0, communication=0.0, communication_exposed=0.0, memcpy=0.0, memcpy_exposed=0.0, busy=6000.0,
        idle=3000.0, total=9000.0,
    )  # fmt: skip
    usual: dict[str, Any] = {
        "path": "trace.json", "rank": 1, "world_size": 8, "device": "H100", "marked": True, "warnings": ["beware"],
        "steps": [step], "device_timeline_us": timeline,
        "operators": [
            OperatorTimes(name="aten::mm", calls=10, host_self_us=100.0, host_total_us=200.0, device_us=5000.0,
                          device_total_us=5000.0)
        ],
        "operators_by_shape": None, "operators_by_step": None, "call_sites": None, "modules": None,
        "kernels": [
            KernelTimes(name="start" + "x" * 300 + "end", communication=False, calls=4, total_us=6000.0, min_us=1.0,
                        max_us=3000.0)
        ],
        "device_work": [], "unattributed_device_us": 0.0, "memory": None, "collectives": [],
        "profiler_overhead_us": None, "findings": [finding("kernel", 0.6), finding("launch", 0.3)],
    }  # fmt: skip
    return TraceProfile(**{**usual, **values})


def printed(analysis: TraceAnalysis, width: int = 80) -> list[str]:
    out = io.StringIO()
    print_analysis(analysis, Console(file=out, width=width, highlight=False))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def lines_of(width: int = 80, **values: Any) -> list[str]:
    return printed(TraceAnalysis(traces=[profile(**values)], collectives=None), width)


def test_findings_are_a_ranked_list() -> None:
    lines = lines_of()
    first = lines.index("1. Kernels: 60.0% of the step time; acted upon, 1.50 times as fast (1.00 to")
    assert lines[first + 1 : first + 5] == [
        "2.00)",
        "   kernel [b]shown[/b].",
        "   Do it.",
        "2. Launch: 30.0% of the step time; acted upon, 1.50 times as fast (1.00 to 2.00)",
    ]


def test_a_trace_without_steps_or_findings() -> None:
    lines = lines_of(findings=[], steps=[], device_timeline_us=None, kernels=[], operators=[])
    assert lines == [
        "trace.json · H100 · rank 1 of 8",
        "Operator (0 of 0)  Calls  Host self  Host total  Device",
        "Note: beware",
    ]


def test_figures_of_everything_else() -> None:
    memory = DeviceMemoryProfile(
        device="cuda:0", relative=False, peak_us=1500.0, peak_allocated_bytes=2_710_000_000,
        peak_reserved_bytes=3_600_000_000, time_us=[0.0], allocated_bytes=[1], reserved_bytes=[1],
        holders=[MemoryHolder(operator="aten::bmm", bytes=860_295_680), MemoryHolder(operator=None, bytes=512)],
    )  # fmt: skip
    module = ModuleTimes(
        name="nn.Module: Net_0", module=0, parent=None, calls=2, host_self_us=1.0, host_total_us=9.0, device_us=8.0
    )
    text = "\n".join(
        lines_of(
            width=200,
            call_sites=[site("aten::mm", 5, backward=True), site("aten::add", 0)],
            modules=[module],
            collectives=[
                OperationTimes(
                    operation="all_reduce", group="0", calls=6, total_us=100.0, exposed_us=60.0, bytes=70_137_072
                ),
                OperationTimes(operation="barrier", group=None, calls=1, total_us=5.0, exposed_us=None, bytes=None),
            ],
            memory=MemoryProfile(devices=[memory]),
            profiler_overhead_us=84.9,
        )
    )
    for expected in (
        "Host operators  ████████                       40.0%   4 ms             4 ms\n",
        "Device idle inside steps: 4 ms in total, of that launch 75%, synchronisation 25%",
        "Call sites (2 of 2)\n"
        "  aten::mm (backward): 1,200 calls, host self 2.5 ms, device 40 µs\n"
        "    net.py(0): f0\n    net.py(1): f1\n    net.py(2): f2\n    … and 2 more frames\n"
        "  aten::add: 1,200 calls, host self 2.5 ms, device 40 µs\n"
        "    (the trace does not tell where)\n",
        "Module (1 of 1)  Calls  Host self  Host total  Device\n"
        "Net_0                2       1 µs        9 µs    8 µs\n",
        "all_reduce in group 0      6  100 µs         60 µs       70.1 MB\n",
        "barrier                    1    5 µs  not measured  not recorded\n",
        "Memory of cuda:0: peak 2.71 GB, 3.6 GB reserved, 1.5 ms after the start; held by aten::bmm 860 MB, "
        "(no operator known) 512 B\n",
        "Profiler: at work itself for 84.9 µs inside steps, as far as it recorded that\n",
    ):
        assert expected in text


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_line_is_longer_than_the_terminal_and_long_names_take_one(width: int) -> None:
    sites = [site("aten::" + "y" * 200, 2), site("z", 4)]
    lines = lines_of(width, call_sites=sites)
    assert max(map(len, lines)) <= width
    (kernel,) = (line for line in lines if line.startswith("startxx"))
    assert "…" in kernel
    assert "xend  " in kernel
    assert kernel.endswith("6 ms  1.5 ms")


def test_many_ranks_are_summed_up() -> None:
    waits: list[float | None] = [10.0 * rank for rank in range(128)]
    waits[5] = None
    row = CollectiveTimes(
        operation="all_reduce", group="0", calls=3, transfer_us=7.0, wait_us=waits, late_us=[0.0] * 128
    )
    ranks = list(range(128))
    collectives = CollectivesProfile(ranks=ranks, calls=3, operations=[row], clock_offset_us=None, warnings=["odd"])
    lines = printed(TraceAnalysis(traces=[], collectives=collectives))
    assert lines[-4:] == [
        "Collectives of ranks 0 to 127 (128)",
        "Operation   Calls  Transfer  Least wait  Median     Most  of rank",
        "all_reduce      3      7 µs           0  640 µs  1.27 ms      127",
        "Note: odd",
    ]
