"""Odd uses of Lightning, failing disks and callbacks: the training goes on as without us, and so do the records."""

from __future__ import annotations

import copy
import pickle
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import LearningRateFinder
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.profilers import Profiler
from torch.utils.data import DataLoader

from tb_aiperf.callbacks import PerfMonitor
from tb_aiperf.records import SEGMENT_KEYS, attempt
from tests.integration import trainings as t
from tests.integration.test_perf_monitor import snapshot, train
from tests.integration.test_recording import QUIET, load, run_names


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings without a logger write below the working directory."""
    monkeypatch.chdir(tmp_path)


def fit(monitor: Any, model: Any = None, loader: Any = None, **kwargs: Any) -> Trainer:
    options = {"logger": False, "max_epochs": 1, **QUIET, **kwargs}
    trainer = Trainer(callbacks=[monitor, *options.pop("callbacks", [])], **options)
    trainer.fit(model or t.Model(), loader or t.loader())
    return trainer


class AtStep(Callback):
    """Does something once, at the end of step 4."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx == 4:
            self.action(trainer)


def test_a_dead_event_writer_does_not_reach_the_training(tmp_path: Path) -> None:
    """A full disk ends the file writer's thread; the logger's next call would raise in the training."""

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    def fill_disk(trainer: Trainer) -> None:
        experiment = trainer.logger.experiment
        experiment.file_writer.event_writer._async_writer._writer.write = fails
        monitor._measurement.recorder.run_soon(lambda: monitor._measurement.sink.add("tb_aiperf/x/y", b"", b"", 0))  # type: ignore[union-attr]
        deadline = time.monotonic() + 20
        while experiment.file_writer is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    monitor = PerfMonitor(verbose=False, resources=False)
    trainer = fit(monitor, logger=TensorBoardLogger(tmp_path, name="net"), callbacks=[AtStep(fill_disk)])
    assert trainer.global_step == 10
    assert len(load(tmp_path, "net/version_0").table.steps_only()) == 10


def test_a_folder_deleted_during_the_training(tmp_path: Path) -> None:
    monitor = PerfMonitor(verbose=False, resources=False, dirpath=tmp_path / "run")
    trainer = fit(monitor, callbacks=[AtStep(lambda trainer: shutil.rmtree(tmp_path / "run"))])
    assert trainer.global_step == 10
    assert run_names(tmp_path) == ["run"]


def test_patched_objects_travel(tmp_path: Path) -> None:
    """What a training pickles or copies while it is measured arrives whole, without us in it."""
    seen: dict[str, Any] = {}

    class Copies(Callback):
        def on_train_batch_start(self, trainer: Trainer, *_: Any) -> None:
            seen["logger"] = pickle.loads(pickle.dumps(trainer.logger))
            seen["profiler"] = copy.deepcopy(trainer.profiler)
            seen["callbacks"] = pickle.loads(pickle.dumps([trainer.callbacks[0]]))

    monitor = PerfMonitor(verbose=False, flush_every=3.0)
    fit(monitor, logger=CSVLogger(tmp_path), callbacks=[Copies()], limit_train_batches=1)
    assert "Replacement" not in type(seen["logger"].log_metrics).__name__
    assert type(seen["logger"]) is CSVLogger
    with seen["profiler"].profile("a user's action") as name:
        assert name == "a user's action"
    (twin,) = seen["callbacks"]
    assert (twin.flush_every, twin._measurement, callable(twin.on_train_batch_end)) == (3.0, None, True)
    fit(twin)


class HoldsLogger(t.Rows):
    """A data set that knows its logger, as one that logs what it skips."""

    logger: Any = None


def test_spawned_workers_get_a_data_set_that_holds_the_logger(tmp_path: Path) -> None:
    logger = CSVLogger(tmp_path)
    rows = HoldsLogger(8)
    rows.logger = logger
    loader = DataLoader(rows, batch_size=4, num_workers=1, multiprocessing_context="spawn")
    monitor = PerfMonitor(verbose=False, resources=False)
    assert fit(monitor, loader=loader, logger=logger).global_step == 2


