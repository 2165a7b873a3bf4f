"""Two profiles compared."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tb_aiperf import reports
from tb_aiperf.records import OperatorSteps, TraceRecording
from tb_aiperf.reports import WindowChoice
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tests.unit.storage.recordings import profile, step, timeline, write_windows
from tests.unit.storage.series import attempt


def reader_of(logdir: Path) -> RunReader:
    return RunReader(DirectorySource(str(logdir)))


def window(first: int, *times: tuple[float, float], partial: int = 0) -> TraceRecording:
    """Steps of (data loading, kernel) microseconds; the last `partial` of them are partial."""
    steps = [
        step(first + place, kernel, loading, partial=place >= len(times) - partial)
        for place, (loading, kernel) in enumerate(times)
    ]
    rows = [
        OperatorSteps(
            name="aten::mm",
            calls=[2] * len(times),
            host_self_us=[kernel for _, kernel in times],
            device_us=[0.0] * len(times),
        )
    ]
    return TraceRecording(
        profile=profile(*steps, operators_by_step=rows),
        calls=None,
        timelines=tuple(timeline(each.step) for each in steps),
    )


def test_two_windows_by_hand(tmp_path: Path) -> None:
    first = window(10, (30.0, 60.0), (30.0, 62.0), (999.0, 999.0), partial=1)
    second = window(20, (90.0, 60.0), (92.0, 62.0), (88.0, 58.0))
    write_windows(tmp_path / "run", attempt(), first, second)
    reader = reader_of(tmp_path)
    answer = reports.compare_profiles(reader, WindowChoice("run", attempt().id, 0), WindowChoice("run", None, 1))
    assert answer["baseline"] == {
        "run": "run", "attempt": attempt().id, "window": 0, "first_step": 10, "last_step": 12, "n": 2,
    }  # fmt: skip
    assert answer["other"]["n"] == 3
    row = answer["step_time_us"]
    assert (row["baseline_us"], row["other_us"], row["difference_us"], row["clear"]) == (91.0, 150.0, 59.0, True)
    assert 146 - 92 <= row["low_us"] < 59 < row["high_us"] <= 154 - 90
    by_key = {each["key"]: each for each in answer["categories"]}
    assert by_key["data_loading"]["difference_us"] == 60.0
    assert by_key["data_loading"]["clear"]
    assert by_key["kernel"]["difference_us"] == -1.0
    assert not by_key["kernel"]["clear"]
    assert sum(each["difference_us"] for each in answer["categories"]) == row["difference_us"]
    (operator,) = answer["operators"]
    assert operator["name"] == "aten::mm"
    assert operator["calls"] == {"baseline": 2.0, "other": 2.0}
    assert operator["host_self"]["difference_us"] == -1.0
    assert answer["headline"] == (
        "A step takes 59 µs (65 %) longer than the mean of 91 µs before; most of it is data loading: +60 µs"
    )
    assert msgspec.json.decode(msgspec.json.encode(answer)) == answer


def test_steps_that_cannot_be_told_apart(tmp_path: Path) -> None:
    write_windows(tmp_path / "a", attempt(), window(1, (30.0, 60.0), (40.0, 80.0), (20.0, 50.0)))
    write_windows(tmp_path / "b", attempt(), window(1, (31.0, 60.0), (40.0, 82.0), (20.0, 50.0)))
    answer = reports.compare_profiles(reader_of(tmp_path), WindowChoice("a"), WindowChoice("b"))
    assert not answer["step_time_us"]["clear"]
    assert answer["headline"].startswith("The step times are not distinguishable: −")


def test_one_step_gives_no_interval(tmp_path: Path) -> None:
    write_windows(tmp_path / "a", attempt(), window(1, (30.0, 60.0)))
    write_windows(tmp_path / "b", attempt(), window(1, (10.0, 60.0), (12.0, 62.0)))
    answer = reports.compare_profiles(reader_of(tmp_path), WindowChoice("a"), WindowChoice("b"))
    assert answer["step_time_us"]["clear"] is None
    assert answer["step_time_us"]["low_us"] is None
    assert "one step on a side: no interval" in answer["headline"]


def test_equal_windows(tmp_path: Path) -> None:
    write_windows(tmp_path / "a", attempt(), window(1, (30.0, 60.0)))
    answer = reports.compare_profiles(reader_of(tmp_path), WindowChoice("a"), WindowChoice("a"))
    assert answer["headline"] == "The step times are equal: a mean of 90 µs"


def test_a_profile_without_steps_or_marks(tmp_path: Path) -> None:
    write_windows(tmp_path / "a", attempt(), TraceRecording(profile=profile(), calls=None, timelines=()))
    write_windows(tmp_path / "b", attempt(), window(1, (10.0, 60.0)))
    answer = reports.compare_profiles(reader_of(tmp_path), WindowChoice("a"), WindowChoice("b"))
    assert answer["step_time_us"] is None
    assert answer["categories"] == []
    assert answer["operators"] is None
    assert answer["headline"] == "One of the two profiles holds no step"


def test_a_window_that_is_not_there(tmp_path: Path) -> None:
    write_windows(tmp_path / "a", attempt(), window(1, (30.0, 60.0)))
    with pytest.raises(reports.NotFoundError, match="has no window 7"):
        reports.compare_profiles(reader_of(tmp_path), WindowChoice("a"), WindowChoice("a", None, 7))
