from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tb_aiperf import reports
from tb_aiperf.records import CATEGORIES, EVENT_KINDS, IDLE_CAUSES, StepProfile, TraceRecording
from tb_aiperf.reports.profiles import profile_headline
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.new_runs import NewRuns
from tb_aiperf.storage.reader import RunReader
from tests.unit.storage.recordings import RECORDED_NS, calls, corrupt, profile, recording, step, write_windows
from tests.unit.storage.series import attempt, event_file, noisy, rewrite, table, write_run


def reader_of(logdir: Path) -> RunReader:
    return RunReader(DirectorySource(str(logdir)))


def test_a_profile_by_hand(tmp_path: Path) -> None:
    steps = (step(7, 30.0, 90.0), step(8, 20.0, 60.0), step(9, 5.0, 5.0, partial=True))
    write_windows(tmp_path / "run", attempt(1, rank=2, world_size=4, loop="validate"), recording(*steps))
    answer = reports.profile(reader_of(tmp_path), "run")
    assert answer == {
        "run": "run",
        "attempt": attempt(1).id,
        "window": 0,
        "loop": "validate",
        "rank": 2,
        "world_size": 4,
        "recorded_unix_s": 1790000123.0,
        # The partial step is left out.
        "step_time_us": {"n": 2, "mean": 100.0, "median": 100.0, "min": 80.0, "max": 120.0},
        "dilation": None,
        "headline": "75 % of the step time is data loading (median 75 µs of 100 µs), 25 % kernels",
        "profile": msgspec.to_builtins(profile(*steps)),
        "collectives": None,
        "ranks": [{"rank": 2, "run": "run"}],
        "timelines": [{"index": k, "step": 7 + k, "events": 4, "left_out": 0} for k in range(3)],
        "damage": [],
    }
    assert msgspec.json.decode(msgspec.json.encode(answer)) == answer


def test_a_timeline_by_hand(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording(), recording(step(20, 1.0, 1.0), step(None, 1.0, 1.0)))
    answer = reports.timeline(reader_of(tmp_path), "run", attempt().id, 1, 1)
    assert answer == {
        "run": "run",
        "attempt": attempt().id,
        "window": 1,
        "index": 1,
        "step": None,
        "step_duration_ns": 9_000,
        "left_out": 0,
        "left_out_ns": 0,
        "lanes": [
            {"kind": "host", "title": "thread 1", "rows": 3},
            {"kind": "device", "title": "GPU 0 stream 7", "rows": 1},
        ],
        "names": ["aten::linear", "aten::mm", "cudaLaunchKernel", "gemm"],
        "shapes": ["[[8,64],[64,64]]"],
        "lane": [0, 0, 0, 1],
        "row": [0, 1, 2, 0],
        "kind": [0, 0, 2, 6],
        "name": [0, 1, 2, 3],
        "shape": [0, 0, -1, -1],
        "start_ns": [-100, 200, 300, 1_500],
        "duration_ns": [5_000, 4_000, 50, 7_000],
        "launch": [-1, -1, -1, 2],
    }
    assert msgspec.json.decode(msgspec.json.encode(answer)) == answer


def test_the_newest_window_of_the_newest_attempt_is_meant(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(2), recording(), recording(), recording())
    write_windows(tmp_path / "run", attempt(1), *[recording()] * 5)
    write_run(tmp_path / "run", (attempt(3), table({"forward": [1]})))
    reader = reader_of(tmp_path)

    def chosen(*arguments: Any) -> tuple[str, int]:
        answer = reports.profile(reader, "run", *arguments)
        return answer["attempt"], answer["window"]

    assert chosen() == (attempt(2).id, 2)
    assert chosen(attempt(1).id) == (attempt(1).id, 4)
    assert chosen(attempt(1).id, 3) == (attempt(1).id, 3)
    assert chosen(None, 1) == (attempt(2).id, 1)
    with pytest.raises(
        reports.NotFoundError, match=rf"^attempt '{attempt(2).id}' of run 'run' has no window 3, only 0, 1, 2$"
    ):
        chosen(None, 3)
    with pytest.raises(
        reports.NotFoundError, match=rf"has no profile of attempt 'x', only of {attempt(1).id}, {attempt(2).id}$"
    ):
        chosen("x")


