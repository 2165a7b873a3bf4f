"""The plugin in a real TensorBoard process, with both of its loaders."""

from __future__ import annotations

import urllib.error
from pathlib import Path

import numpy as np
import pytest

from tb_aiperf.storage.formats import quantise
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter
from tests.tensorboard_process import has_data_server, tensorboard
from tests.unit.storage.series import attempt, noisy, write_run


@pytest.fixture(params=["true", "false"], ids=["data-server", "python-loader"])
def load_fast(request: pytest.FixtureRequest) -> str:
    if request.param == "true" and not has_data_server():
        pytest.skip("TensorBoard has no data server on this platform")
    return str(request.param)


def test_a_live_run_with_a_resume_shows_every_step(tmp_path: Path, load_fast: str) -> None:
    logdir = tmp_path / "logs"
    rows = noisy(6000)
    # A chunk of 64 rows makes more tags than any loader's default number of samples.
    sink = FolderSink(str(logdir / "run ü&=%2F"))
    run = "run ü&=%2F"
    writer = StepSeriesWriter(sink, attempt(1), chunk_rows=64, max_tail_slots=4)
    for first in range(0, 5000, 10):
        writer.append(rows.select(slice(first, first + 10)))
        writer.flush()
    # Killed here: the last rows lie in the tail only. The resume begins at step 4500.
    resumed = StepSeriesWriter(sink, attempt(2), chunk_rows=64, max_tail_slots=4)
    resumed.append(rows.select(slice(4500, 5990)))
    resumed.flush()
    # One sample a tag, our default, loses nothing; nor does keeping all, should a user choose so.
    samples = () if load_fast == "true" else ("--samples_per_plugin", "tb_aiperf=0")
    flags = ("--logdir", str(logdir), "--load_fast", load_fast, *samples)
    with tensorboard(tmp_path / "tb.log", *flags, "--path_prefix", "/my/tb") as board:
        assert board.root.endswith("/my/tb/")
        board.await_true(lambda: board.api("runs")["runs"][0]["loops"][0]["steps"] == 5990)
        answer = board.api("overview", run=run)
        assert (answer["steps"], answer["superseded_steps"], answer["damaged_chunks"]) == (5990, 500, 0)
        assert [a["steps"] for a in answer["attempts"]] == [5000, 1490]
        wall = quantise(rows).wall
        assert answer["wall_s"]["steps"] == pytest.approx(wall[:5990].sum() / 1e6, abs=1e-9)
        assert answer["step_time_s"]["median"] == pytest.approx(np.median(wall[:5990]) / 1e6, abs=1e-9)
        # More steps while it runs.
        resumed.append(rows.select(slice(5990, 6000)))
        resumed.flush()
        board.await_true(lambda: board.api("steps", run=run)["steps_total"] == 6000)
        csv = board.api("steps.csv", run=run)
        assert csv.count("\n") == 6001
        numbers = [int(line.split(",")[2]) for line in csv.splitlines()[1:]]
        assert numbers == list(range(6000))
        listing = board.get("data/plugins_listing")["tb_aiperf"]
        assert listing["enabled"] is True
        page = board.get("data/plugin_entry.html", name="tb_aiperf")
        assert 'base href="plugin/tb_aiperf/"' in page
        assert "render" in board.get("data/plugin/tb_aiperf/index.js")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            board.api("overview", run="none")


def test_several_logdirs(tmp_path: Path) -> None:
    write_run(tmp_path / "x" / "one", (attempt(1), noisy(10)))
    write_run(tmp_path / "y", (attempt(2), noisy(20)))
    with tensorboard(tmp_path / "tb.log", "--logdir_spec", f"a:{tmp_path}/x,b:{tmp_path}/y") as board:
        board.await_true(lambda: len(board.api("runs")["runs"]) == 2)
        counted = {run["run"]: run["loops"][0]["steps"] for run in board.api("runs")["runs"]}
        # A log directory that is a run itself gets a dot, which does not belong to the group's name.
        assert counted == {"a/one": 10, "b/.": 20}
        assert [run["group"] for run in board.api("runs")["runs"]] == ["a/one", "b"]
        assert board.api("overview", run="b/.")["steps"] == 20
