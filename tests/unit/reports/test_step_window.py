from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tb_aiperf import reports
from tb_aiperf.records import STAGE_KEYS
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tests.unit.storage.series import START_NS, attempt, noisy, read_run, table, write_run


def steps(logdir: Path, **arguments: object) -> dict:
    return reports.steps(RunReader(DirectorySource(str(logdir))), "run", **arguments)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    stages = {
        "forward": [0, 10_000, 10_000, 10_000, 11_000, 1_000],
        "data_wait": [0, 1_000, 3_000, 2_000, 50_000, 0],
        "checkpoint": [0, 0, 0, 0, 0, 7_000],
        "loader_start": [4_000, 0, 0, 0, 0, 0],
    }
    rows = table(stages, step=[10, 10, 11, 12, 13, 14], segment=[1, 0, 0, 0, 0, 2])
    write_run(tmp_path / "run", (attempt(), rows))
    return tmp_path


def test_a_window_by_hand(small: Path) -> None:
    answer = steps(small, first=11, last=13, bins=2, worst=1)
    started = START_NS / 1e9 + 3600
    head = ("run", "loop", "attempt", "first_step", "last_step", "from", "to", "steps", "steps_total", "stages")
    assert [answer[key] for key in head] == [
        *("run", "train", None, 10, 13, 11, 13, 3, 4),
        ["data_wait", "forward", "checkpoint", "loader_start"],
    ]
    # Rows 11 | 12, 13: walls 13 | 12, 61 ms. The start-up took 4 ms and step 10 11 ms.
    bins = answer["bins"]
    assert bins == {
        "count": [1, 2],
        "step_first": [11, 12],
        "step_last": [11, 13],
        "unix_s": [pytest.approx(started + 0.015, abs=1e-6), pytest.approx(started + 0.028, abs=1e-6)],
        "time_s": {
            "mean": [0.013, 0.0365],
            "min": [0.013, 0.012],
            "p5": [0.013, 0.01445],
            "median": [0.013, 0.0365],
            "p95": [0.013, 0.05855],
            "max": [0.013, 0.061],
        },
        "stages_s": {
            "data_wait": {"mean": [0.003, 0.026], "min": [0.003, 0.002], "max": [0.003, 0.05]},
            "forward": {"mean": [0.01, 0.0105], "min": [0.01, 0.01], "max": [0.01, 0.011]},
        },
    }
    distribution = answer["distribution"]["step"]
    assert {key: distribution[key] for key in ("n", "mean_s", "min_s", "median_s", "max_s")} == {
        "n": 3,
        "mean_s": 0.028666667,
        "min_s": 0.012,
        "median_s": 0.013,
        "max_s": 0.061,
    }
    assert distribution["p25_s"] == 0.0125
    data_wait, forward, checkpoint, _ = answer["distribution"]["stages"]
    assert (data_wait["key"], data_wait["share"], data_wait["total_s"], data_wait["nonzero"], data_wait["n"]) == (
        *("data_wait", pytest.approx(55 / 86), 0.055, 3, 3),
    )
    assert forward["median_s"] == 0.01
    assert (checkpoint["share"], checkpoint["nonzero"]) == (0, 0)
    assert answer["worst"] == [
        {
            "step": 13,
            "global_step": 14,
            "batch": 6,
            "epoch": 1,
            "attempt": attempt().id,
            "unix_s": pytest.approx(started + 0.04, abs=1e-6),
            "wall_s": 0.061,
            "times_median": 4.692,
            "excess_stage": "data_wait",
            "excess_s": 0.047,
            "stages_s": {"data_wait": 0.05, "forward": 0.011},
        }
    ]
    assert (answer["segments"], answer["segments_total"]) == ([], 0)


def test_segments_of_the_whole_run(small: Path) -> None:
    answer = steps(small)
    started = START_NS / 1e9 + 3600
    assert (answer["from"], answer["to"], answer["steps"]) == (10, 13, 4)
    assert answer["bins"]["step_first"] == answer["bins"]["step_last"] == [10, 11, 12, 13]
    assert answer["segments_total"] == 2
    assert answer["segments"] == [
        {
            "key": "startup",
            "step": 10,
            "wall_s": 0.004,
            "unix_s": pytest.approx(started, abs=1e-6),
            "stages_s": {"loader_start": 0.004},
        },
        {
            "key": "epoch_boundary",
            "step": 14,
            "wall_s": 0.008,
            "unix_s": pytest.approx(started + 0.101, abs=1e-6),
            "stages_s": {"forward": 0.001, "checkpoint": 0.007},
        },
    ]


