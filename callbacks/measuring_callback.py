"""`MeasuringCallback`: what the callbacks that time a Trainer have in common."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from .base import LightningCallback, hide_empty_hooks, show_hooks
from .measurement import Measurement
from .messages import warn

Hook = TypeVar("Hook", bound=Callable[..., Any])

_LOOP_OF_STAGE = {"fit": "train", "validate": "validate", "test": "test", "predict": "predict"}


def never_raise(hook: Hook) -> Hook:
    """A hook whose failure switches the callback off instead of reaching the training."""

    @functools.wraps(hook)
    def guarded(self: MeasuringCallback, *args: Any, **kwargs: Any) -> None:
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001
            self._switch_off(error)

    return guarded  # type: ignore[return-value]


class MeasuringCallback(LightningCallback):  # type: ignore[misc]
    """Joins the measurement of each attempt of its Trainer and leaves it in the end, whatever happens in between.

    A subclass says in `_begin` what it measures and in `_end` what is to be done with it. `_measurement` is None
    outside an attempt.
    """

    #: Name of the public class, and what it does: a second one on a Trainer would do that twice.
    _role: ClassVar[str]
    _does: ClassVar[str]
    #: State of an attempt under way: not copied with the callback.
    _running_state: ClassVar[tuple[str, ...]] = ("_measurement",)

    def __init__(
        self,
        *,
        ranks: str | int | Sequence[int],
        dirpath: str | os.PathLike[str] | None,
        enabled: bool | None,
        verbose: bool,
    ) -> None:
        super().__init__()
        if isinstance(ranks, str) and ranks != "all":
            raise ValueError(f'{type(self).__name__}: ranks is "all", a rank or a list of ranks, not {ranks!r}')
        self.ranks = ranks
        self.dirpath = None if dirpath is None else os.path.expanduser(os.fspath(dirpath))
        self.enabled = os.environ.get("TB_AIPERF", "1") != "0" if enabled is None else enabled
        self.verbose = verbose
        self._timer: Callable[[], int] = time.perf_counter_ns
        self._off = False
        self._measurement: Measurement | None = None
        self._hidden: list[str] = []

    # ---- for subclasses ----

    def _begin(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        """An attempt begins; `measurement` has been joined."""

    def _end(self, measurement: Measurement, *, interrupted: bool) -> None:
        """The attempt ends; `measurement` is about to be left."""

    # ---- hooks ----

    @never_raise
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Start an attempt."""
        if not self.enabled:
            return
        outer = self._measurement
        if outer is not None and outer.trainer not in (None, trainer) and outer.trainer.state.status == "running":
            warn(
                f"this {self._role} measures another Trainer, which is still running; it leaves the inner one "
                "unmeasured"
            )
            return
        self._finish(interrupted=False)  # an attempt that ended without a teardown
        self._off = False
        if any(self._is_double(other) for other in trainer.callbacks):
            warn(f"this Trainer has more than one {self._role}; only the first one {self._does}")
            return
        measurement = Measurement.of(trainer, self, _LOOP_OF_STAGE[stage], _dirpath(trainer, self), self._timer)
        if self._wants(trainer.global_rank):
            self._measurement = measurement  # before anything is patched: a failure from here on is undone by _finish
            measurement.join(self, trainer)
            if self in trainer.callbacks:  # else somebody forwards the hooks, and may call any of them
                self._hidden = hide_empty_hooks(self)
            self._begin(measurement, trainer, pl_module)

    @never_raise
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The training proper begins: its wall-clock is measured from here."""
        if (measurement := self._measurement_of(trainer)) is not None:
            self._loop_starts(measurement, trainer, pl_module)
            measurement.training_started()

    @never_raise
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The training proper ends."""
        if (measurement := self._measurement_of(trainer)) is not None:
            measurement.training_ended()

    @never_raise
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A stand-alone validate begins, or one inside a fit."""
        self._evaluation_starts(trainer, pl_module)

    @never_raise
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """A test begins."""
        self._evaluation_starts(trainer, pl_module)

    @never_raise
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """A predict begins."""
        self._evaluation_starts(trainer, pl_module)

    def on_validation_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a stand-alone validate begins."""
        if (measurement := self._measurement_of(trainer)) is not None:
            measurement.batch_started(self)

    def on_test_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a test begins."""
        if (measurement := self._measurement_of(trainer)) is not None:
            measurement.batch_started(self)

    def on_predict_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a predict begins."""
        if (measurement := self._measurement_of(trainer)) is not None:
            measurement.batch_started(self)

    @never_raise
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Lightning calls neither on_train_end nor teardown after an exception or a signal: finish here."""
        if self._measurement_of(trainer) is not None:
            self._finish(interrupted=True)

    @never_raise
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Finish the attempt and put everything back."""
        if self._measurement_of(trainer) is not None:
            self._finish(interrupted=False)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and loader workers: the settings, without the attempt under way."""
        state = {name: value for name, value in vars(self).items() if name not in self._hidden}
        return {**state, **dict.fromkeys(self._running_state), "_hidden": []}

    # ---- for the measurement ----

    def measurement_failed(self, error: BaseException) -> None:
        """See `Member`."""
        self._switch_off(error)

    def measurement_interrupted(self) -> None:
        """See `Member`. The exception that ends the loop must not be hidden by one from here."""
        try:
            self._finish(interrupted=True)
        except Exception as error:  # noqa: BLE001
            self._switch_off(error)

    # ---- inside ----

    def _loop_starts(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        """The loop proper begins; the module and its optimizers are ready."""

    def _is_double(self, other: Any) -> bool:
        """Whether another callback does already what this one does."""
        is_other = other is not self and isinstance(other, MeasuringCallback)
        return is_other and other._role == self._role and other._measurement is not None

    def _evaluation_starts(self, trainer: Any, pl_module: Any) -> None:
        measurement = self._measurement_of(trainer)
        if measurement is not None and measurement.loop != "train":
            self._loop_starts(measurement, trainer, pl_module)

    def _wants(self, rank: int) -> bool:
        if self.ranks == "all":
            return True
        return rank == self.ranks if isinstance(self.ranks, int) else rank in self.ranks

    def _measurement_of(self, trainer: Any) -> Measurement | None:
        """The measurement, if it is this trainer's: a fit inside another one's fit may share the callback."""
        measurement = self._measurement
        return measurement if measurement is not None and measurement.trainer is trainer else None

    def _switch_off(self, error: BaseException) -> None:
        if not self._off:
            self._off = True
            warn("cannot measure this training and switches itself off; the training goes on", error)
        try:
            self._finish(interrupted=True)
        except Exception as second:  # noqa: BLE001
            warn("could not finish cleanly", second)

    def _finish(self, *, interrupted: bool) -> None:
        """End the attempt. May be called more than once."""
        measurement, self._measurement = self._measurement, None
        show_hooks(self, self._hidden)
        if measurement is None:
            return
        try:
            self._end(measurement, interrupted=interrupted)
        finally:
            measurement.leave(self, interrupted=interrupted)
            self._off = self._off or measurement.spoilt


def _dirpath(trainer: Any, member: MeasuringCallback) -> str | None:
    """The run folder that any callback of the trainer was told, the asking one's first: they share one."""
    told = [member, *(other for other in trainer.callbacks if isinstance(other, MeasuringCallback) and other.enabled)]
    return next((other.dirpath for other in told if other.dirpath is not None), None)