def headline(*steps: StepProfile, **fields: Any) -> str:
    return profile_headline(profile(*steps, **fields))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((step(1, 30.0, 90.0),), "75 % of the step time is data loading (90 µs of 120 µs), 25 % kernels"),
        ((step(None, 90_000.0, 1.0),), "100 % of the recorded time is kernels (90 ms of 90 ms)"),
        # One whole step: the partial ones count only where there is no other.
        (
            (step(1, 1.0, 9.0), step(2, 9.0, 0.0, partial=True)),
            "90 % of the step time is data loading (9.0 µs of 10 µs), 10 % kernels",
        ),
        ((step(1, 1.0, 9.0, partial=True),), "90 % of the step time is data loading (9.0 µs of 10 µs), 10 % kernels"),
        (
            (step(1, 5.0, 0.0), step(2, 5.0, 0.0), step(3, 0.0, 90.0)),
            "90 % of the step time is data loading (mean 30 µs of 33 µs, none in most steps), 10 % kernels",
        ),
        ((step(1, 0.0, 0.0),), "The profile holds no step that took any time"),
        ((), "The profile holds no step that took any time"),
    ],
)
def test_headlines(steps: tuple[StepProfile, ...], expected: str) -> None:
    assert headline(*steps) == expected


def test_a_profile_without_steps(tmp_path: Path) -> None:
    empty = TraceRecording(profile=profile(), calls=None, timelines=())
    write_windows(tmp_path / "run", attempt(), empty)
    answer = reports.profile(reader_of(tmp_path), "run")
    assert answer["step_time_us"] == {"n": 0, "mean": None, "median": None, "min": None, "max": None}
    assert answer["timelines"] == []
    with pytest.raises(reports.NotFoundError, match=r"window 0 of attempt .* has no timeline 0, only none"):
        reports.timeline(reader_of(tmp_path), "run", attempt().id, 0, 0)


def ranks_by_hand(logdir: Path) -> str:
    """Two ranks, the second a millisecond late to the first of two collectives; its clock is 5 µs ahead."""
    first = calls([1_000_000, 9_000_000], [2_000_000, 500_000])
    second = calls([2_005_000, 9_005_000], [1_000_000, 500_000])
    with NewRuns(str(logdir)) as runs:
        for rank, of_calls in enumerate((first, second)):
            runs.add(recording(path=f"/t/{rank}.json", rank=rank, world_size=2, of_calls=of_calls))
        runs.publish()
    return reader_of(logdir).indexes()[0].attempts[0].id


def test_ranks_by_hand(tmp_path: Path) -> None:
    ranks_by_hand(tmp_path)
    reader = reader_of(tmp_path)
    for run, rank in (("0", 0), ("0/rank_1", 1)):
        answer = reports.profile(reader, run)
        assert (answer["rank"], answer["world_size"]) == (rank, 2)
        assert answer["ranks"] == [{"rank": 0, "run": "0"}, {"rank": 1, "run": "0/rank_1"}]
        assert answer["damage"] == []
        assert answer["collectives"] == {
            "ranks": [0, 1],
            "calls": 2,
            "operations": [
                {
                    "operation": "all_reduce",
                    "group": "0",
                    "calls": 2,
                    "transfer_us": 1_500.0,
                    "wait_us": [1_000.0, 0.0],
                    "late_us": [0.0, 1_000.0],
                }
            ],
            "clock_offset_us": [0.0, 5.0],
            "warnings": [],
        }


def test_only_the_same_window_of_the_same_attempt_is_compared(tmp_path: Path) -> None:
    def write(run: str, number: int, rank: int, windows: int) -> None:
        of_calls = calls([1_000], [10])
        write_windows(
            tmp_path / run, attempt(number, rank=rank, world_size=3), *[recording(of_calls=of_calls)] * windows
        )

    write("run", 1, 0, 2)
    write("run/rank_1", 1, 1, 1)
    write("run/rank_2", 2, 2, 1)  # another attempt
    write("other/rank_1", 1, 1, 2)  # another group
    reader = reader_of(tmp_path)
    first, second = (reports.profile(reader, "run", attempt(1).id, window) for window in (0, 1))
    assert [each["run"] for each in first["ranks"]] == ["run", "run/rank_1"]
    assert first["collectives"]["ranks"] == [0, 1]
    assert [each["run"] for each in second["ranks"]] == ["run"]
    assert second["collectives"] is None


