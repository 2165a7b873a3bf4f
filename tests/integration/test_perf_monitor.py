"""`PerfMonitor` in real trainings: exact stages, exact counts, and nothing left behind."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import LearningRateFinder, ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning.pytorch.utilities import CombinedLoader

from tb_aiperf.records import SEGMENT_KEYS, STEP_ROW
from tests.integration import trainings as t


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings without a logger write below the working directory."""
    monkeypatch.chdir(tmp_path)


def train(model: t.Model, loaders: Any, monitor: t.CollectingMonitor, val: Any = None, **kwargs: Any) -> Trainer:
    options: dict[str, Any] = {
        "max_epochs": 1,
        "accelerator": "cpu",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "log_every_n_steps": 1,
        "num_sanity_val_steps": 0,
    }
    extra = kwargs.pop("callbacks", [])
    ckpt_path = kwargs.pop("ckpt_path", None)
    trainer = Trainer(callbacks=[monitor, *extra], **{**options, **kwargs})
    before = snapshot(trainer)
    trainer.fit(model, loaders, val, ckpt_path=ckpt_path)
    assert snapshot(trainer) == before
    return trainer


def snapshot(trainer: Trainer) -> dict[str, Any]:
    """The routines set on instances that the tap touches, and torch's global optimizer hooks."""
    owners = {
        "profiler": trainer.profiler,
        "fit_loop": trainer.fit_loop,
        "epoch_loop": trainer.fit_loop.epoch_loop,
        "val_loop": trainer.fit_loop.epoch_loop.val_loop,
        "validate_loop": trainer.validate_loop,
        "test_loop": trainer.test_loop,
        "predict_loop": trainer.predict_loop,
        "strategy": trainer.strategy,
        "connector": trainer._logger_connector,
        **{f"logger{index}": logger for index, logger in enumerate(trainer.loggers)},
    }
    found = {
        f"{name}.{attribute}": value
        for name, owner in owners.items()
        for attribute, value in vars(owner).items()
        if inspect.isroutine(value) or type(value).__name__ == "_Replacement"
    }
    hooks = importlib.import_module("torch.optim.optimizer")
    return {**found, "hooks": len(hooks._global_optimizer_pre_hooks) + len(hooks._global_optimizer_post_hooks)}


def test_the_tap_is_in_place_during_training_and_gone_after() -> None:
    seen: dict[str, Any] = {}

    class Looks(Callback):
        def on_train_batch_start(self, trainer: Trainer, *_: Any) -> None:
            seen.update(snapshot(trainer))

    trainer = train(t.ManualModel(), t.loader(), t.CollectingMonitor(), callbacks=[Looks()])
    names = {
        "profiler.profile",
        "profiler.start",
        "fit_loop.run",
        "epoch_loop.advance",
        "val_loop.run",
        "strategy.backward",
    }
    assert names <= set(seen)
    assert seen["hooks"] == 2
    assert snapshot(trainer) == {"hooks": 0}


DELAYS = {"transfer": 2, "forward": 5, "backward": 7, "optimizer": 3, "lr_scheduler": 1}


def test_every_planted_delay_is_found_in_its_stage_and_nowhere_else(tmp_path: Path) -> None:
    class SlowIO(TorchCheckpointIO):
        def save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            t.CLOCK.pass_ms(20)
            super().save_checkpoint(*args, **kwargs)

    monitor = t.CollectingMonitor()
    train(
        t.Model(**DELAYS, validation=6),
        t.loader(40, delay=1),
        monitor,
        val=t.loader(8),
        val_check_interval=5,
        logger=t.SlowLogger(4),
        default_root_dir=tmp_path,
        profiler=t.SlowProfiler(9),
        plugins=[SlowIO()],
        enable_checkpointing=True,
        callbacks=[
            t.SlowHook("on_train_batch_end", 8),
            ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=4, save_top_k=-1),
        ],
    )
    table = monitor.table()
    t.check_exact(table)
    steps = range(10)
    assert t.stage_ms(table, "data_wait") == [4] * 10
    assert t.stage_ms(table, "forward") == [5] * 10
    assert t.stage_ms(table, "backward") == [7] * 10
    assert t.stage_ms(table, "optimizer") == [3] * 10
    assert t.stage_ms(table, "lr_scheduler") == [1] * 10
    assert t.stage_ms(table, "callbacks") == [8] * 10
    assert t.stage_ms(table, "profiler") == [9] * 10
    assert t.stage_ms(table, "transfer") == [2] * 10
    assert t.stage_ms(table, "checkpoint") == [20 if step in (3, 7) else 0 for step in steps]
    # Two validation batches of 6 ms, each transferred in 2 ms; the logger takes 4 ms a call.
    assert t.stage_ms(table, "validation") == [16 if step in (4, 9) else 0 for step in steps]
    assert t.stage_ms(table, "logging") == [8 if step in (4, 9) else 4 for step in steps]
    assert t.stage_ms(table, "other") == [0] * 10
    assert t.stage_ms(table, "loader_start") == [0] * 10


