"""Taps a Lightning Trainer: its profiler actions and a few loop methods drive a `StageClock`.

Nothing of the Trainer's configuration changes and the user's profiler stays in use: the tap sets instance attributes
and removes them again. Methods that are Lightning's private ones are optional: where one is missing, its time stays in
the stage around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.records import SEGMENT_KEYS, STEP_ROW

from .actions import VALIDATION_KEEPS_OUT
from .destination import summary_writer_of
from .patches import PatchSet
from .profiler_tap import ProfilerTap

STARTUP = SEGMENT_KEYS.index("startup")
EPOCH_BOUNDARY = SEGMENT_KEYS.index("epoch_boundary")
SHUTDOWN = SEGMENT_KEYS.index("shutdown")
INTERRUPTED = SEGMENT_KEYS.index("interrupted")

#: Methods of a TensorBoard writer that a user calls directly.
_WRITER_METHODS = (
    "add_scalar",
    "add_scalars",
    "add_tensor",
    "add_histogram",
    "add_histogram_raw",
    "add_image",
    "add_images",
    "add_image_with_boxes",
    "add_figure",
    "add_video",
    "add_audio",
    "add_text",
    "add_graph",
    "add_embedding",
    "add_pr_curve",
    "add_mesh",
    "add_hparams",
    "flush",
)


class CutObserver(Protocol):
    """Follows the cuts between rows; called in the training thread. segment: of the row that begins."""

    def before_cut(self, step: int, segment: int) -> None:
        """The row of `step` is about to begin; the time still belongs to the row before it."""

    def after_cut(self, step: int, segment: int) -> None:
        """The row of `step` has begun."""


class LightningTap:
    """Drives `clock` from `trainer` between `install` and `remove`.

    on_failure is called with the exception when the tap itself fails; the tap is then inert and the training goes on.
    on_interrupt is called when the loop ends with an exception: Lightning tells a callback only if no other callback
    fails first and no tuner has put it aside.
    """

    def __init__(
        self,
        trainer: Any,
        clock: StageClock,
        on_failure: Callable[[BaseException], None],
        on_interrupt: Callable[[], None],
    ) -> None:
        self.trainer = trainer
        self._clock = clock
        self._on_failure = on_failure
        self._on_interrupt = on_interrupt
        self._patches = PatchSet()
        self._hooks: list[Any] = []
        self._actions: ProfilerTap | None = None
        self._in_loop = False
        self._running_loops = 0
        self._processed_at_cut = -1
        self._epoch_loop: Any = None
        self._evaluation_loop: Any = None
        self._evaluation_step = 0
        self._cut_on_fetch = True
        #: Told of each cut while it is set.
        self.observer: CutObserver | None = None

    # ---- installing and removing ----

    def install(self, loop: str) -> None:
        """Tap the trainer for one attempt of `loop` (`train`, `validate`, `test`, `predict`) and start the clock."""
        self._tap_profiler(None if loop == "train" else self._evaluation_fetch)
        self._tap_logging()
        if loop == "train":
            self._tap_fit()
        else:
            self._tap_evaluation(loop)
        self._clock.begin(segment=STARTUP)

    def remove(self, *, interrupted: bool = False) -> None:
        """Close the open row, stop the clock and restore the trainer. May be called more than once."""
        self._in_loop = False
        if self._clock.running:
            if interrupted:
                self._clock.relabel(segment=INTERRUPTED)
            self._clock.end()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._patches.undo()

    def _tap_profiler(self, on_fetch: Callable[[], None] | None) -> None:
        callbacks = self.trainer.callbacks
        checkpoint_keys = frozenset(each.state_key for each in callbacks if _is_checkpoint_callback(each))
        self._actions = ProfilerTap(self.trainer, self._clock, checkpoint_keys, on_fetch, self._fail)
        self._actions.install(self.trainer.profiler, self._patches)

    def _tap_logging(self) -> None:
        connector = getattr(self.trainer, "_logger_connector", None)
        # on_batch_end computes what the progress bar shows, the update_* methods what the loggers get.
        for name in ("log_metrics", "on_batch_end", "update_train_step_metrics", "update_train_epoch_metrics"):
            self._in_stage(connector, name, "logging")
        for each in self.trainer.loggers:
            self._in_stage(each, "log_metrics", "logging")
            writer = summary_writer_of(each)
            for name in _WRITER_METHODS if writer is not None else ():
                self._in_stage(writer, name, "logging")

    def _tap_fit(self) -> None:
        trainer = self.trainer
        fit_loop = trainer.fit_loop
        self._epoch_loop = epoch_loop = fit_loop.epoch_loop
        self._in_stage(fit_loop, "setup_data", "loader_start")
        self._in_stage(epoch_loop, "on_run_start", "loader_start")
        self._patches.replace(fit_loop, "run", self._make_loop_run)
        self._patches.replace(epoch_loop, "run", self._make_epoch_run)
        self._patches.replace(epoch_loop, "advance", self._make_advance)
        self._patches.replace(epoch_loop.val_loop, "run", self._make_validation)

    def _tap_manual_optimisation(self) -> None:
        """What has no action in manual optimisation: manual_backward, closures, optimizers without a wrapper."""
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        strategy = self.trainer.strategy
        self._in_stage(strategy, "backward", "backward")
        self._patches.replace(strategy, "optimizer_step", self._make_optimizer_step)

        clock, optimizer = self._clock, self._clock.index["optimizer"]

        def before(*_: Any) -> None:
            clock.push(optimizer)

        def after(*_: Any) -> None:
            clock.pop()

        self._hooks += [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]

    def _tap_evaluation(self, loop: str) -> None:
        names = {"validate": "validate_loop", "test": "test_loop", "predict": "predict_loop"}
        self._evaluation_loop = evaluation = getattr(self.trainer, names[loop])
        self._patches.replace(evaluation, "run", self._make_loop_run)
        self._in_stage(evaluation, "setup_data", "loader_start")
        self._patches.replace(evaluation, "reset", self._make_evaluation_reset)
        self._patches.replace(evaluation, "on_run_end", self._make_evaluation_end)

    def _in_stage(self, owner: Any, name: str, stage: str) -> None:
        """Make `owner.name` count as `stage`, where there is such a method."""
        if owner is None:
            return
        index, validation = self._clock.index[stage], self._clock.index["validation"]
        inside = index if stage in VALIDATION_KEEPS_OUT else validation
        clock, actions = self._clock, self._actions
        assert actions is not None

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def timed(*args: Any, **kwargs: Any) -> Any:
                clock.push(inside if actions.validating else index)
                try:
                    return original(*args, **kwargs)
                finally:
                    clock.pop()

            return timed

        self._patches.replace(owner, name, make)

    def _fail(self, error: BaseException) -> None:
        """The tap itself is at fault: stop measuring, never the training."""
        self._in_loop = False
        self._on_failure(error)

    # ---- fit ----

    def training_started(self) -> None:
        """Called from on_train_start: rows from here on add up to the training's wall-clock."""
        if not self.trainer.lightning_module.automatic_optimization:  # settled by now at the latest
            self._tap_manual_optimisation()
        self._cut(*self._position(), STARTUP)
        self._in_loop = True

    def training_ended(self) -> None:
        """Called from on_train_end."""
        self._in_loop = False
        self._cut(*self._position(), SHUTDOWN)

    def _cut(self, step: int, global_step: int, batch: int, epoch: int, segment: int = STEP_ROW) -> None:
        observer = self.observer
        if observer is None:
            self._clock.cut(step, global_step, batch, epoch, segment)
            return
        observer.before_cut(step, segment)
        self._clock.cut(step, global_step, batch, epoch, segment)
        observer.after_cut(step, segment)

    def _position(self) -> tuple[int, int, int, int]:
        """Step, global step, batch and epoch of the row that begins now, in a fit."""
        epoch_loop = self._epoch_loop
        progress = epoch_loop.batch_progress.current
        self._processed_at_cut = progress.processed
        return epoch_loop._batches_that_stepped, epoch_loop.global_step, progress.ready, self.trainer.current_epoch

    def _make_loop_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            # A tuner may run the loop inside our loop, with its own callbacks: its batches are not steps.
            outer, self._in_loop = self._in_loop, False
            self._running_loops += 1
            try:
                return original(*args, **kwargs)
            except BaseException:
                if self._running_loops == 1:
                    self._on_interrupt()
                raise
            finally:
                self._running_loops -= 1
                self._in_loop = outer

        return run

    def _make_optimizer_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        forward = self._clock.stage("forward")

        def optimizer_step(optimizer: Any, closure: Any, *args: Any, **kwargs: Any) -> Any:
            def as_forward(*given: Any, **named: Any) -> Any:
                with forward:
                    return closure(*given, **named)

            return original(optimizer, as_forward, *args, **kwargs)

        return optimizer_step

    def _make_advance(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def advance(data_fetcher: Any) -> Any:
            if self._in_loop:
                try:
                    self._cut(*self._position())
                except Exception as error:  # noqa: BLE001
                    self._fail(error)
            return original(data_fetcher)

        return advance

    def _make_epoch_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(data_fetcher: Any) -> Any:
            result = original(data_fetcher)  # an exception leaves the row open: it is no complete step
            if self._in_loop:
                try:
                    self._end_epoch()
                except Exception as error:  # noqa: BLE001
                    self._fail(error)
            return result

        return run

    def _end_epoch(self) -> None:
        if self._epoch_loop.batch_progress.current.processed == self._processed_at_cut:
            # The loader had nothing more to give: the row that asked for it is no step.
            self._clock.relabel(segment=EPOCH_BOUNDARY)
        else:
            self._cut(*self._position(), EPOCH_BOUNDARY)

    def _make_validation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        validation, actions = self._clock.stage("validation"), self._actions
        assert actions is not None

        def run(*args: Any, **kwargs: Any) -> Any:
            with validation:
                outer = actions.set_validating(True)
                try:
                    return original(*args, **kwargs)
                finally:
                    actions.set_validating(outer)

        return run

    # ---- validate, test, predict ----

    def _make_evaluation_reset(self, original: Callable[..., Any]) -> Callable[..., Any]:
        loader_start = self._clock.stage("loader_start")

        def reset(*args: Any, **kwargs: Any) -> Any:
            with loader_start:
                result = original(*args, **kwargs)
            fetcher = getattr(self._evaluation_loop, "_data_fetcher", None)
            # With `validation_step(dataloader_iter)` the step function fetches, some batches late or none at all.
            self._cut_on_fetch = type(fetcher).__name__ != "_DataLoaderIterDataFetcher"
            self._in_loop = True
            return result

        return reset

    def _evaluation_fetch(self) -> None:
        if self._in_loop and self._cut_on_fetch:
            self._cut_evaluation()

    def batch_started(self) -> None:
        """Called from the on_*_batch_start hooks of validate, test and predict."""
        if self._in_loop and not self._cut_on_fetch:
            self._cut_evaluation()

    def _cut_evaluation(self, segment: int = STEP_ROW) -> None:
        try:
            trainer = self.trainer
            progress = self._evaluation_loop.batch_progress.current
            self._processed_at_cut = progress.processed
            self._cut(self._evaluation_step, trainer.global_step, progress.ready, trainer.current_epoch, segment)
            self._evaluation_step += 1
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def _make_evaluation_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def on_run_end(*args: Any, **kwargs: Any) -> Any:
            if self._in_loop:
                self._in_loop = False
                if self._evaluation_loop.batch_progress.current.processed == self._processed_at_cut:
                    self._clock.relabel(segment=SHUTDOWN)  # asked for a batch, and there was none
                else:
                    self._cut_evaluation(SHUTDOWN)
            return original(*args, **kwargs)

        return on_run_end


def _is_checkpoint_callback(callback: Any) -> bool:
    return any(base.__name__ == "Checkpoint" for base in type(callback).__mro__)
