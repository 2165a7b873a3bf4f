"""`aiperf analyze --logdir`: from trace files to TensorBoard's answers, in both of its loaders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tb_aiperf.records import StepTimeline, TraceRecording
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.trace import analyze
from tests.tensorboard_process import has_data_server, tensorboard
from tests.unit.storage.recordings import RECORDED_NS, profile, step, timeline
from tests.unit.storage.series import attempt
from tests.unit.trace.published import DDP_A100, GLOO, OWLV2_H100, RESNET_V100, needs_traces


@pytest.fixture(params=["true", "false"], ids=["data-server", "python-loader"])
def load_fast(request: pytest.FixtureRequest) -> str:
    if request.param == "true" and not has_data_server():
        pytest.skip("TensorBoard has no data server on this platform")
    return str(request.param)


def aiperf(*arguments: object, **given: Any) -> subprocess.CompletedProcess[str]:
    code = "from tb_aiperf.cli import main; main()"
    program = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, **given)


@needs_traces
def test_traces_reach_the_panels(tmp_path: Path, load_fast: str) -> None:
    logdir, alone = tmp_path / "logs", [RESNET_V100[0], OWLV2_H100, GLOO]
    logdir.mkdir()
    # TensorBoard watches before there is anything.
    with tensorboard(tmp_path / "tb.log", "--logdir", str(logdir), "--load_fast", load_fast) as board:
        done = aiperf("analyze", DDP_A100[1], *alone, DDP_A100[0], "--logdir", logdir, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines() == [
            "Written as run sampled_rank-0 (2 ranks)",
            "Written as run num_workers_0",
            f"Written as run {OWLV2_H100.name.removesuffix('.json.gz')}",
            f"Written as run {GLOO.name.removesuffix('.pt.trace.json.gz')}",
            f"Look at it with: tensorboard --logdir {logdir}",
        ]
        traces = {trace["path"]: trace for trace in json.loads(done.stdout)["traces"]}
        runs = {
            "sampled_rank-0": (DDP_A100[0], 0, 128),
            "sampled_rank-0/rank_1": (DDP_A100[1], 1, 128),
            "num_workers_0": (RESNET_V100[0], 0, 1),
            OWLV2_H100.name.removesuffix(".json.gz"): (OWLV2_H100, 0, 1),
            GLOO.name.removesuffix(".pt.trace.json.gz"): (GLOO, 34, 300),
        }
        board.await_true(lambda: len(board.api("runs")["runs"]) == len(runs))
        listed = {run["run"]: run for run in board.api("runs")["runs"]}
        for run, (path, rank, world_size) in runs.items():
            trace = traces[str(path)]
            assert (listed[run]["rank"], listed[run]["world_size"], listed[run]["loops"]) == (rank, world_size, [])
            (window,) = listed[run]["profiles"]
            marks = [each["step"] for each in trace["steps"]]
            assert (window["steps"], window["first_step"], window["last_step"]) == (len(marks), min(marks), max(marks))
            assert window["recorded_unix_s"] == pytest.approx(path.stat().st_mtime, abs=1e-6)
            answer = board.api("profile", run=run)
            assert answer["profile"] == trace
            durations = [each["duration_us"] for each in trace["steps"] if not each["partial"]] or [
                each["duration_us"] for each in trace["steps"]
            ]
            assert answer["step_time_us"]["n"] == len(durations)
            assert answer["step_time_us"]["mean"] == pytest.approx(np.mean(durations))
            assert [each["step"] for each in answer["timelines"]] == marks
            for each, of_step in zip(answer["timelines"], trace["steps"], strict=True):
                place = {"run": run, "attempt": window["attempt"], "window": 0, "index": each["index"]}
                shown = board.api("timeline", **place)
                assert (shown["step"], len(shown["start_ns"])) == (each["step"], each["events"])
                assert shown["step_duration_ns"] == pytest.approx(1000 * of_step["duration_us"])
                assert each["events"] > 0
        assert listed["sampled_rank-0/rank_1"]["group"] == "sampled_rank-0"
        collectives = board.api("profile", run="sampled_rank-0")["collectives"]
        assert collectives == msgspec.to_builtins(analyze(DDP_A100).collectives)
        (operation,) = collectives["operations"]
        assert (operation["calls"], operation["transfer_us"]) == (10, 272_898.0)
        assert (operation["wait_us"], operation["late_us"]) == ([123_301.0, 106_155.0], [106_155.0, 123_301.0])
        assert board.api("profile", run="sampled_rank-0/rank_1")["collectives"] == collectives
        # A second time: nothing is written over.
        assert "Written as run num_workers_0_2\n" in aiperf("analyze", RESNET_V100[0], "--logdir", logdir).stdout
        board.await_true(lambda: len(board.api("runs")["runs"]) == len(runs) + 1)


def random_timeline(number: int, events: int) -> StepTimeline:
    """Noise that does not pack: some 20 bytes an event."""
    generator = np.random.default_rng(number)
    columns = {
        "lane": np.zeros(events),
        "row": np.zeros(events),
        "kind": generator.integers(0, 10, events),
        "name": generator.integers(0, 4, events),
        "shape": generator.integers(-1, 1, events),
        "start": generator.integers(-(2**52), 2**52, events),
        "duration": generator.integers(0, 2**52, events),
        "launch": generator.integers(-1, events, events),
    }
    return timeline(number, **columns)


def test_large_payloads_of_many_windows_arrive(tmp_path: Path, load_fast: str) -> None:
    sink = FolderSink(str(tmp_path / "logs" / "run"))
    writer = ProfileWriter(sink, attempt())
    # More windows than either loader's default number of samples of a tag would need to be one series.
    for window in range(12):
        steps = [step(2 * window + k, 1.0, 1.0) for k in range(2)]
        shown = [random_timeline(each.step or 0, 100_000 if window == 11 else 10) for each in steps]
        writer.write(TraceRecording(profile(*steps), None, tuple(shown)), RECORDED_NS + window)
    sink.close()
    (path,) = (tmp_path / "logs" / "run").iterdir()
    assert path.stat().st_size > 3_000_000
    flags = ("--logdir", str(tmp_path / "logs"), "--load_fast", load_fast)
    with tensorboard(tmp_path / "tb.log", *flags) as board:
        board.await_true(lambda: len(board.api("runs")["runs"][0]["profiles"]) == 12)
        for window in range(12):
            answer = board.api("profile", run="run", window=window)
            assert [each["step"] for each in answer["timelines"]] == [2 * window, 2 * window + 1]
        for index in (0, 1):
            read = board.api("timeline", run="run", attempt=attempt().id, window=11, index=index)
            expected = random_timeline(22 + index, 100_000)
            for name, column in (("start_ns", expected.start), ("duration_ns", expected.duration)):
                np.testing.assert_array_equal(read[name], column)
            for name in ("kind", "name", "shape", "launch"):
                np.testing.assert_array_equal(read[name], getattr(expected, name))


TRACE = {
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * k, "dur": 5}
        for k in range(2_000)
    ]
}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(TRACE))
    return path


def test_the_report_is_printed_too(trace: Path, tmp_path: Path) -> None:
    logdir = tmp_path / "log dir"
    done = aiperf("analyze", trace, "--logdir", logdir)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(aiperf("analyze", trace).stdout)
    assert done.stdout.splitlines()[-3:] == [
        "",
        "Written as run run",
        f"Look at it with: tensorboard --logdir '{logdir}'",
    ]
    report = aiperf("report", logdir)
    assert (report.returncode, report.stderr) == (0, "")
    assert report.stdout.splitlines() == [
        "run · no recorded steps",
        "Profile 0: no step marks · cpu · Host operators takes 50 % of the step time",
    ]


def limit_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_file_that_cannot_be_written_whole_leaves_nothing(trace: Path, tmp_path: Path) -> None:
    done = aiperf("analyze", trace, "--logdir", tmp_path / "a" / "logs", preexec_fn=limit_files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"aiperf: nothing was written to {tmp_path}/a/logs (File too large); check its permissions and the space left, "
        "or give another folder\n"
    )
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (Path.touch, "is not a folder; give the folder that TensorBoard would be given"),
        (lambda path: path.symlink_to(path.parent / "nowhere" / "x"), "(File exists)"),
    ],
)
def test_one_line_for_a_folder_that_cannot_be(
    trace: Path, tmp_path: Path, prepare: Callable[[Path], object], message: str
) -> None:
    prepare(tmp_path / "logs")
    done = aiperf("analyze", trace, "--logdir", tmp_path / "logs")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("aiperf: ")
    assert f"{tmp_path}/logs" in done.stderr
    assert message in done.stderr


def test_a_trace_that_cannot_be_read_leaves_nothing(trace: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("no trace")
    done = aiperf("analyze", trace, broken, "--logdir", tmp_path / "logs")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "broken.json" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["broken.json", "run.json"]