def test_loader_start_is_found_between_the_steps() -> None:
    class SlowStart(t.Model):
        def train_dataloader(self) -> Any:
            t.CLOCK.pass_ms(15)
            return t.loader(8)

    monitor = t.CollectingMonitor()
    train(SlowStart(), None, monitor, max_epochs=3, reload_dataloaders_every_n_epochs=1)
    table = monitor.table()
    t.check_exact(table)
    segments = table.select(table.segment != STEP_ROW)
    found = [
        (SEGMENT_KEYS[segment], int(spent) // t.MS)
        for segment, spent in zip(
            segments.segment, segments.durations[segments.stages.index("loader_start")], strict=True
        )
        if spent
    ]
    assert found == [("startup", 15), ("epoch_boundary", 15), ("epoch_boundary", 15)]
    assert len(table.steps_only()) == 6


def test_sum_of_all_rows_is_the_training_wall_clock() -> None:
    """Bracketed by other callbacks' clocks: no tolerance is needed."""

    class Marks(Callback):
        def __init__(self) -> None:
            self.start = self.end = 0

        def on_train_start(self, *_: Any) -> None:
            self.start = time.perf_counter_ns()

        def on_train_end(self, *_: Any) -> None:
            self.end = time.perf_counter_ns()

    before, after = Marks(), Marks()
    monitor = t.CollectingMonitor(planted=False)
    Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[before, monitor, after],
    ).fit(t.Model(), t.loader(), t.loader(8))
    table = monitor.table()
    t.check_exact(table)
    startup = np.flatnonzero(table.segment == SEGMENT_KEYS.index("startup"))
    shutdown = np.flatnonzero(table.segment == SEGMENT_KEYS.index("shutdown"))
    training = table.select(slice(int(startup[-1]), int(shutdown[0])))
    total = int(training.wall.sum())
    assert after.end - before.start >= total >= before.end - after.start
    assert len(table.steps_only()) == 30


def combined() -> CombinedLoader:
    return CombinedLoader({"a": t.loader(40), "b": t.loader(20)}, "max_size_cycle")


