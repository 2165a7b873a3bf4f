from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from tb_aiperf import __version__, reports
from tb_aiperf.cli import app
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter, write_report
from tb_aiperf.terminal import bar, duration
from tests.unit.storage.recordings import corrupt, recording, step, write_windows
from tests.unit.storage.series import attempt, event_file, noisy, rewrite, table, write_run


def aiperf(*arguments: object):
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(argument) for argument in arguments])


def test_report_json_by_hand(tmp_path: Path) -> None:
    rows = table({"data_wait": [3_000, 1_000], "forward": [1_000, 3_000]})
    write_run(tmp_path / "a" / "run", (attempt(1), rows), (attempt(2), rows.select(slice(1, 2))))
    result = aiperf("report", tmp_path, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {
        "runs": [
            {
                "run": "a/run",
                "attempts": 2,
                "steps": 2,
                "world_size": 1,
                "step_time_s": {"median": 0.004, "mean": 0.004, "p95": 0.004, "p99": 0.004, "max": 0.004},
                "stages": {
                    "data_wait": {"share": 0.5, "median_s": 0.002, "p95_s": 0.0029},
                    "forward": {"share": 0.5, "median_s": 0.002, "p95_s": 0.0029},
                },
                "resources": None,
                "environment": None,
                "findings": [],
                "profiles": [],
                "errors": None,
                "damaged_chunks": 0,
            }
        ]
    }
    assert reports.report(RunReader(DirectorySource(str(tmp_path)))) == json.loads(result.stdout)


def test_report_for_people(tmp_path: Path) -> None:
    write_run(tmp_path / "one", (attempt(), noisy(500)))
    write_run(tmp_path / "[two]", (attempt(1), noisy(9)), (attempt(2, rank=1, world_size=4), noisy(3, first_step=7)))
    result = aiperf("report", tmp_path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "[two] · train · 10 steps · 2 attempts (2 run again) · rank 1 of 4"
    one = lines.index("one · train · 500 steps")
    assert lines[one + 1].startswith("92 % of the step time is other (median 40 ms of 43 ms)")
    assert lines[one + 2].startswith("Step time: median 4")
    assert lines[one + 3].split() == ["Stage", "Share", "Total", "Median", "p95", "Max"]
    assert lines[one + 4].startswith("Other  ")
    assert "Profiler" not in result.stdout


def test_segments_and_notes_are_shown(tmp_path: Path) -> None:
    noted = attempt(notes=("[manual] optimisation",))
    sink = FolderSink(str(tmp_path / "run"))
    write_report(sink, "attempt", noted, noted)
    writer = StepSeriesWriter(sink, noted)
    writer.append(table({"loader_start": [1_500_000, 0]}, step=[0, 0], segment=[1, 2]))
    writer.close()
    sink.close()
    assert aiperf("report", tmp_path).stdout.splitlines() == [
        "run · train · 0 steps",
        "No step has been recorded yet.",
        "Start-up: 1 ×, 1.5 s in total",
        "Epoch boundary: 1 ×, 0 in total",
        "Note: [manual] optimisation",
    ]


def test_profiles_in_the_report(tmp_path: Path) -> None:
    write_run(tmp_path / "both", (attempt(1), table({"forward": [3_000, 1_000]})))
    write_windows(tmp_path / "both", attempt(1), recording(), recording(step(None, 1.0, 1.0), findings=[]))
    only = attempt(1, rank=3, world_size=8)
    write_windows(tmp_path / "only", only, recording(step(5, 1.0, 1.0), device="[b]x\x1b"))
    write_windows(tmp_path / "only", attempt(2, rank=3, world_size=8), recording())
    result = aiperf("report", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "both · train · 2 steps"
    blank = lines.index("")
    assert lines[blank - 2 :] == [
        "Profile 0: steps 7 to 8 · NVIDIA H100 · Data loading takes 75 % of the step time",
        "Profile 1: no step marks · NVIDIA H100",
        "",
        "only · no recorded steps · rank 3 of 8",
        f"Profile 0 of {only.id}: step 5 · [b]x\\x1b · Data loading takes 75 % of the step time",
        f"Profile 0 of {attempt(2).id}: steps 7 to 8 · NVIDIA H100 · Data loading takes 75 % of the step time",
    ]
    both, without = json.loads(aiperf("report", tmp_path, "--json").stdout)["runs"]
    assert both["steps"] == 2
    assert both["profiles"] == msgspec.to_builtins(
        [recording().profile, recording(step(None, 1.0, 1.0), findings=[]).profile]
    )
    assert without == {
        "run": "only",
        "attempts": 2,
        "steps": 0,
        "world_size": 8,
        "step_time_s": {"median": None, "mean": None, "p95": None, "p99": None, "max": None},
        "stages": {},
        "resources": None,
        "environment": None,
        "findings": [],
        "profiles": msgspec.to_builtins([recording(step(5, 1.0, 1.0), device="[b]x\x1b").profile, recording().profile]),
        "errors": None,
        "damaged_chunks": 0,
    }


def test_damaged_profiles_are_counted_and_shown(tmp_path: Path) -> None:
    write_run(tmp_path / "both", (attempt(), noisy(5)))
    for run in ("both", "only"):
        write_windows(tmp_path / run, attempt(), recording(), recording())
        (path,) = (p for p in (tmp_path / run).iterdir() if b"tb_aiperf/profile" in p.read_bytes())
        corrupt(path, f"/profile/{attempt().id}/000001")
    result = aiperf("report", tmp_path)
    assert result.exit_code == 0
    for block in result.stdout.split("\n\n"):
        assert "Profile 0: steps 7 to 8" in block
        assert f"Damaged: tb_aiperf/profile/{attempt().id}/000001 of run" in " ".join(block.split())
    runs = json.loads(aiperf("report", tmp_path, "--json").stdout)["runs"]
    assert [(run["damaged_chunks"], len(run["profiles"])) for run in runs] == [(1, 1), (1, 1)]


def test_damage_is_shown(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(300)), chunk_rows=100)
    rewrite(event_file(tmp_path / "run"), b"/000001", b"/000009")
    result = aiperf("report", tmp_path)
    assert result.exit_code == 0
    damage = " ".join(result.stdout.split("Damaged:", 1)[1].split())
    assert "000001 of run 'run': missing from the file" in damage
    assert json.loads(aiperf("report", tmp_path, "--json").stdout)["runs"][0]["damaged_chunks"] == 2


def test_runs_left_out_are_named_on_stderr(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "started"))
    write_report(sink, "attempt", attempt(), attempt())
    sink.close()
    write_run(tmp_path / "fine", (attempt(), noisy(3)))
    result = aiperf("report", tmp_path, "--json")
    assert (result.exit_code, len(json.loads(result.stdout)["runs"])) == (0, 1)
    assert result.stderr.startswith("aiperf: run 'started' left out: no step has been written yet")


def test_a_missing_folder(tmp_path: Path) -> None:
    result = aiperf("report", tmp_path / "none")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"aiperf: {tmp_path}/none does not exist; give the folder that the logger writes to\n"


def test_a_folder_without_runs(tmp_path: Path) -> None:
    result = aiperf("report", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert f"{tmp_path} holds no event files" in result.stderr


def test_a_folder_without_steps(tmp_path: Path) -> None:
    FolderSink(str(tmp_path / "run")).close()
    result = aiperf("report", tmp_path)
    assert result.exit_code == 1
    assert "holds 1 run, none with recorded steps; add PerfMonitor()" in result.stderr


def test_a_file_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(3)))
    path = event_file(tmp_path / "run")
    path.write_bytes(b"x" * 500)
    result = aiperf("report", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == f"aiperf: no steps could be read: {path}: bytes 0 to 500 are damaged and were skipped\n"


@pytest.mark.parametrize("arguments", [("report",), ("report", "a", "b"), ("report", "a", "--nonsense"), ("nonsense",)])
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    assert aiperf(*arguments).exit_code == 2


def test_an_empty_name_is_refused() -> None:
    result = aiperf("report", "")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "aiperf: the folder's name is empty; give the folder that the logger writes to\n"


def test_a_file_system_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> bool:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("tensorboard.compat.tf.io.gfile.exists", fail)
    result = aiperf("report", "s3://bucket/logs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "aiperf: s3://bucket/logs cannot be read: Install s3fs to access S3\n"


def test_what_cannot_be_read_is_named_beside_what_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fine", "closed", "broken"):
        write_run(tmp_path / name, (attempt(), noisy(3)))
    path = event_file(tmp_path / "broken")
    path.write_bytes(b"x" * 500)
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if folder.endswith("closed"):
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    result = aiperf("report", tmp_path, "--json")
    assert (result.exit_code, [run["run"] for run in json.loads(result.stdout)["runs"]]) == (0, ["fine"])
    assert result.stderr.splitlines() == [
        f"aiperf: folder left out: {tmp_path}/closed cannot be read (Permission denied); check its permissions",
        f"aiperf: run 'broken' left out: {path}: bytes 0 to 500 are damaged and were skipped",
    ]


def test_names_reach_the_terminal_as_text(tmp_path: Path) -> None:
    write_run(tmp_path / "a\n\x1b[31mb", (attempt(), table({"x\x1b[2J": [5]})))
    result = aiperf("report", tmp_path)
    assert result.stdout.startswith("a\\n\\x1b[31mb · train · 1 step\n")
    assert "\x1b" not in result.stdout
    assert "100 % of the step time is x\\x1b[2J (" in result.stdout
    result = aiperf("report", tmp_path / "none\nb\x1b")
    assert result.stderr.startswith(f"aiperf: {tmp_path}/none\\nb\\x1b does not exist; ")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_any_encoding_of_the_output_will_do(tmp_path: Path, encoding: str) -> None:
    write_run(tmp_path / "gü €", (attempt(), table({"forward": [300], "data_wait": [100]})))
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "120"}
    program = [sys.executable, "-c", "from tb_aiperf.cli import main; main()", "report", str(tmp_path)]
    result = subprocess.run(program, env=environment, capture_output=True, check=True)
    assert result.stderr == b""
    title, headline, _, _, forward, _ = result.stdout.decode(encoding).splitlines()
    plain = {"ascii": "g? ? - train", "latin-1": "gü ? · train", "cp1252": "gü € · train", "utf-8": "gü € · train"}
    assert title == f"{plain[encoding]} · 1 step" if encoding != "ascii" else title == "g? ? - train - 1 step"
    micro = "u" if encoding == "ascii" else "µ"
    assert headline == f"75 % of the step time is forward (median 300 {micro}s of 400 {micro}s), 25 % data wait."
    assert forward.split()[:4] == ["Forward", ("█" if encoding == "utf-8" else "#") * 15, "75.0", "%"]
    result = subprocess.run([*program, "--json"], env=environment, capture_output=True, check=True)
    assert json.loads(result.stdout.decode("ascii"))["runs"][0]["run"] == "gü €"


def test_the_version() -> None:
    assert aiperf("--version").stdout == f"{__version__}\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0"),
        (0.000_012, "12 µs"),
        (0.000_999_9, "1 ms"),
        (0.0415, "41.5 ms"),
        (12.34, "12.3 s"),
        (1002.0, "16.7 min"),
        (7200.0, "2.0 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_bars() -> None:
    assert [bar(share).rstrip() for share in (0.0, 0.5, 0.525, 1.0)] == ["", "█" * 10, "█" * 10 + "▌", "█" * 20]
    assert {len(bar(share / 100)) for share in range(101)} == {20}
