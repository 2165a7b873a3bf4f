"""`StepProfiler` in real trainings: exactly the asked steps, numbered as the Steps panel numbers them."""

from __future__ import annotations

import gzip
import json
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch import nn

from tb_aiperf import reports
from tb_aiperf.callbacks import PerfMonitor, StepProfiler, TraceInfo
from tb_aiperf.records import STEP_ROW, StepTable
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.requests import Request, read_request, write_request
from tests.integration import trainings as t
from tests.integration.test_recording import train_on_two_processes

QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
}


@pytest.fixture(autouse=True)
def messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Any:
    """Trainings write below the working directory; what is said can be read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger("tb_aiperf"), "propagate", True)
    caplog.set_level(logging.INFO, "tb_aiperf")
    return caplog


class Windows(StepProfiler):
    """Keeps what its handler gets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"verbose": False, "on_demand": False, **kwargs})
        self.infos: list[TraceInfo] = []

    def on_trace(self, info: TraceInfo) -> None:
        self.infos.append(info)

    @property
    def ranges_recorded(self) -> list[tuple[int, int]]:
        return [(info.first_step, info.last_step) for info in self.infos]


def events_of(path: str) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        return list(json.load(file)["traceEvents"])


def marks_of(path: str) -> dict[int, float]:
    """Step -> duration of its mark in microseconds."""
    marks = [event for event in events_of(path) if str(event.get("name", "")).startswith("ProfilerStep#")]
    assert len({event["name"] for event in marks}) == len(marks)
    return {int(event["name"].partition("#")[2]): float(event["dur"]) for event in marks}


def fit(*callbacks: Callback, model: Any = None, loader: Any = None, val: Any = None, **options: Any) -> Trainer:
    checkpoint = options.pop("ckpt_path", None)
    given = {"logger": TensorBoardLogger(".", name="net"), "max_epochs": 1, **QUIET, **options}
    trainer = Trainer(callbacks=list(callbacks), **given)
    trainer.fit(model or t.Model(), loader or t.loader(400), val, ckpt_path=checkpoint)
    return trainer


