"""Trace recordings by hand, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tb_aiperf.records import (
    Attempt,
    CategoryTimes,
    CollectiveCalls,
    Estimate,
    Finding,
    IdleTimes,
    KernelTimes,
    Lane,
    OperatorTimes,
    StepProfile,
    StepTimeline,
    TraceProfile,
    TraceRecording,
)
from tb_aiperf.storage.event_file import scan
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.sink import FolderSink

COLUMNS = ("lane", "row", "kind", "name", "shape", "start", "duration", "launch")
RECORDED_NS = 1_790_000_123_000_000_000


def step(number: int | None, kernel: float, data_loading: float, *, partial: bool = False) -> StepProfile:
    """A step of a kernel and a wait for data, in microseconds; the device idles in the latter."""
    rest = dict.fromkeys(("memcpy", "memset", "communication", "runtime", "cpu_op", "other"), 0.0)
    return StepProfile(
        step=number,
        start_us=0.0,
        duration_us=kernel + data_loading,
        partial=partial,
        categories_us=CategoryTimes(kernel=kernel, data_loading=data_loading, **rest),
        idle_us=IdleTimes(input=data_loading, synchronisation=0.0, launch=0.0, communication=0.0, other=0.0),
    )


def profile(*steps: StepProfile, **fields: Any) -> TraceProfile:
    """A profile of the given steps."""
    given: dict[str, Any] = {
        "path": "/traces/run.pt.trace.json.gz",
        "rank": None,
        "world_size": None,
        "device": "NVIDIA H100",
        "marked": all(each.step is not None for each in steps),
        "warnings": [],
        "device_timeline_us": None,
        "operators": [
            OperatorTimes(
                name="aten::mm", calls=3, host_self_us=1.5, host_total_us=2.5, device_us=9.0, device_total_us=9.0
            )
        ],
        "operators_by_shape": None,
        "operators_by_step": None,
        "call_sites": None,
        "modules": None,
        "kernels": [KernelTimes(name="gemm", communication=False, calls=3, total_us=9.0, min_us=2.0, max_us=4.0)],
        "device_work": [],
        "unattributed_device_us": 0.0,
        "memory": None,
        "collectives": [],
        "profiler_overhead_us": None,
        "findings": [
            Finding(
                cause="data_loading",
                share=0.75,
                speedup=Estimate(low=1.6, expected=4.0, high=4.0),
                evidence="75 % of 2 steps.",
                action="Give the loader more workers.",
            )
        ],
    }
    return TraceProfile(steps=list(steps), **{**given, **fields})


def timeline(number: int | None = 7, **fields: Any) -> StepTimeline:
    """Four events: an operator inside another, a launch, and the kernel it launched."""
    given: dict[str, Any] = {
        "step": number,
        "step_duration_ns": 9_000,
        "lanes": (Lane(kind="host", title="thread 1", rows=3), Lane(kind="device", title="GPU 0 stream 7", rows=1)),
        "names": ("aten::linear", "aten::mm", "cudaLaunchKernel", "gemm"),
        "shapes": ("[[8,64],[64,64]]",),
        "lane": [0, 0, 0, 1],
        "row": [0, 1, 2, 0],
        "kind": [0, 0, 2, 6],
        "name": [0, 1, 2, 3],
        "shape": [0, 0, -1, -1],
        "start": [-100, 200, 300, 1_500],
        "duration": [5_000, 4_000, 50, 7_000],
        "launch": [-1, -1, -1, 2],
        "left_out": 0,
        "left_out_ns": 0,
    }
    given |= fields
    return StepTimeline(**{name: np.array(v, np.int64) if name in COLUMNS else v for name, v in given.items()})


def calls(starts: Sequence[int], durations: Sequence[int], group: str | None = "0") -> CollectiveCalls:
    """all_reduce after all_reduce of one group, in nanoseconds."""
    n = len(starts)
    return CollectiveCalls(
        operations=["all_reduce"],
        groups=[] if group is None else [group],
        operation=[0] * n,
        group=[-1 if group is None else 0] * n,
        sequence=list(range(n)),
        start_ns=list(starts),
        duration_ns=list(durations),
    )


def recording(*steps: StepProfile, of_calls: CollectiveCalls | None = None, **fields: Any) -> TraceRecording:
    """A recording with one timeline per step; of a marked step 7 and a partial step 8 where none are given."""
    steps = steps or (step(7, 30.0, 90.0), step(8, 10.0, 10.0, partial=True))
    return TraceRecording(
        profile=profile(*steps, **fields), calls=of_calls, timelines=tuple(timeline(each.step) for each in steps)
    )


def write_windows(folder: Path, attempt: Attempt, *recordings: TraceRecording) -> None:
    """One event file in `folder` with the windows of an attempt, a second apart."""
    sink = FolderSink(str(folder))
    writer = ProfileWriter(sink, attempt)
    for number, each in enumerate(recordings):
        assert writer.write(each, RECORDED_NS + number * 1_000_000_000) == number
    sink.close()


def corrupt(path: Path, tag: str) -> None:
    """Flip a bit in the payload of a tag, which lies around the middle of its event."""
    content = bytearray(path.read_bytes())
    (record,) = [record for record in scan(bytes(content), []) if tag in record.tag]
    content[record.offset + record.size // 2] ^= 0x10
    path.write_bytes(bytes(content))


def assert_same_timeline(read: StepTimeline, expected: StepTimeline) -> None:
    """Equal in everything."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(read, name), getattr(expected, name), err_msg=name)
    for name in ("step", "step_duration_ns", "lanes", "names", "shapes", "left_out", "left_out_ns"):
        assert getattr(read, name) == getattr(expected, name), name
