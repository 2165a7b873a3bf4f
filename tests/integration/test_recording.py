"""What a training leaves on disk, read back: complete, exact to the microsecond, and readable after any end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from tb_aiperf import reports
from tb_aiperf.callbacks import PerfMonitor
from tb_aiperf.records import STEP_ROW
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import LoadedSteps, RunReader
from tests.integration import trainings as t

QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
    "log_every_n_steps": 1,
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings without a logger write below the working directory."""
    monkeypatch.chdir(tmp_path)


def load(logdir: Path, run: str, loop: str = "train", attempt: str | None = None) -> LoadedSteps:
    reader = RunReader(DirectorySource(str(logdir)))
    index = reader.index(run)
    assert index is not None, [each.run for each in reader.indexes()]
    return reader.load_steps(index, loop, attempt)


def run_names(logdir: Path) -> list[str]:
    return sorted(run["run"] for run in reports.runs(RunReader(DirectorySource(str(logdir))))["runs"])


def test_stored_rows_are_the_captured_ones_to_the_microsecond(tmp_path: Path) -> None:
    monitor = t.CollectingMonitor(planted=False)
    trainer = Trainer(logger=TensorBoardLogger(tmp_path, name="net"), callbacks=[monitor], max_epochs=120, **QUIET)
    trainer.fit(t.Model(), t.loader())
    captured = monitor.table()
    stored = load(tmp_path, "net/version_0").table
    assert stored.tick_ns == 1000
    assert len(stored) == len(captured) > 1200
    for name in ("step", "global_step", "batch", "epoch", "segment"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(captured, name))
    assert np.abs(stored.durations.astype(np.int64) * 1000 - captured.durations).max() < 1000
    # No bias: over the whole training the stored times differ by less than a microsecond in all.
    assert abs(int(stored.wall.sum()) * 1000 - int(captured.wall.sum())) < 1000
    np.testing.assert_array_equal(stored.start[1:], (stored.start + stored.wall)[:-1])


def test_two_fits_into_one_folder_lose_nothing(tmp_path: Path) -> None:
    """Another Trainer, the same version: the newer attempt wins step by step, and the older stays readable."""
    for epochs in (2, 1):
        logger = TensorBoardLogger(tmp_path, name="net", version=0)
        Trainer(logger=logger, callbacks=[PerfMonitor(verbose=False, resources=False)], max_epochs=epochs, **QUIET).fit(
            t.Model(), t.loader()
        )
        time.sleep(1.1)  # event files are named by the second
    merged = load(tmp_path, "net/version_0")
    assert merged.table.steps_only().step.tolist() == list(range(20))
    attempts = reports.runs(RunReader(DirectorySource(str(tmp_path))))["runs"][0]["loops"][0]["attempts"]
    assert [attempt["steps"] for attempt in attempts] == [20, 10]
    first = load(tmp_path, "net/version_0", attempt=attempts[0]["attempt"]).table.steps_only()
    second = load(tmp_path, "net/version_0", attempt=attempts[1]["attempt"]).table.steps_only()
    assert (len(first), len(second)) == (20, 10)
    steps = merged.table.select(merged.table.segment == STEP_ROW)
    np.testing.assert_array_equal(np.sort(steps.wall[:10]), np.sort(second.wall))


def test_fit_and_test_of_one_trainer_are_two_loops(tmp_path: Path) -> None:
    monitor = PerfMonitor(verbose=False, resources=False)
    trainer = Trainer(logger=TensorBoardLogger(tmp_path, name="net"), callbacks=[monitor], max_epochs=1, **QUIET)
    model = t.Model()
    trainer.fit(model, t.loader())
    trainer.test(model, t.loader(20), verbose=False)
    loops = reports.runs(RunReader(DirectorySource(str(tmp_path))))["runs"][0]["loops"]
    assert [(loop["loop"], loop["steps"]) for loop in loops] == [("train", 10), ("test", 5)]


@pytest.mark.parametrize("kind", ["csv", "none", "dirpath"])
def test_without_a_tensorboard_logger_it_writes_a_run_of_its_own(kind: str, tmp_path: Path) -> None:
    logger: Any = CSVLogger(tmp_path, name="net") if kind == "csv" else False
    monitor = PerfMonitor(verbose=False, resources=False, dirpath=tmp_path / "chosen" if kind == "dirpath" else None)
    trainer = Trainer(logger=logger, callbacks=[monitor], default_root_dir=tmp_path, max_epochs=1, **QUIET)
    trainer.fit(t.Model(), t.loader())
    run = {"csv": "net/version_0", "none": "tb_aiperf/version_0", "dirpath": "chosen"}[kind]
    assert run_names(tmp_path) == [run]
    assert len(load(tmp_path, run).table.steps_only()) == 10


def test_each_training_without_a_logger_is_a_run(tmp_path: Path) -> None:
    for _ in range(2):
        monitor = PerfMonitor(verbose=False, resources=False)
        trainer = Trainer(logger=False, callbacks=[monitor], default_root_dir=tmp_path, max_epochs=1, **QUIET)
        trainer.fit(t.Model(), t.loader())
    assert run_names(tmp_path) == ["tb_aiperf/version_0", "tb_aiperf/version_1"]


