from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_aiperf.records import TraceAnalysis, TraceProfile
from tb_aiperf.trace import TraceError, analyze
from tests.unit.trace.events import Event, kernel, launch, loading, mark, span, write


def profile(tmp_path: Path, events: list[Event], **metadata: Any) -> TraceProfile:
    (found,) = analyze([write(tmp_path / "trace.json", events, **metadata)]).traces
    return found


def test_the_json_has_the_documented_form(tmp_path: Path) -> None:
    events = [mark(4, 100, 100), span("aten::mm", 110, 20), launch(1, 115, 5), kernel(1, 130, 20.5)]
    memory = {
        "ph": "i",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": 112,
        "args": {"Device Type": 1, "Device Id": 0, "Bytes": 64},
    }
    path = write(
        tmp_path / "trace.json",
        [*events, memory],
        deviceProperties=[{"id": 0, "name": "NVIDIA H100"}],
        distributedInfo={"rank": 1, "world_size": 2},
    )
    analysis = analyze([path])
    encoded = msgspec.json.encode(analysis)
    assert msgspec.json.decode(encoded, type=TraceAnalysis) == analysis
    document = msgspec.json.decode(encoded)
    assert list(document) == ["traces", "collectives"]
    (trace,) = document["traces"]
    assert list(trace) == [
        "path", "rank", "world_size", "device", "marked", "warnings", "steps", "device_timeline_us", "operators",
        "operators_by_shape", "operators_by_step", "call_sites", "modules", "kernels", "device_work",
        "unattributed_device_us", "memory",
        "collectives", "profiler_overhead_us", "findings",
    ]  # fmt: skip
    assert trace["path"] == str(path)
    assert (trace["rank"], trace["world_size"], trace["device"], trace["marked"]) == (1, 2, "NVIDIA H100", True)
    assert trace["steps"] == [
        {
            "step": 4,
            "start_us": 0.0,
            "duration_us": 100.0,
            "partial": False,
            "categories_us": {
                "kernel": 20.5, "memcpy": 0.0, "memset": 0.0, "communication": 0.0, "runtime": 5.0, "data_loading": 0.0,
                "cpu_op": 15.0, "other": 59.5,
            },
            "idle_us": {"input": 0.0, "synchronisation": 0.0, "launch": 20.0, "communication": 0.0, "other": 59.5},
        }
    ]  # fmt: skip
    assert trace["device_timeline_us"] == {
        "compute": 20.5, "communication": 0.0, "communication_exposed": 0.0, "memcpy": 0.0, "memcpy_exposed": 0.0,
        "busy": 20.5, "idle": 0.0, "total": 20.5,
    }  # fmt: skip
    assert trace["operators"] == [
        {
            "name": "aten::mm",
            "calls": 1,
            "host_self_us": 20.0,
            "host_total_us": 20.0,
            "device_us": 20.5,
            "device_total_us": 20.5,
        }
    ]
    assert trace["operators_by_shape"] is None
    assert trace["operators_by_step"] == [
        {"name": "aten::mm", "calls": [1], "host_self_us": [20.0], "device_us": [20.5]}
    ]
    assert trace["modules"] is None
    assert trace["kernels"] == [
        {"name": "gemm", "communication": False, "calls": 1, "total_us": 20.5, "min_us": 20.5, "max_us": 20.5}
    ]
    assert trace["unattributed_device_us"] == 0.0
    assert trace["memory"] == {
        "devices": [
            {
                "device": "cuda:0", "relative": True, "peak_us": 12.0, "peak_allocated_bytes": 64,
                "peak_reserved_bytes": None, "time_us": [12.0], "allocated_bytes": [64], "reserved_bytes": None,
                "holders": [],
            }
        ]
    }  # fmt: skip
    finding = trace["findings"][0]
    assert list(finding) == ["cause", "share", "speedup", "evidence", "action"]
    assert list(finding["speedup"]) == ["low", "expected", "high"]


def test_missing_is_null_with_a_reason(tmp_path: Path) -> None:
    found = profile(tmp_path, [span("aten::mm", 0, 10)])
    assert (found.rank, found.world_size, found.device, found.marked) == (None, None, "cpu", False)
    assert found.steps[0].step is None
    assert found.steps[0].idle_us is None
    assert found.device_timeline_us is None
    assert found.unattributed_device_us is None
    assert found.memory is None
    for reason in ("no distributedInfo", "no data-loading range", "profile_memory=True", "no device work"):
        assert sum(reason in warning for warning in found.warnings) == 1