def test_a_callback_that_forwards_its_hooks() -> None:
    class Composite(Callback):
        def __init__(self, child: Any) -> None:
            self.child = child

        def setup(self, *args: Any, **kwargs: Any) -> None:
            self.child.setup(*args, **kwargs)

        def on_train_start(self, *args: Any) -> None:
            self.child.on_train_start(*args)

        def on_train_batch_start(self, *args: Any) -> None:
            self.child.on_train_batch_start(*args)

        def on_train_batch_end(self, *args: Any) -> None:
            self.child.on_train_batch_end(*args)

        def on_train_end(self, *args: Any) -> None:
            self.child.on_train_end(*args)

        def teardown(self, *args: Any, **kwargs: Any) -> None:
            self.child.teardown(*args, **kwargs)

    monitor = t.CollectingMonitor()
    fit(Composite(monitor))
    assert len(monitor.table().steps_only()) == 10


def test_the_trainers_profiler_keeps_its_manners() -> None:
    class Profiles(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            with self.trainer.profiler.profile("mine") as name:
                assert name == "mine"

            @self.trainer.profiler.profile("decorated")
            def decorated() -> int:
                return 1

            assert decorated() == 1
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    fit(monitor, Profiles(forward=5))
    assert t.stage_ms(monitor.table(), "forward") == [5] * 10


def test_each_trainer_of_a_cross_validation_is_a_run_of_its_own(tmp_path: Path) -> None:
    monitor = PerfMonitor(verbose=False, resources=False)
    for fold in range(2):
        fit(monitor, logger=CSVLogger(tmp_path, name="cv"))
        fit(monitor, default_root_dir=tmp_path / f"fold{fold}")
    assert run_names(tmp_path) == [
        "cv/version_0",
        "cv/version_1",
        "fold0/tb_aiperf/version_0",
        "fold1/tb_aiperf/version_0",
    ]
    assert len(load(tmp_path, "cv/version_1").table.steps_only()) == 10


def test_an_exception_that_lightning_does_not_tell_us(tmp_path: Path) -> None:
    """Another callback's on_exception fails before ours is called."""

    class FailsFirst(Callback):
        def on_exception(self, *_: Any) -> None:
            raise RuntimeError("second")

    class Fails(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if batch_idx == 6:
                raise RuntimeError("first")
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    trainer = Trainer(callbacks=[FailsFirst(), monitor], max_epochs=1, logger=False, **QUIET)
    with pytest.raises(RuntimeError, match="second"):
        trainer.fit(Fails(), t.loader())
    table = monitor.table()
    assert len(table.steps_only()) == 6
    assert SEGMENT_KEYS[table.segment[-1]] == "interrupted"
    assert snapshot(trainer) == {"hooks": 0}


def test_a_tuner_that_fails_in_the_middle(tmp_path: Path) -> None:
    class TunesLate(LearningRateFinder):
        def on_fit_start(self, *_: Any) -> None:
            pass

        def on_train_epoch_start(self, trainer: Trainer, pl_module: Any) -> None:
            if trainer.current_epoch == 1:
                self.lr_find(trainer, pl_module)

    class Fails(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if self.trainer.lr_scheduler_configs == [] or self.trainer.current_epoch == 1:
                raise RuntimeError("planted")
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    trainer = Trainer(callbacks=[monitor, TunesLate(update_attr=False)], max_epochs=3, logger=False, **QUIET)
    with pytest.raises(RuntimeError, match="planted"):
        trainer.fit(Fails(), t.loader())
    assert len(monitor.table().steps_only()) == 10
    assert snapshot(trainer) == {"hooks": 0}
    assert monitor._measurement is None


def test_a_users_on_rows_that_fails_costs_no_records(tmp_path: Path) -> None:
    class Broken(PerfMonitor):
        def on_rows(self, table: Any) -> None:
            raise KeyError("planted")

    monitor = Broken(verbose=False, resources=False, flush_every=0.001)
    fit(monitor, logger=TensorBoardLogger(tmp_path, name="net"))
    assert len(load(tmp_path, "net/version_0").table.steps_only()) == 10
    assert monitor.summary()["steps"] == 10


def test_one_monitor_in_a_fit_inside_a_fit() -> None:
    monitor = t.CollectingMonitor()
    inner_steps = []

    def nest(_: Trainer) -> None:
        inner = Trainer(callbacks=[monitor], max_epochs=1, logger=False, **QUIET)
        inner.fit(t.Model(), t.loader(16))
        monitor.tables = monitor.tables[:1]
        inner_steps.append(inner.global_step)

    fit(monitor, callbacks=[AtStep(nest)])
    table = monitor.table(0)
    t.check_exact(table)
    assert (len(table.steps_only()), inner_steps) == (10, [4])


@pytest.mark.parametrize("arguments", [{"flush_every": float("inf")}, {"resource_interval": float("inf")}])
def test_never_is_a_possible_interval(arguments: dict[str, float], tmp_path: Path) -> None:
    fit(PerfMonitor(verbose=False, **arguments), logger=TensorBoardLogger(tmp_path, name="net"))
    assert len(load(tmp_path, "net/version_0").table.steps_only()) == 10


@pytest.mark.parametrize("name", ["flush_every", "resource_interval"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_other_intervals_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        PerfMonitor(**{name: value})


def test_attempt_ids_rise_though_the_clock_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([2_000_000_000_000_000_000] * 3 + [1_999_999_999_000_000_000])
    monkeypatch.setattr(attempt.time, "time_ns", lambda: next(moments))
    ids = [attempt.new_attempt_id() for _ in range(4)]
    assert ids == sorted(ids)
    assert len({each.split("-")[0] for each in ids}) == 4


class LateManual(t.ManualModel):
    """Chooses manual optimisation only in configure_optimizers."""

    def __init__(self, **delays: int) -> None:
        super().__init__(**delays)
        self.automatic_optimization = True

    def configure_optimizers(self) -> Any:
        self.automatic_optimization = False
        return super().configure_optimizers()


def test_manual_optimisation_chosen_late(tmp_path: Path) -> None:
    monitor = t.CollectingMonitor()
    fit(monitor, LateManual(backward=3), logger=TensorBoardLogger(tmp_path, name="net"))
    assert t.stage_ms(monitor.table(), "backward") == [6] * 10
    assert "manual_backward" in load(tmp_path, "net/version_0").attempts[0].attempt.notes[0]


def test_the_closure_of_a_manual_step_is_forward() -> None:
    class Closure(t.ManualModel):
        def training_step(self, batch: Any, batch_idx: int) -> None:
            first, _ = self.optimizers()

            def closure() -> Any:
                loss = self.loss(batch)
                self.manual_backward(loss)
                return loss

            first.step(closure=closure)

    monitor = t.CollectingMonitor()
    fit(monitor, Closure(forward=5, backward=3, optimizer=2))
    table = monitor.table()
    found = {stage: t.stage_ms(table, stage) for stage in ("forward", "backward", "optimizer")}
    assert found == {"forward": [5] * 10, "backward": [3] * 10, "optimizer": [2] * 10}


def test_a_users_action_named_like_a_fetch_cuts_no_step() -> None:
    class Names(t.Model):
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            with self.trainer.profiler.profile("load_next"):
                pass

    monitor = t.CollectingMonitor()
    Trainer(callbacks=[monitor], logger=False, **QUIET).validate(Names(), t.loader(), verbose=False)
    assert len(monitor.table().steps_only()) == 10


def test_a_profiler_with_a_profile_of_its_own() -> None:
    class Own(Profiler):
        def start(self, action_name: str) -> None:
            pass

        def stop(self, action_name: str) -> None:
            pass

        @contextmanager
        def profile(self, action_name: str) -> Any:
            yield action_name

    monitor = t.CollectingMonitor()
    train(t.Model(forward=5, backward=3), t.loader(), monitor, profiler=Own())
    assert t.stage_ms(monitor.table(), "forward") == [5] * 10
    assert t.stage_ms(monitor.table(), "backward") == [3] * 10


def test_made_up_action_names_do_not_fill_the_memory() -> None:
    sizes = []

    class MakesUp(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            for number in range(1000):
                self.trainer.profiler.start(f"[Callback]Made{batch_idx}.{number}")
            sizes.append(len(monitor._measurement.tap._actions._contexts))  # type: ignore[union-attr]
            return super().training_step(batch, batch_idx)

    monitor = t.CollectingMonitor()
    fit(monitor, MakesUp())
    assert max(sizes) <= 4096