def test_a_rank_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    for run in ("run", "run/rank_0", "run/rank_1"):
        write_windows(
            tmp_path / run, attempt(rank=int(run == "run/rank_1"), world_size=2), recording(of_calls=calls([1], [2]))
        )
    write_windows(tmp_path / "run" / "rank_2", attempt(rank=1, world_size=2), recording(of_calls=calls([1], [2])))
    # run/rank_0 says rank 0, so its group is itself; run/rank_2 says rank 1, so is its.
    answer = reports.profile(reader_of(tmp_path), "run")
    assert answer["ranks"] == [{"rank": 0, "run": "run"}, {"rank": 1, "run": "run/rank_1"}]


def test_a_damaged_window_of_another_rank_is_named(tmp_path: Path) -> None:
    identifier = ranks_by_hand(tmp_path)
    corrupt(event_file(tmp_path / "0" / "rank_1"), "/profile/")
    answer = reports.profile(reader_of(tmp_path), "0")
    assert answer["collectives"] is None
    assert [each["run"] for each in answer["ranks"]] == ["0", "0/rank_1"]
    (sentence,) = answer["damage"]
    assert sentence.startswith(f"tb_aiperf/profile/{identifier}/000000 of run '0/rank_1': ")
    with pytest.raises(
        reports.NotFoundError, match=r"^tb_aiperf/profile/.* of run '0/rank_1': .*; analyse its trace again$"
    ):
        reports.profile(reader_of(tmp_path), "0/rank_1")


def test_a_damaged_timeline_is_named_and_costs_itself_only(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    corrupt(event_file(tmp_path / "run"), f"/timeline/{attempt().id}/000001")
    reader = reader_of(tmp_path)
    assert len(reports.profile(reader, "run")["timelines"]) == 2
    assert reports.timeline(reader, "run", attempt().id, 0, 0)["step"] == 7
    with pytest.raises(
        reports.NotFoundError, match=r"^tb_aiperf/timeline/.*/000001 of run 'run': .*; analyse its trace again$"
    ):
        reports.timeline(reader, "run", attempt().id, 0, 1)
    rewrite(event_file(tmp_path / "run"), b"tb_aiperf/timeline/", b"tb_aiperf/timelike/")
    with pytest.raises(reports.NotFoundError, match=r"/000000 of run 'run': listed, but not there"):
        reports.timeline(reader_of(tmp_path), "run", attempt().id, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none", "x", 0, 0), "run 'none' holds no summaries of tb_aiperf; api/v1/runs lists the runs that do"),
        (("steps", "x", 0, 0), "run 'steps' holds no profile; aiperf analyze TRACE --logdir DIR makes a run of one"),
        (("run", "x", 0, 0), f"run 'run' has no profile of attempt 'x', only of {attempt().id}"),
        (("run", attempt().id, -1, 0), f"attempt '{attempt().id}' of run 'run' has no window -1, only 0"),
        (("run", attempt().id, 0, 2), f"window 0 of attempt '{attempt().id}' has no timeline 2, only 0 to 1"),
        (("run", attempt().id, 0, -1), f"window 0 of attempt '{attempt().id}' has no timeline -1, only 0 to 1"),
    ],
)
def test_what_does_not_exist_is_named(tmp_path: Path, arguments: tuple, message: str) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    write_run(tmp_path / "steps", (attempt(), noisy(3)))
    with pytest.raises(reports.NotFoundError) as caught:
        reports.timeline(reader_of(tmp_path), *arguments)
    assert str(caught.value) == message


def test_runs_list_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "both", (attempt(1), table({"forward": [1, 1]})))
    write_windows(tmp_path / "both", attempt(1), recording(), recording(step(None, 1.0, 1.0)))
    write_windows(tmp_path / "only", attempt(2, rank=1, world_size=4), recording())
    monkeypatch.setattr(DirectorySource, "read", lambda *_: pytest.fail("read"))
    answer = reports.runs(reader_of(tmp_path))
    assert answer["skipped"] == []
    both, only = answer["runs"]
    assert [loop["steps"] for loop in both["loops"]] == [2]
    assert both["profiles"] == [
        {
            "attempt": attempt(1).id,
            "window": 0,
            "loop": "train",
            "recorded_unix_s": RECORDED_NS / 1e9,
            "steps": 2,
            "first_step": 7,
            "last_step": 8,
        },
        {
            "attempt": attempt(1).id,
            "window": 1,
            "loop": "train",
            "recorded_unix_s": RECORDED_NS / 1e9 + 1,
            "steps": None,
            "first_step": None,
            "last_step": None,
        },
    ]
    assert (only["loops"], only["rank"], only["world_size"], only["group"]) == ([], 1, 4, "only")
    assert [window["attempt"] for window in only["profiles"]] == [attempt(2).id]
    for name, parts in (("categories", CATEGORIES), ("idle_causes", IDLE_CAUSES), ("event_kinds", EVENT_KINDS)):
        assert answer[name] == [msgspec.structs.asdict(part) for part in parts]