SCENARIOS: dict[str, tuple[Any, Any, dict[str, Any], int]] = {
    # name: model, loader, Trainer arguments, number of steps
    "automatic": (t.Model, t.loader, {}, 10),
    "two_epochs_two_workers": (t.Model, lambda: t.loader(num_workers=2), {"max_epochs": 2}, 20),
    "persistent_workers": (
        t.Model,
        lambda: t.loader(num_workers=1, persistent_workers=True),
        {"max_epochs": 2},
        20,
    ),
    "accumulation": (t.Model, t.loader, {"accumulate_grad_batches": 4}, 10),
    "manual_two_optimizers": (t.ManualModel, t.loader, {}, 10),
    "lbfgs": (t.LBFGSModel, t.loader, {}, 10),
    "iterable": (t.Model, t.stream, {"max_epochs": 2}, 20),
    "iterable_max_steps": (t.Model, t.stream, {"max_steps": 7, "max_epochs": -1}, 7),
    "combined": (t.Model, combined, {}, 10),
    "dataloader_iter": (t.IteratorModel, t.loader, {"max_epochs": 2}, 20),
    "dataloader_iter_iterable": (t.IteratorModel, t.stream, {"max_epochs": 2}, 20),
    "clipping": (t.Model, t.loader, {"gradient_clip_val": 0.5}, 10),
    "bf16_mixed": (t.Model, t.loader, {"precision": "bf16-mixed"}, 10),
    "profiler_simple": (t.Model, t.loader, {"profiler": "simple"}, 10),
    "profiler_advanced": (t.Model, t.loader, {"profiler": "advanced"}, 10),
    "fast_dev_run": (t.Model, t.loader, {"fast_dev_run": True}, 1),
    "barebones": (t.Model, t.loader, {"barebones": True}, 10),
    "limit_batches": (t.Model, t.loader, {"limit_train_batches": 3, "max_epochs": 2}, 6),
    "no_batches": (t.Model, t.loader, {"limit_train_batches": 0}, 0),
    "overfit": (t.Model, t.loader, {"overfit_batches": 2}, 2),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_are_exact_and_as_many_as_batches(name: str, tmp_path: Path) -> None:
    model, make_loader, options, expected = SCENARIOS[name]
    barebones = (
        dict.fromkeys(("logger", "log_every_n_steps", "num_sanity_val_steps", "enable_checkpointing"))
        | dict.fromkeys(("enable_progress_bar", "enable_model_summary"))
        if name == "barebones"
        else {}
    )
    monitor = t.CollectingMonitor(planted=False)
    train(model(), make_loader(), monitor, default_root_dir=tmp_path, **{**options, **barebones})
    table = monitor.table()
    t.check_exact(table)
    steps = table.steps_only()
    assert len(steps) == expected
    if not expected:
        return
    assert (steps.wall > 0).all()
    per_epoch = expected // max(options.get("max_epochs", 1), 1)
    assert steps.batch.tolist() == [index % per_epoch for index in range(expected)]
    assert steps.epoch.tolist() == [index // per_epoch for index in range(expected)]
    for stage in ("data_wait", "forward", "backward"):
        assert (steps.durations[steps.stages.index(stage)] > 0).all(), stage
    if name == "accumulation":
        assert steps.step.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
        stepping = steps.durations[steps.stages.index("lr_scheduler")] > 0
        assert stepping.tolist() == [index in (3, 7, 9) for index in range(10)]
    else:
        assert steps.step.tolist() == list(range(expected))
    if name == "manual_two_optimizers":
        assert steps.global_step.tolist() == list(range(expected))


@pytest.mark.parametrize(
    ("delays", "stage", "each"), [({"backward": 3}, "backward", 6), ({"optimizer": 4}, "optimizer", 8)]
)
def test_manual_optimisation_counts_both_optimizers(delays: dict[str, int], stage: str, each: int) -> None:
    monitor = t.CollectingMonitor()
    train(t.ManualModel(**delays), t.loader(), monitor)
    table = monitor.table()
    assert t.stage_ms(table, stage) == [each] * 10
    assert int(table.steps_only().wall.sum()) == 10 * each * t.MS


def test_lbfgs_closures_are_forward_and_backward() -> None:
    monitor = t.CollectingMonitor()
    train(t.LBFGSModel(forward=2, backward=5), t.loader(16), monitor)
    table = monitor.table().steps_only()
    forward, backward = (np.array(t.stage_ms(table, stage)) for stage in ("forward", "backward"))
    assert (forward >= 2).all()
    np.testing.assert_array_equal(forward * 5, backward * 2)
    assert int(table.wall.sum()) == int((forward + backward).sum()) * t.MS


def test_data_wait_of_a_self_fetching_training_step() -> None:
    monitor = t.CollectingMonitor()
    train(t.IteratorModel(forward=2), t.loader(40, delay=1), monitor)
    table = monitor.table()
    assert t.stage_ms(table, "data_wait") == [4] * 10
    assert t.stage_ms(table, "forward") == [2] * 10


def test_data_wait_of_an_iterable_data_set_is_one_batch_ahead() -> None:
    """Lightning prefetches one batch where it cannot know the length: the first belongs to the start-up."""
    monitor = t.CollectingMonitor()
    train(t.Model(forward=2), t.stream(40, delay=1), monitor)
    table = monitor.table()
    t.check_exact(table)
    assert t.stage_ms(table, "data_wait") == [4] * 9 + [0]
    assert sum(t.stage_ms(table, "data_wait", steps=False)) + sum(t.stage_ms(table, "loader_start", steps=False)) == 4


def test_skipping_the_rest_of_an_epoch_keeps_rows_exact() -> None:
    class Skips(t.Model):
        def on_train_batch_start(self, batch: Any, batch_idx: int) -> Any:
            return -1 if batch_idx == 4 else None

    monitor = t.CollectingMonitor()
    train(Skips(), t.loader(), monitor, max_epochs=2)
    table = monitor.table()
    t.check_exact(table)
    assert len(table.steps_only()) == 10  # the batch at which it skips was fetched: five in each epoch


def test_exception_in_the_middle_keeps_all_complete_steps_and_restores() -> None:
    class Fails(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            loss = super().training_step(batch, batch_idx)
            if batch_idx == 6:
                raise RuntimeError("planted")
            return loss

    monitor = t.CollectingMonitor()
    with pytest.raises(RuntimeError, match="planted"):
        train(Fails(forward=5), t.loader(), monitor)
    table = monitor.table()
    t.check_exact(table)
    assert len(table.steps_only()) == 6
    assert SEGMENT_KEYS[table.segment[-1]] == "interrupted"
    assert t.stage_ms(table, "forward", steps=False)[-1] == 5
    assert monitor._measurement is None


def test_ctrl_c_keeps_all_complete_steps() -> None:
    class Interrupts(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if batch_idx == 6:
                os.kill(os.getpid(), signal.SIGINT)
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        with pytest.raises(SystemExit):
            train(Interrupts(), t.loader(), monitor)
    finally:
        signal.signal(signal.SIGINT, before)  # Lightning leaves it ignored
    table = monitor.table()
    t.check_exact(table)
    assert len(table.steps_only()) == 6
    assert SEGMENT_KEYS[table.segment[-1]] == "interrupted"


def test_two_fits_of_one_trainer_are_two_attempts() -> None:
    monitor = t.CollectingMonitor()
    model = t.Model()
    trainer = train(model, t.loader(), monitor)
    trainer.fit_loop.max_epochs = 2
    trainer.fit(model, t.loader())
    assert [monitor.table(attempt).steps_only().step.tolist() for attempt in (0, 1)] == [
        list(range(10)),
        list(range(10, 20)),
    ]
    t.check_exact(monitor.table(0))
    t.check_exact(monitor.table(1))
    assert snapshot(trainer) == {"hooks": 0}


def test_resume_in_the_middle_of_an_epoch_goes_on_counting(tmp_path: Path) -> None:
    checkpoint = ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=4, save_top_k=-1, filename="{step}")
    train(t.Model(), t.loader(), t.CollectingMonitor(), enable_checkpointing=True, callbacks=[checkpoint])
    monitor = t.CollectingMonitor()
    train(t.Model(), t.loader(), monitor, max_epochs=2, ckpt_path=tmp_path / "step=4.ckpt")
    table = monitor.table()
    t.check_exact(table)
    steps = table.steps_only()
    assert steps.step.tolist() == list(range(4, 20))
    assert steps.epoch.tolist() == [0] * 6 + [1] * 10
    assert steps.global_step.tolist() == list(range(4, 20))


@pytest.mark.parametrize(("method", "expected"), [("validate", 10), ("test", 10), ("predict", 10)])
@pytest.mark.parametrize("make_loader", [t.loader, t.stream])
def test_stand_alone_loops_are_timed_by_batch(method: str, expected: int, make_loader: Any) -> None:
    monitor = t.CollectingMonitor()
    trainer = Trainer(
        callbacks=[monitor, t.SlowHook(f"on_{method if method != 'validate' else 'validation'}_batch_end", 3)],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    delays = {"validation": 5} if method == "validate" else {"forward": 5}
    getattr(trainer, method)(
        t.Model(transfer=2, **delays), make_loader(40, delay=1), **({"verbose": False} if method != "predict" else {})
    )
    table = monitor.table()
    t.check_exact(table)
    steps = table.steps_only()
    assert steps.step.tolist() == list(range(expected))
    assert t.stage_ms(table, "forward") == [5] * 10
    assert t.stage_ms(table, "callbacks") == [3] * 10
    assert t.stage_ms(table, "transfer") == [2] * 10
    ahead = make_loader is t.stream
    assert t.stage_ms(table, "data_wait") == ([4] * 9 + [0] if ahead else [4] * 10)
    assert snapshot(trainer) == {"hooks": 0}


def test_learning_rate_finder_batches_are_no_steps(tmp_path: Path) -> None:
    monitor = t.CollectingMonitor()
    finder = LearningRateFinder(num_training_steps=5, update_attr=False)
    train(t.Model(), t.loader(400), monitor, callbacks=[finder], max_steps=6, default_root_dir=tmp_path)
    table = monitor.table()
    t.check_exact(table)
    assert table.steps_only().step.tolist() == list(range(6))


def test_pytorch_lightning_trainer_accepts_the_same_callback() -> None:
    pl = importlib.import_module("pytorch_lightning")

    class Plain(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            t.CLOCK.pass_ms(5)
            return self.layer(batch).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    for callbacks in (lambda monitor: monitor, lambda monitor: [monitor]):
        monitor = t.CollectingMonitor()
        trainer = pl.Trainer(
            callbacks=callbacks(monitor),
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Plain(), t.loader())
        table = monitor.table()
        t.check_exact(table)
        assert t.stage_ms(table, "forward") == [5] * 10


def test_a_failing_tap_never_reaches_the_training(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tb_aiperf.callbacks.lightning_tap import LightningTap

    def broken(self: Any) -> Any:
        raise AttributeError("planted")

    monitor = t.CollectingMonitor()
    monkeypatch.setattr(LightningTap, "_position", broken)
    trainer = train(t.Model(), t.loader(), monitor)
    assert trainer.global_step == 10
    assert snapshot(trainer) == {"hooks": 0}
    assert monitor._off


def test_a_writer_in_another_thread_does_not_disturb_the_stages() -> None:
    class Threaded(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            thread = threading.Thread(target=lambda: self.trainer.profiler.start("save_checkpoint"))
            thread.start()
            thread.join()
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    train(Threaded(forward=5), t.loader(), monitor)
    table = monitor.table()
    assert t.stage_ms(table, "forward") == [5] * 10
    assert sum(t.stage_ms(table, "checkpoint")) == 0


def test_user_profiler_stays_in_use() -> None:
    monitor = t.CollectingMonitor()
    profiler = t.SlowProfiler(0)
    trainer = train(t.Model(), t.loader(), monitor, profiler=profiler)
    assert trainer.profiler is profiler
    assert profiler.started.count("run_training_batch") == 10
