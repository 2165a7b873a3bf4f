from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from tb_aiperf import reports
from tb_aiperf.analysis.statistics import Distribution
from tb_aiperf.records import QUANTITIES, ResourceTable, StepTable
from tb_aiperf.reports.run_overview import headline
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import ResourceSeriesWriter, StepSeriesWriter, write_report
from tests.unit.storage.series import attempt, noisy, table, write_run


def reader_of(logdir: Path) -> RunReader:
    return RunReader(DirectorySource(str(logdir)))


def test_an_overview_by_hand(tmp_path: Path) -> None:
    noted = attempt(1, rank=1, world_size=2, notes=("manual optimisation",))
    sink = FolderSink(str(tmp_path / "run"))
    write_report(sink, "attempt", noted, noted)
    write_report(sink, "environment", noted, {"torch": "2.13", "cuda": None})
    writer = StepSeriesWriter(sink, noted)
    ms = 1000
    stages = {
        "forward": [0, 40 * ms, 40 * ms, 40 * ms, 10 * ms],
        "data_wait": [0, 50 * ms, 60 * ms, 70 * ms, 0],
        "loader_start": [300 * ms, 0, 0, 0, 5 * ms],
        "optimizer": [0, 0, 0, 0, 0],
    }
    writer.append(table(stages, step=[0, 0, 1, 2, 3], segment=[1, 0, 0, 0, 4]))
    writer.close()
    samples = {"process_cpu_cores": np.array([1.0, 3.0]), "mine": np.array([5.0, np.nan])}
    resources = ResourceSeriesWriter(sink, noted)
    resources.append(ResourceTable(time_us=np.array([0, 1_500_000]), values=samples))
    resources.close()
    sink.close()

    assert reports.overview(reader_of(tmp_path), "run") == {
        "run": "run",
        "loop": "train",
        "attempt": None,
        "attempts": [
            {"attempt": noted.id, "started_unix_s": 1790003600.0, "steps": 3, "first_step": 0, "last_step": 2}
        ],
        "rank": 1,
        "world_size": 2,
        "steps": 3,
        "first_step": 0,
        "last_step": 2,
        "superseded_steps": 0,
        "damaged_chunks": 0,
        "damage": [],
        "notes": ["manual optimisation"],
        # 180 of 300 ms; 120 of 300 ms.
        "headline": "60 % of the step time is data wait (median 60 ms of 100 ms), 40 % forward",
        "step_time_s": {
            "n": 3,
            "mean": 0.1,
            "median": 0.1,
            "p5": 0.091,
            "p95": 0.109,
            "p99": 0.1098,
            "min": 0.09,
            "max": 0.11,
        },
        "steps_per_s": 10.0,
        "stages": [
            stage("data_wait", 0.6, 0.18, 3, 0.06, 0.06, 0.069, 0.0698, 0.07),
            stage("forward", 0.4, 0.12, 3, 0.04, 0.04, 0.04, 0.04, 0.04),
            stage("optimizer", 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0),
            stage("loader_start", 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ],
        "wall_s": {"steps": 0.3, "segments": 0.315, "total": 0.615},
        "segments": [
            {"key": "startup", "count": 1, "total_s": 0.3, "stages_s": {"loader_start": 0.3}},
            {"key": "interrupted", "count": 1, "total_s": 0.015, "stages_s": {"forward": 0.01, "loader_start": 0.005}},
        ],
        "environment": {"torch": "2.13", "cuda": None},
        "resources": {
            "n": 2,
            "interval_s": 1.5,
            "process_cpu_cores": {
                "mean": 2.0,
                "median": 2.0,
                "p95": 2.9,
                "max": 3.0,
                "n": 2,
                "title": "CPU, training processes",
                "unit": "cores",
                "meaning": next(q.meaning for q in QUANTITIES if q.key == "process_cpu_cores"),
            },
            "mine": {
                "mean": 5.0,
                "median": 5.0,
                "p95": 5.0,
                "max": 5.0,
                "n": 1,
                "title": "mine",
                "unit": "",
                "meaning": "",
            },
        },
    }


def stage(key: str, share: float, total: float, nonzero: int, *times: float) -> dict:
    names = ("mean_s", "median_s", "p95_s", "p99_s", "max_s")
    return {
        "key": key,
        "share": share,
        "total_s": total,
        "n": 3,
        "nonzero": nonzero,
        **dict(zip(names, times, strict=True)),
    }


def test_a_run_that_has_only_started(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), table({"loader_start": [5_000]}, segment=[1])))
    answer = reports.overview(reader_of(tmp_path), "run")
    assert answer["headline"] == "No step has been recorded yet"
    assert answer["steps"] == 0
    assert answer["steps_per_s"] is None
    assert answer["first_step"] is None
    assert set(answer["step_time_s"].values()) == {0, None}
    assert answer["stages"][0]["share"] is None
    assert answer["wall_s"] == {"steps": 0.0, "segments": 0.005, "total": 0.005}
    assert (answer["environment"], answer["resources"]) == (None, None)