def test_lost_events_are_told(tmp_path: Path) -> None:
    found = profile(tmp_path, [mark(1, 0, 100), launch(1, 10, 1), launch(2, 20, 1), kernel(1, 30, 5), kernel(9, 40, 5)])
    assert any("1 of 2 pieces of device work have no launch" in warning for warning in found.warnings)
    assert any("1 kernel launches have no kernel" in warning for warning in found.warnings)
    assert found.unattributed_device_us == 10.0


def test_impossible_durations_on_a_stream_are_told(tmp_path: Path) -> None:
    found = profile(
        tmp_path, [kernel(1, 0, 5000), kernel(2, 100, 50), kernel(3, 140, 20), kernel(4, 0, 9000, stream=8)]
    )
    (warning,) = (warning for warning in found.warnings if "outlast" in warning)
    assert warning.startswith(
        "1 pieces of device work outlast the start of the next on their stream, by up to 4.900 ms"
    )


def test_several_devices_are_told(tmp_path: Path) -> None:
    other = {**kernel(2, 40, 5), "pid": 1}
    found = profile(tmp_path, [kernel(1, 30, 5), kernel(3, 36, 5), other], deviceProperties=[{"id": 0, "name": "A100"}])
    assert found.device == "A100"
    assert any("work of 2 devices is taken together" in warning for warning in found.warnings)


def test_the_largest_cause_by_hand(tmp_path: Path) -> None:
    """Loading takes 60 and 40 of 100: half of all. Amdahl: 1 / (1 - 0.5) = 2; half of 40 % gone is 1 / 0.8 = 1.25."""
    events = [mark(1, 0, 100), loading(0, 60), span("aten::mm", 60, 30), mark(2, 100, 100), loading(110, 40)]
    finding = profile(tmp_path, [*events, span("aten::mm", 150, 40)]).findings[0]
    assert finding.cause == "data_loading"
    assert finding.speedup.low == pytest.approx(1.25)
    assert finding.speedup.expected == pytest.approx(2.0)
    assert finding.speedup.high == pytest.approx(2.5)
    assert finding.evidence == (
        "In 50.0% of 2 steps, the program waits for its data loader and no device work hides it: "
        "0.100 of 0.200 ms (40.0% to 60.0% of a step). "
        "Waits: enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ (100.0 µs in 2 calls)."
    )


def test_a_partial_step_is_no_evidence(tmp_path: Path) -> None:
    events = [kernel(77, 10, 90), mark(1, 0, 100), mark(2, 100, 100), loading(110, 80)]
    finding = profile(tmp_path, events).findings[0]
    assert (finding.cause, finding.share) == ("data_loading", pytest.approx(0.8))


def test_one_bad_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", [span("aten::mm", 0, 10)])
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    with pytest.raises(TraceError, match=r"bad\.json"):
        analyze([good, bad])


def test_markup_in_names_stays_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    assert profile(tmp_path, [span(name, 0, 10)]).operators[0].name == name


def test_operators_step_by_step(tmp_path: Path) -> None:
    """Step 4 runs an operator in another and once more, step 5 once; what begins outside of steps counts nowhere."""
    events = [
        span("aten::mm", 10, 5),
        mark(4, 100, 100),
        span("aten::linear", 110, 40),
        span("aten::mm", 120, 20),
        launch(1, 125, 5),
        span("aten::mm", 160, 10),
        mark(5, 200, 100),
        kernel(1, 205, 30),
        span("aten::mm", 250, 7),
    ]
    found = profile(tmp_path, events)
    assert found.operators_by_step is not None
    rows = {row.name: (row.calls, row.host_self_us, row.device_us) for row in found.operators_by_step}
    assert [(step.start_us, step.duration_us) for step in found.steps] == [(90.0, 135.0), (225.0, 65.0)]
    assert rows == {
        "aten::mm": ([2, 1], [30.0, 7.0], [30.0, 0.0]),
        "aten::linear": ([1, 0], [20.0, 0.0], [0.0, 0.0]),
    }


def test_operators_step_by_step_need_marks_and_stay_few(tmp_path: Path) -> None:
    assert profile(tmp_path, [span("aten::mm", 10, 5)]).operators_by_step is None
    marks = [mark(number, 100.0 * number, 100) for number in range(400)]
    many = [span(f"op{name}", 100.0 * name + 1, 1 + name % 50) for name in range(300)]
    found = profile(tmp_path, [*marks, *many]).operators_by_step
    assert found is not None
    assert len(found) == 20_000 // 400
    assert min(sum(row.host_self_us) for row in found) >= 42
