from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf import __version__, reports
from tb_aiperf.records import SEGMENTS, STAGE_KEYS
from tb_aiperf.reports.selection import group_of
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter, write_report
from tests.unit.storage.series import attempt, event_file, noisy, read_run, rewrite, table, write_run


def runs(logdir: Path) -> dict:
    return reports.runs(RunReader(DirectorySource(str(logdir))))


def test_runs_by_hand(tmp_path: Path) -> None:
    rows = table({"forward": [1] * 6, "resize": [2] * 6}, step=[0, 0, 1, 2, 3, 4], segment=[1, 0, 0, 0, 0, 0])
    test_rows = table({"forward": [1, 1]}, step=[0, 1])
    write_run(tmp_path / "a", (attempt(1), rows), (attempt(2, loop="test"), test_rows))
    write_run(tmp_path / "a" / "rank_1", (attempt(1, rank=1, world_size=2), rows))
    answer = runs(tmp_path)
    assert answer["version"] == __version__
    assert [stage["key"] for stage in answer["stages"]] == [*STAGE_KEYS, "resize"]
    assert answer["stages"][-1]["color"] == "user_0"
    assert [segment["key"] for segment in answer["segments"]] == [segment.key for segment in SEGMENTS]
    first, second = answer["runs"]
    assert first["last_update_unix_s"] > 1.7e9
    assert {key: first[key] for key in ("run", "group", "rank", "world_size")} == {
        "run": "a",
        "group": "a",
        "rank": 0,
        "world_size": 1,
    }
    assert first["loops"] == [
        loop("train", 5, 0, 4, (attempt(1), 5, 0, 4)),
        loop("test", 2, 0, 1, (attempt(2), 2, 0, 1)),
    ]
    assert {key: second[key] for key in ("run", "group", "rank", "world_size")} == {
        "run": "a/rank_1",
        "group": "a",
        "rank": 1,
        "world_size": 2,
    }
    assert answer["skipped"] == []


def loop(name: str, steps: int, first: int | None, last: int | None, *attempts: tuple) -> dict:
    return {
        "loop": name,
        "steps": steps,
        "first_step": first,
        "last_step": last,
        "attempts": [
            {
                "attempt": of.id,
                "started_unix_s": of.started_unix_ns / 1e9,
                "steps": count,
                "first_step": begin,
                "last_step": end,
            }
            for of, count, begin, end in attempts
        ],
    }


def test_unsealed_rows_count_too(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=10)
    rows = table({"a": [1] * 17})
    for first, last in ((0, 3), (3, 12), (12, 14), (14, 17)):
        writer.append(rows.select(slice(first, last)))
        writer.flush()
    (run,) = runs(tmp_path)["runs"]
    assert run["loops"] == [loop("train", 17, 0, 16, (attempt(), 17, 0, 16))]


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_counts_agree_with_the_rows(tmp_path_factory, data: st.DataObject) -> None:
    logdir = tmp_path_factory.mktemp("counts")
    attempts = []
    for number in range(1, data.draw(st.integers(1, 4)) + 1):
        first, repeats = data.draw(st.integers(0, 40)), data.draw(st.integers(1, 3))
        step = [first + row // repeats for row in range(data.draw(st.integers(1, 40)))]
        attempts.append((attempt(number), table({"a": [1] * len(step)}, step=step)))
    write_run(logdir / "run", *attempts, chunk_rows=7)
    (run,) = runs(logdir)["runs"]
    loaded = read_run(logdir)
    assert run["loops"][0]["steps"] == len(loaded.table)
    assert run["loops"][0]["first_step"] == loaded.table.step.min()
    assert run["loops"][0]["last_step"] == loaded.table.step.max()


def test_what_cannot_be_shown_has_a_reason(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "started"))
    write_report(sink, "attempt", attempt(), attempt())
    sink.close()
    sink = FolderSink(str(tmp_path / "newer"))
    for chunk in range(3):
        sink.add(f"tb_aiperf/steps/a/00000{chunk}", b"", b'{"v":7,"loop":"train","started":0}', 0)
    sink.close()
    write_run(tmp_path / "fine", (attempt(), table({"a": [1]})))
    answer = runs(tmp_path)
    assert [run["run"] for run in answer["runs"]] == ["fine"]
    assert answer["skipped"] == [
        {
            "run": "newer",
            "reason": "tb_aiperf/steps/a/000000: stored in format 7; this version reads up to 1 (and 2 more)",
        },
        {
            "run": "started",
            "reason": "no step has been written yet; the first appear within 10 s of the training's start",
        },
    ]


def test_a_listing_reads_no_sealed_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "run", (attempt(1), noisy(3000)), (attempt(2), noisy(500, first_step=3000)))
    monkeypatch.setattr(DirectorySource, "read", lambda *_: pytest.fail("read"))
    (run,) = runs(tmp_path)["runs"]
    assert run["loops"][0]["steps"] == 3500


def test_a_damaged_chunk_that_a_resume_covers_in_part_counts_nothing(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    content = b'{"v":1,"loop":"train","started":0,"rows":10,"steps":10,"first":0,"last":9}'
    sink.add("tb_aiperf/steps/a/000000", b"TBAPnonsense", content, 0)
    writer = StepSeriesWriter(sink, attempt())
    writer.append(table({"a": [1] * 4}, step=[8, 9, 10, 11]))
    writer.close()
    sink.close()
    assert runs(tmp_path)["runs"][0]["loops"][0]["steps"] == 4


def test_an_index_with_one_end_only_has_no_range(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(1), table({"a": [1] * 4})), (attempt(2), table({"a": [1]}, step=[9])))
    rewrite(event_file(tmp_path / "run"), b'"last":3', b'"lasu":3')
    (run,) = runs(tmp_path)["runs"]
    assert [(a["first_step"], a["last_step"]) for a in run["loops"][0]["attempts"]] == [(0, None), (9, 9)]
    assert (run["loops"][0]["first_step"], run["loops"][0]["last_step"]) == (9, 9)
    assert reports.overview(RunReader(DirectorySource(str(tmp_path))), "run")["steps"] == 5


@pytest.mark.parametrize(
    ("run", "rank", "group"),
    [
        ("a/b", 0, "a/b"),
        ("a/b/rank_3", 3, "a/b"),
        ("rank_12", 12, "."),
        ("a/rank_1", 2, "a/rank_1"),
        ("a/crank_1", 1, "a/crank_1"),
        ("rank_0", 0, "rank_0"),
        (".", 0, "."),
        ("b/.", 0, "b"),
        ("b/rank_1", 1, "b"),
    ],
)
def test_groups(run: str, rank: int, group: str) -> None:
    assert group_of(run, rank) == group