def test_only_the_longest_segments_are_listed_in_time_order(tmp_path: Path) -> None:
    wall = np.arange(1, 301)
    np.random.default_rng(0).shuffle(wall)
    rows = table({"other": wall}, step=range(300), segment=[2] * 300)
    write_run(tmp_path / "run", (attempt(), rows))
    answer = steps(tmp_path)
    assert answer["segments_total"] == 300
    assert [round(s["wall_s"] * 1e6) for s in answer["segments"]] == [w for w in wall.tolist() if w > 100]


def test_an_empty_window(small: Path) -> None:
    answer = steps(small, first=500)
    assert (answer["from"], answer["to"], answer["steps"], answer["steps_total"]) == (500, 13, 0, 4)
    assert answer["bins"]["count"] == answer["bins"]["time_s"]["mean"] == answer["worst"] == []
    assert answer["bins"]["stages_s"] == {}
    assert answer["distribution"]["step"]["n"] == 0
    assert {answer["distribution"]["step"][key] for key in ("mean_s", "median_s", "histogram")} == {None}
    assert answer["distribution"]["stages"][0]["share"] is None


def test_bins_agree_with_the_rows(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(5000)))
    loaded = read_run(tmp_path)
    answer = steps(tmp_path, bins=37)
    bins = answer["bins"]
    assert sum(bins["count"]) == 5000
    means = np.array([bins["stages_s"][key]["mean"] for key in STAGE_KEYS if key in bins["stages_s"]])
    np.testing.assert_allclose(means.sum(axis=0), bins["time_s"]["mean"], atol=1e-8)
    edges = np.cumsum([0, *bins["count"]])
    for name, reduce in (
        ("min", np.min),
        ("max", np.max),
        ("median", np.median),
        ("p5", lambda values: np.percentile(values, 5)),
        ("p95", lambda values: np.percentile(values, 95)),
    ):
        expected = [reduce(loaded.wall[a:b]) / 1e6 for a, b in pairwise(edges)]
        np.testing.assert_allclose(bins["time_s"][name], expected, atol=1e-9)
    assert bins["step_first"] == loaded.table.step[edges[:-1]].tolist()
    assert bins["step_last"] == loaded.table.step[edges[1:] - 1].tolist()
    # A stage that no step enters has no line.
    assert "profiler" not in bins["stages_s"]
    assert [worst["wall_s"] for worst in answer["worst"]] == (np.sort(loaded.wall)[::-1][:20] / 1e6).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bins": 0}, "bins is 0; it must lie between 1 and 2000"),
        ({"bins": 2001}, "bins is 2001"),
        ({"worst": 101}, "worst is 101; it must lie between 0 and 100"),
        ({"first": 9, "last": 8}, "from is 9 and to is 8; from must not exceed to"),
    ],
)
def test_impossible_parameters(small: Path, arguments: dict, message: str) -> None:
    with pytest.raises(reports.BadRequestError, match=message):
        steps(small, **arguments)


def csv(logdir: Path, **arguments: object) -> str:
    return "".join(reports.steps_csv(RunReader(DirectorySource(str(logdir))), "run", **arguments))


def test_csv_by_hand(small: Path) -> None:
    head = (
        "attempt,segment,step,global_step,batch,epoch,unix_s,wall_s,data_wait_s,forward_s,checkpoint_s,loader_start_s"
    )
    who, moment = attempt().id, START_NS // 10**9 + 3600
    assert csv(small, last=11).splitlines() == [
        head,
        f"{who},startup,10,11,3,1,{moment}.000000,0.004000,0.000000,0.000000,0.000000,0.004000",
        f"{who},step,10,11,3,1,{moment}.004000,0.011000,0.001000,0.010000,0.000000,0.000000",
        f"{who},step,11,12,4,1,{moment}.015000,0.013000,0.003000,0.010000,0.000000,0.000000",
    ]


def test_csv_holds_every_row_and_quotes_names(tmp_path: Path) -> None:
    rows = table({'odd, "name"': range(10_000)})
    write_run(tmp_path / "run", (attempt(), rows))
    lines = csv(tmp_path).splitlines()
    assert lines[0].endswith(',wall_s,"odd, ""name""_s"')
    assert len(lines) == 10_001
    assert lines[-1].endswith(",9999,10000,3,1428,1790003649.985001,0.009999,0.009999")


def test_csv_errors_come_before_the_first_piece(small: Path) -> None:
    reader = RunReader(DirectorySource(str(small)))
    with pytest.raises(reports.NotFoundError):
        reports.steps_csv(reader, "none")