class Deep(t.Model):
    """Enough work per step for durations to be compared."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(128, 128) for _ in range(8)])

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        return self.body(batch.repeat(8, 32)).square().mean() + self.layer(batch).square().mean()


def test_a_long_training_with_three_windows(tmp_path: Path) -> None:
    monitor, windows = t.CollectingMonitor(planted=False), Windows("100:105, 900:903, 1999:2001")
    fit(monitor, windows, model=Deep(), loader=t.loader(8000))
    assert windows.ranges_recorded == [(100, 104), (900, 902), (1999, 1999)]
    table = monitor.table()
    steps = table.select(table.segment == STEP_ROW)
    assert steps.step.tolist() == list(range(2000))
    for info in windows.infos:
        marks = marks_of(info.path)
        assert sorted(marks) == list(range(info.first_step, info.last_step + 1))
        for step, traced_us in marks.items():
            timed_us = steps.wall[step] / 1e3
            assert abs(traced_us - timed_us) < max(0.05 * timed_us, 1000.0), step
    # Stopping and exporting are charged to the profiler, in the step that follows the window.
    profiler = steps.durations[steps.stages.index("profiler")]
    assert profiler[105] > 1e6 > profiler[103]
    assert profiler[110:890].max() == 0


def test_the_profile_is_in_the_run_with_the_steps(tmp_path: Path) -> None:
    windows = Windows("10:13", record_shapes=True)
    fit(PerfMonitor(verbose=False, resources=False), windows)
    reader = RunReader(DirectorySource(str(tmp_path)))
    (run,) = reports.runs(reader)["runs"]
    (listed,) = run["profiles"]
    assert (listed["window"], listed["steps"], listed["first_step"], listed["last_step"]) == (0, 3, 10, 12)
    assert listed["attempt"] == run["loops"][0]["attempts"][0]["attempt"]
    answer = reports.profile(reader, run["run"])
    assert [step["step"] for step in answer["profile"]["steps"]] == [10, 11, 12]
    assert answer["profile"]["path"] == windows.infos[0].path
    # Lightning's fetches are found.
    assert all(step["categories_us"]["data_loading"] > 0 for step in answer["profile"]["steps"])
    names = {row["name"] for row in answer["profile"]["operators"]}
    assert "aten::addmm" in names
    assert not any(name.startswith(("stage:", "ProfilerStep#")) for name in names)
    timeline = reports.timeline(reader, run["run"], listed["attempt"], 0, 1)
    assert timeline["step"] == 11
    assert {"stage:forward", "stage:backward", "stage:optimizer", "aten::addmm"} <= set(timeline["names"])


def test_stages_lie_inside_their_step() -> None:
    windows = Windows("5:7")
    fit(windows)
    events = [event for event in events_of(windows.infos[0].path) if event.get("cat") == "user_annotation"]
    bounds = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith("ProfilerStep#")}
    assert set(bounds) == {"ProfilerStep#5", "ProfilerStep#6"}
    stages = [event for event in events if event["name"].startswith("stage:")]
    for low, high in bounds.values():
        inside = {e["name"] for e in stages if low <= e["ts"] and e["ts"] + e["dur"] <= high + 0.01}
        assert {"stage:data_wait", "stage:transfer", "stage:forward", "stage:backward", "stage:optimizer"} <= inside


def test_every_n_steps_and_keep(tmp_path: Path) -> None:
    windows = Windows(every_n_steps=20, active=2, keep=2)
    trainer = fit(windows)
    assert windows.ranges_recorded == [(20, 21), (40, 41), (60, 61), (80, 81)]
    kept = sorted(str(path) for path in Path(str(trainer.log_dir)).absolute().glob("*.pt.trace.json*"))
    assert kept == sorted(info.path for info in windows.infos[-2:])
    # Their profiles stay.
    (run,) = reports.runs(RunReader(DirectorySource(str(tmp_path))))["runs"]
    assert [profile["window"] for profile in run["profiles"]] == [0, 1, 2, 3]


def test_gradient_accumulation_counts_optimizer_steps() -> None:
    windows = Windows("10:12")
    fit(windows, accumulate_grad_batches=4)
    (info,) = windows.infos
    marks = marks_of(info.path)
    assert sorted(marks) == [10, 11]
    forwards = [e for e in events_of(info.path) if e.get("name") == "stage:forward"]
    assert len(forwards) == 8
    assert info.profile is not None
    assert [step.step for step in info.profile.steps] == [10, 11]


@pytest.mark.parametrize("model", [t.ManualModel, t.IteratorModel, t.LBFGSModel])
def test_other_ways_to_optimise(model: Callable[[], Any]) -> None:
    windows = Windows("10:12")
    fit(windows, model=model())
    assert sorted(marks_of(windows.infos[0].path)) == [10, 11]


def test_validation_inside_a_window() -> None:
    windows = Windows("18:22")
    fit(windows, val=t.loader(20), val_check_interval=20)
    (info,) = windows.infos
    assert sorted(marks_of(info.path)) == [18, 19, 20, 21]
    validations = [event for event in events_of(info.path) if event.get("name") == "stage:validation"]
    assert len(validations) == 1


def test_a_window_over_the_end_of_an_epoch_leaves_the_boundary_out() -> None:
    monitor, windows = t.CollectingMonitor(planted=False), Windows("8:12")
    fit(monitor, windows, loader=t.loader(40), max_epochs=2)
    (info,) = windows.infos
    marks = marks_of(info.path)
    assert sorted(marks) == [8, 9, 10, 11]
    table = monitor.table()
    walls = {int(step): wall / 1e3 for step, wall in zip(table.step, table.wall, strict=True) if step in (9, 10)}
    assert marks[9] < walls[9] + 1000


def test_windows_at_the_first_and_the_last_step() -> None:
    windows = Windows("0:2, 98:500")
    fit(windows)
    assert windows.ranges_recorded == [(0, 1), (98, 99)]


def test_a_resume_into_over_and_past_windows(tmp_path: Path, messages: pytest.LogCaptureFixture) -> None:
    keeps = ModelCheckpoint(dirpath=tmp_path, filename="half", every_n_train_steps=50, save_top_k=-1)
    fit(keeps, max_steps=50, enable_checkpointing=True)
    windows = Windows("10:20, 45:55, 70:72")
    fit(windows, ckpt_path=tmp_path / "half.ckpt")
    assert windows.ranges_recorded == [(50, 54), (70, 71)]
    said = [record.message for record in messages.records if record.levelno == logging.WARNING]
    assert any("steps 10:20 were not profiled" in message for message in said)
    assert any("steps 45:55 are profiled from step 50 on" in message for message in said)
    reader = RunReader(DirectorySource(str(tmp_path)))
    resumed = reports.profile(reader, max(run["run"] for run in reports.runs(reader)["runs"]))
    assert resumed["profile"]["steps"][0]["step"] == 70


def test_a_window_that_is_never_reached_is_reported(messages: pytest.LogCaptureFixture) -> None:
    windows = Windows("500:505")
    fit(windows)
    assert windows.infos == []
    assert "steps 500:505 were not reached" in messages.text


def test_an_exception_inside_a_window_keeps_what_there_is() -> None:
    class Fails(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if batch_idx == 12:
                raise RuntimeError("planted")
            return super().training_step(batch, batch_idx)

    windows = Windows("10:20")
    with pytest.raises(RuntimeError, match="planted"):
        fit(windows, model=Fails())
    (info,) = windows.infos
    assert sorted(marks_of(info.path)) == [10, 11, 12]
    assert info.profile is not None
    assert not torch.autograd._profiler_enabled()  # type: ignore[attr-defined]


def test_another_profiler_is_left_alone(messages: pytest.LogCaptureFixture) -> None:
    windows = Windows("10:12")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as outer:
        trainer = fit(windows)
    assert trainer.global_step == 100
    assert windows.infos == []
    assert "another profiler is at work" in messages.text
    assert any(event.name == "aten::linear" for event in outer.events())


def test_lightnings_own_pytorch_profiler_goes_first(messages: pytest.LogCaptureFixture) -> None:
    windows = Windows("2:4")
    trainer = fit(windows, profiler="pytorch", max_steps=20)
    assert trainer.global_step == 20
    assert windows.infos == []
    assert "another profiler was started" in messages.text


def test_a_fast_dev_run_leaves_nothing(tmp_path: Path) -> None:
    windows = Windows("0:1")
    fit(windows, fast_dev_run=3)
    assert windows.infos == []
    assert list(tmp_path.rglob("*.pt.trace.json*")) == []


def test_without_a_logger_it_makes_a_run_of_its_own(tmp_path: Path) -> None:
    windows = Windows("3:5")
    fit(windows, logger=False)
    assert Path(windows.infos[0].path).parent == tmp_path / "tb_aiperf" / "version_0"
    (run,) = reports.runs(RunReader(DirectorySource(str(tmp_path))))["runs"]
    assert run["loops"] == []
    assert [profile["first_step"] for profile in run["profiles"]] == [3]


@pytest.mark.parametrize("order", [0, 1])
def test_both_callbacks_write_one_run(order: int, tmp_path: Path) -> None:
    callbacks: list[Callback] = [PerfMonitor(verbose=False, resources=False, dirpath=tmp_path / "own"), Windows("3:5")]
    fit(*(callbacks[::-1] if order else callbacks), logger=CSVLogger(tmp_path))
    (run,) = reports.runs(RunReader(DirectorySource(str(tmp_path))))["runs"]
    assert (run["run"], run["loops"][0]["steps"], len(run["profiles"])) == ("own", 100, 1)
    assert len(list((tmp_path / "own").glob("events.out.tfevents.*"))) == 1


@pytest.mark.parametrize("loop", ["validate", "test", "predict"])
def test_other_loops(loop: str) -> None:
    windows = Windows("4:6", stages=loop)
    trainer = Trainer(callbacks=[windows], logger=False, **QUIET)
    getattr(trainer, loop)(t.Model(), t.loader())
    (info,) = windows.infos
    assert (sorted(marks_of(info.path)), info.loop) == ([4, 5], loop)
    fit(windows)  # not asked for in training
    assert len(windows.infos) == 1


def test_a_handler_that_fails_costs_nothing(messages: pytest.LogCaptureFixture) -> None:
    seen: list[TraceInfo] = []

    def fails(info: TraceInfo) -> None:
        seen.append(info)
        raise KeyError("planted")

    trainer = fit(StepProfiler("3:5, 9:10", verbose=False, trace_handler=fails))
    assert trainer.global_step == 100
    assert [(info.window, info.first_step) for info in seen] == [(0, 3), (1, 9)]
    assert "trace_handler failed" in messages.text
    assert seen[0].profile is not None
    assert seen[0].profile.path == seen[0].path


@pytest.mark.slow
def test_two_processes_each_record_the_same_steps(tmp_path: Path) -> None:
    """A file and a profile for each chosen rank, matched across ranks by their collectives."""
    profiler = "StepProfiler('5:8', ranks='all', verbose=False)"
    runs = train_on_two_processes(tmp_path, f"PerfMonitor(resources=False), {profiler}")
    reader = RunReader(DirectorySource(str(tmp_path)))
    assert [run["run"] for run in runs] == ["net/version_0", "net/version_0/rank_1"]
    for rank, run in enumerate(runs):
        (listed,) = run["profiles"]
        assert (listed["first_step"], listed["last_step"]) == (5, 7)
        answer = reports.profile(reader, run["run"])
        assert (answer["rank"], answer["profile"]["rank"], answer["world_size"]) == (rank, rank, 2)
        assert len(list((tmp_path / run["run"]).glob("*.pt.trace.json.gz"))) == 1
        assert all(step["categories_us"]["communication"] > 0 for step in answer["profile"]["steps"])
        assert answer["collectives"]["ranks"] == [0, 1]
        assert {row["operation"] for row in answer["collectives"]["operations"]} >= {"all_reduce"}


@pytest.mark.slow
def test_only_the_chosen_rank_is_profiled(tmp_path: Path) -> None:
    runs = train_on_two_processes(tmp_path, "StepProfiler('5:8', ranks=[1], verbose=False)")
    assert [(run["run"], run["loops"], len(run["profiles"])) for run in runs] == [("net/version_0/rank_1", [], 1)]


def test_a_request_while_the_training_runs(tmp_path: Path) -> None:
    class Asks(Callback):
        def on_train_batch_start(self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
            path = Path(str(trainer.log_dir)) / "tb_aiperf_request.json"
            if batch_idx == 0:
                write_request(str(path), Request(id="a", steps=4))
            time.sleep(0.02)

    windows = Windows(on_demand=True)
    trainer = fit(windows, Asks())
    (info,) = windows.infos
    assert info.last_step - info.first_step == 3
    answer = read_request(os.path.join(str(trainer.log_dir), "tb_aiperf_request.json"))
    assert answer == Request(
        id="a", steps=4, state="done", first_step=info.first_step, window=info.window, path=info.path
    )
    # A later training does not take it up again.
    again = Windows(on_demand=True, dirpath=trainer.log_dir)
    fit(again, Asks())
    assert again.infos == []


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="this machine has no SIGUSR2")
def test_a_signal_starts_a_window() -> None:
    class Signals(Callback):
        def on_train_batch_start(self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
            time.sleep(0.02)
            if batch_idx == 10:
                os.kill(os.getpid(), signal.SIGUSR2)

    before = signal.getsignal(signal.SIGUSR2)
    windows = Windows(signal="SIGUSR2", active=2)
    fit(windows, Signals())
    (info,) = windows.infos
    assert info.last_step == info.first_step + 1
    assert signal.getsignal(signal.SIGUSR2) == before


def test_a_slow_step_starts_a_window_within_its_budget() -> None:
    class Stalls(Callback):
        def on_train_batch_start(self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
            if batch_idx in (40, 60, 80):
                time.sleep(0.3)

    windows = Windows(on_slow_step=20.0, slow_windows_per_hour=2, active=2)
    fit(windows, Stalls())
    assert windows.ranges_recorded == [(42, 43), (62, 63)]


def test_max_events_shortens_later_windows(messages: pytest.LogCaptureFixture) -> None:
    class Waits(Callback):
        """For the first window to be read."""

        def on_train_batch_start(self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
            deadline = time.monotonic() + 60
            while batch_idx == 40 and not windows.infos and time.monotonic() < deadline:
                time.sleep(0.05)

    windows = Windows("10:12, 50:80", max_events=2000)
    fit(windows, Waits())
    first, second = windows.ranges_recorded
    assert first == (10, 11)
    assert second[0] == 50
    assert second[1] < 79
    assert "would exceed max_events" in messages.text


def test_a_window_without_end_does_not_take_all_memory(
    messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process appears to grow by 100 MB a step."""
    resident = iter(range(0, 10**12, 100_000_000))

    class Process:
        def memory_info(self) -> Any:
            return type("Info", (), {"rss": next(resident)})

    monkeypatch.setattr("tb_aiperf.callbacks.window_driver.psutil.Process", Process)
    windows = Windows("5:100", max_events=1_000_000)
    trainer = fit(windows)
    assert trainer.global_step == 100
    assert windows.ranges_recorded == [(5, 14)]
    assert "steps 5:100 are profiled up to step 14: the trace takes too much memory" in messages.text


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"steps": "5:3"}, "steps: '5:3' is no range"),
        ({"start_step": 3}, "start_step and end_step go together"),
        ({"steps": "1:2", "start_step": 3, "end_step": 4}, "give steps, or start_step and end_step"),
        ({"stages": "pipeline"}, "stages are train, validate, test, predict, not 'pipeline'"),
        ({"warmup": -1}, "warmup is -1"),
        ({"every_n_steps": 3}, "every_n_steps=3 must be more than active=3"),
        ({"on_slow_step": 1.0}, "on_slow_step is 1.0"),
        ({"signal": "SIGNONE"}, "no signal 'SIGNONE'"),
        ({"activities": ["tpu"]}, "'tpu' cannot be recorded here"),
        ({"ranks": "some"}, "ranks is"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        StepProfiler(**arguments)


def test_unknown_options_of_torchs_profiler_are_refused() -> None:
    with pytest.raises(TypeError, match="takes no wait"):
        StepProfiler("1:2", profiler_options={"wait": 1})
    with pytest.raises(TypeError):
        StepProfiler("1:2", wait=1)  # type: ignore[call-arg]


def test_the_clock_is_as_it_was_after_a_window() -> None:
    """Nothing of a window stays behind: no observer, no profiler, no wrapped method."""
    windows = Windows("3:5")
    trainer = fit(windows)
    assert windows._measurement is None
    assert not torch.autograd._profiler_enabled()  # type: ignore[attr-defined]
    assert type(trainer.profiler).__name__ == "PassThroughProfiler"
    assert "profile" not in vars(trainer.profiler)


def test_planned_steps_do_not_disturb_the_stages() -> None:
    """With a window and without, the rows of the clock are the same steps with sums that fit."""
    monitor, windows = t.CollectingMonitor(), Windows("3:5")
    fit(monitor, windows, model=t.Model(forward=5, backward=3, optimizer=2))
    table: StepTable = monitor.table()
    t.check_exact(table)
    assert t.stage_ms(table, "forward") == [5] * 100
    assert t.stage_ms(table, "backward") == [3] * 100
    assert t.stage_ms(table, "optimizer") == [2] * 100