def test_a_run_of_profiles_has_no_steps_to_show(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    for answer in (reports.overview, reports.steps, reports.steps_csv):
        with pytest.raises(reports.NotFoundError, match=r"^run 'run' holds no steps: it holds profiles only$"):
            answer(reader_of(tmp_path), "run")


def test_dilation_compares_with_the_steps_of_the_same_attempt(tmp_path: Path) -> None:
    """Steps 7, 8 and 9 of the recording take twice as long as the others; the profiler's own time is left out."""
    slow = noisy(40)
    walls = np.where((slow.step >= 7) & (slow.step <= 9), 2_000_000, 1_000_000)
    durations = np.zeros_like(slow.durations)
    durations[slow.stages.index("forward")] = walls
    durations[slow.stages.index("profiler")] = np.where(slow.step == 10, 50_000_000, 0)
    start = np.concatenate([[0], np.cumsum(durations.sum(axis=0))[:-1]])
    write_run(tmp_path / "run", (attempt(), replace(slow, durations=durations, start=start)))
    write_windows(tmp_path / "run", attempt(), recording(*(step(number, 30.0, 90.0) for number in (7, 8, 9))))
    found = reports.profile(reader_of(tmp_path), "run")["dilation"]
    assert found == {"factor": 2.0, "low": 2.0, "high": 2.0, "profiled": 3, "unprofiled": 36}


def test_the_identity_changes_with_any_window_of_the_group(tmp_path: Path) -> None:
    def state(run: str = "run") -> object:
        return reports.profile_identity(reader_of(tmp_path), run)

    assert state() is None
    write_windows(tmp_path / "run", attempt(), recording())
    seen = [state()]
    write_run(tmp_path / "run", (attempt(), noisy(5)))
    seen.append(state())  # its dilation depends on its steps
    write_run(tmp_path / "other", (attempt(), noisy(5)))
    assert state() == seen[-1], "steps of other runs do not change it"
    write_windows(tmp_path / "run" / "rank_1", attempt(rank=1, world_size=2), recording())
    seen.append(state())
    write_windows(tmp_path / "run", attempt(2), recording())
    seen.append(state())
    assert len(set(seen)) == 4
    write_windows(tmp_path / "other", attempt(), recording())
    assert state() == seen[-1]
    assert state("other") != seen[-1]


def test_every_figure_of_the_profile_panel_is_defined() -> None:
    defined = {
        key for key in reports.runs(reader_of(Path(__file__).parent))["definitions"] if key.startswith("profile")
    }
    operators = ("calls", "host_self", "host_total", "device", "device_total", "shapes")
    kernels = ("calls", "total", "mean", "min", "max", "share")
    device = ("compute", "communication", "communication_exposed", "memcpy", "memcpy_exposed", "busy", "idle", "total")
    collective = ("calls", "total", "exposed", "bytes", "bandwidth", "transfer", "wait", "late", "clock_offset")
    assert defined == {
        "profile",
        *(
            f"profile.{key}"
            for key in ("step_time", "partial", "categories", "idle", "overhead", "unattributed", "dilation")
        ),
        *(f"profile.{key}" for key in ("comparison", "comparison.interval")),
        *(f"profile.{key}" for key in ("call_site", "module", "device_work", "category.share")),
        *(f"profile.step_time.{key}" for key in ("n", "mean", "median", "min", "max")),
        *(f"profile.finding.{key}" for key in ("share", "speedup")),
        *(f"profile.device.{key}" for key in device),
        *(f"profile.operator.{key}" for key in operators),
        *(f"profile.kernel.{key}" for key in kernels),
        *(f"profile.memory.{key}" for key in ("allocated", "reserved", "peak", "holders")),
        *(f"profile.collective.{key}" for key in collective),
        "profile.timeline",
        *(f"profile.timeline.{key}" for key in ("left_out", "start", "duration", "launch")),
    }