def test_fast_dev_run_leaves_no_files(tmp_path: Path) -> None:
    Trainer(fast_dev_run=True, accelerator="cpu", callbacks=[PerfMonitor()], default_root_dir=tmp_path).fit(
        t.Model(), t.loader()
    )
    assert list(tmp_path.rglob("*")) == []


def test_environment_and_resources_are_recorded(tmp_path: Path) -> None:
    monitor = PerfMonitor(verbose=False, resource_interval=0.05)
    trainer = Trainer(logger=TensorBoardLogger(tmp_path, name="net"), callbacks=[monitor], max_epochs=40, **QUIET)
    trainer.fit(t.Model(), t.loader())
    overview = reports.overview(RunReader(DirectorySource(str(tmp_path))), "net/version_0")
    assert overview["environment"]["model"]["parameters"] == 5
    assert overview["environment"]["loaders"][0]["batch_size"] == 4
    resources = overview["resources"]
    assert resources["process_rss_bytes"]["median"] > 50e6
    assert 0 < resources["process_cpu_cores"]["mean"] < (os.cpu_count() or 1) * 2


def test_a_folder_that_cannot_be_written_costs_the_records_not_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monitor = PerfMonitor(verbose=False, dirpath=tmp_path / "file" / "run")
    trainer = Trainer(logger=False, callbacks=[monitor], max_epochs=1, **QUIET)
    trainer.fit(t.Model(), t.loader())
    assert trainer.global_step == 10
    assert monitor._off


def script(body: str, folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(textwrap.dedent(body))
    return path


def test_a_killed_training_keeps_all_but_the_last_flush(tmp_path: Path) -> None:
    """SIGKILL in the middle: with a flush every second, at most the last second and a bit is gone."""
    path = script(
        f"""
        import time
        from lightning.pytorch import Trainer
        from lightning.pytorch.loggers import TensorBoardLogger
        from tb_aiperf.callbacks import PerfMonitor
        from tests.integration import trainings as t

        class Slow(t.Model):
            def training_step(self, batch, batch_idx):
                time.sleep(0.02)
                print("step", batch_idx, time.monotonic(), flush=True)
                return super().training_step(batch, batch_idx)

        Trainer(
            logger=TensorBoardLogger({str(tmp_path)!r}, name="net"), callbacks=[PerfMonitor(flush_every=1.0)],
            accelerator="cpu", enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        ).fit(Slow(), t.loader(40_000))
        """,
        tmp_path,
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    started: dict[int, float] = {}
    for line in process.stdout:
        if line.startswith("step "):
            _, step, moment = line.split()
            started[int(step)] = float(moment)
            if int(step) == 250:
                killed = time.monotonic()
                process.send_signal(signal.SIGKILL)
                break
    process.wait()
    steps = load(tmp_path, "net/version_0").table.steps_only().step.tolist()
    assert steps == list(range(len(steps)))
    # One second between flushes; another for a busy machine to be late in.
    assert killed - started[len(steps)] <= 2.0


def train_on_two_processes(folder: Path, callbacks: str) -> list[dict[str, Any]]:
    """The runs that a training on two processes leaves, with `callbacks` as the expressions for its callbacks."""
    path = script(
        f"""
        import os
        from lightning.pytorch import Trainer
        from lightning.pytorch.loggers import TensorBoardLogger
        from tb_aiperf.callbacks import PerfMonitor, StepProfiler
        from tests.integration import trainings as t

        if __name__ == "__main__":
            trainer = Trainer(
                logger=TensorBoardLogger({str(folder)!r}, name="net"), callbacks=[{callbacks}],
                accelerator="cpu", devices=2, strategy="ddp", max_epochs=2,
                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            )
            trainer.fit(t.Model(), t.loader(80))
        """,
        folder,
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    runs: list[dict[str, Any]] = reports.runs(RunReader(DirectorySource(str(folder))))["runs"]
    for run in runs:
        assert not run["loops"] or load(folder, run["run"]).table.steps_only().step.tolist() == list(range(20))
    return runs


@pytest.mark.slow
def test_two_processes_each_write_their_own_run_of_one_attempt(tmp_path: Path) -> None:
    runs = train_on_two_processes(tmp_path, "PerfMonitor(resources=False)")
    assert [(run["run"], run["group"], run["rank"], run["world_size"]) for run in runs] == [
        ("net/version_0", "net/version_0", 0, 2),
        ("net/version_0/rank_1", "net/version_0", 1, 2),
    ]
    attempts = [run["loops"][0]["attempts"][0] for run in runs]
    assert attempts[0]["attempt"] == attempts[1]["attempt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("monitor", "run"),
    [
        ("PerfMonitor(resources=False, enabled=os.environ.get('LOCAL_RANK', '0') == '0')", "net/version_0"),
        ("PerfMonitor(resources=False, ranks=[1])", "net/version_0/rank_1"),
    ],
    ids=["enabled on rank 0 only", "ranks=[1]"],
)
def test_ranks_that_do_not_record_hold_nobody_up(monitor: str, run: str, tmp_path: Path) -> None:
    assert [each["run"] for each in train_on_two_processes(tmp_path, monitor)] == [run]