def test_a_resumed_run_says_so(tmp_path: Path) -> None:
    first, second = table({"a": [1000, 1000, 1000]}), table({"a": [3000]}, step=[2])
    write_run(tmp_path / "run", (attempt(1), first), (attempt(2), second))
    answer = reports.overview(reader_of(tmp_path), "run")
    assert (answer["steps"], answer["superseded_steps"], answer["wall_s"]["total"]) == (3, 1, 0.005)
    assert [a["steps"] for a in answer["attempts"]] == [3, 1]
    alone = reports.overview(reader_of(tmp_path), "run", attempt=attempt(1).id)
    assert (alone["steps"], alone["attempt"], alone["superseded_steps"]) == (3, attempt(1).id, 0)
    assert len(alone["attempts"]) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("none",), reports.NotFoundError, "run 'none' holds no summaries of tb_aiperf"),
        (("run", "knit"), reports.BadRequestError, "loop 'knit' is not one of train, validate"),
        (("run", "test"), reports.NotFoundError, "no steps of loop 'test', only of train"),
        (("run", "train", "x"), reports.NotFoundError, "has no attempt 'x' in loop 'train', only 2026"),
    ],
)
def test_what_does_not_exist_is_named(tmp_path: Path, arguments: tuple, error: type, message: str) -> None:
    write_run(tmp_path / "run", (attempt(), table({"a": [1]})))
    with pytest.raises(error, match=message):
        reports.overview(reader_of(tmp_path), *arguments)


def headline_of(rows: StepTable) -> str:
    stages = {key: Distribution(column) for key, column in zip(rows.stages, rows.durations, strict=True)}
    return headline(Distribution(rows.wall), stages)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        (
            {"data_wait": [41_000] * 3, "forward": [24_000] * 3, "backward": [14_000] * 3},
            "52 % of the step time is data wait (median 41 ms of 79 ms), 30 % forward, 18 % backward",
        ),
        # A stage that most steps skip has no median worth naming.
        (
            {"checkpoint": [0, 0, 9_000_000], "lr_scheduler": [600, 600, 600]},
            "100 % of the step time is checkpoint (mean 3.0 s of 3.0 s, none in most steps)",
        ),
        # Initials stay capital, names of the program's own stages stay as they are but for the first letter.
        (
            {"Resize": [500, 500], "lr_scheduler": [400, 400], "NMS": [100, 100]},
            "50 % of the step time is Resize (median 500 µs of 1.0 ms), 40 % LR scheduler, 10 % NMS",
        ),
        ({"forward": [0, 0]}, "The steps took no measurable time"),
    ],
)
def test_headlines(stages: dict[str, list[int]], expected: str) -> None:
    assert headline_of(table(stages)) == expected


def test_answers_are_strict_json(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(100)))
    reader = reader_of(tmp_path)
    for answer in (reports.overview(reader, "run"), reports.steps(reader, "run"), reports.runs(reader)):
        # NaN would become null on the way.
        assert msgspec.json.decode(msgspec.json.encode(answer)) == msgspec.to_builtins(answer)


def test_every_statistic_is_defined(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(100)))
    reader = reader_of(tmp_path)
    answer, defined = reports.overview(reader, "run"), reports.runs(reader)["definitions"]
    assert {f"step_time.{name}" for name in answer["step_time_s"] if name != "n"} <= defined.keys()
    stage_keys = {name.removesuffix("_s") for name in answer["stages"][0]} - {"key", "n"}
    assert {f"stage.{name}" for name in stage_keys} <= defined.keys()
    assert {f"wall.{name}" for name in answer["wall_s"]} <= defined.keys()
    assert {"steps", "superseded_steps", "steps_per_s", "damaged_chunks"} <= defined.keys()


def test_a_run_without_steps_says_why(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    write_report(sink, "attempt", attempt(), attempt())
    sink.close()
    with pytest.raises(reports.NotFoundError, match="run 'run' holds no steps: no step has been written yet"):
        reports.overview(reader_of(tmp_path), "run")


def test_a_damaged_environment_is_counted_and_an_older_one_shown(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    for number in (1, 2):
        write_report(sink, "environment", attempt(number), {"number": number})
        writer = StepSeriesWriter(sink, attempt(number))
        writer.append(table({"a": [1]}))
        writer.close()
    content = b'{"v":1,"loop":"train","started":%d}' % attempt(2).started_unix_ns
    sink.add(f"tb_aiperf/environment/{attempt(2).id}", b"TBAPnonsense", content, 0)
    sink.close()
    answer = reports.overview(reader_of(tmp_path), "run")
    assert answer["environment"] == {"number": 1}
    assert answer["damaged_chunks"] == 1
    assert answer["damage"][0].startswith(f"tb_aiperf/environment/{attempt(2).id} of run 'run': ")
