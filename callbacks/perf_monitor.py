"""`PerfMonitor`: times every step of a Lightning Trainer by stages, always, and writes them for TensorBoard."""

from __future__ import annotations

import functools
import os
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from tb_aiperf.capture.environment import collect_environment
from tb_aiperf.capture.resources import ResourceSampler
from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.capture.totals import StepTotals
from tb_aiperf.records import STAGES, Attempt, StepTable
from tb_aiperf.storage.sink import DurableSink, FolderSink, writer_sink
from tb_aiperf.storage.writer import ResourceSeriesWriter, StepSeriesWriter, write_report

from .base import LightningCallback, hide_empty_hooks, show_hooks
from .destination import Destination, resolve_destination
from .lightning_tap import LightningTap
from .messages import say, warn
from .recorder import Recorder

Hook = TypeVar("Hook", bound=Callable[..., Any])

_LOOP_OF_STAGE = {"fit": "train", "validate": "validate", "test": "test", "predict": "predict"}
_MANUAL_NOTE = "Manual optimisation: a backward pass that bypasses manual_backward is counted as forward."


def _never_raise(hook: Hook) -> Hook:
    """A hook whose failure switches the monitor off instead of reaching the training."""

    @functools.wraps(hook)
    def guarded(self: PerfMonitor, *args: Any, **kwargs: Any) -> None:
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001
            self._switch_off(error)

    return guarded  # type: ignore[return-value]


class PerfMonitor(LightningCallback):  # type: ignore[misc]
    """Times every step by exclusive stages and shows them in TensorBoard's tab "AI performance".

    Works for fit, validate, test and predict, in `lightning.pytorch` and `pytorch_lightning`. It never synchronises the
    device, and after its setup ranks do not communicate for it.

    Args:
        resources: also sample CPU, memory, disk, network and GPU.
        resource_interval: seconds between two samples.
        flush_every: seconds between two writes of the steps so far; a killed process loses no more than that.
        ranks: "all", one global rank or several.
        dirpath: run folder to write to. By default the TensorBoardLogger's own event file, else the first logger's
            folder, else `<default_root_dir>/tb_aiperf/version_<n>`. A fast_dev_run writes nothing unless this is set.
        enabled: False makes the callback inert. By default the environment variable TB_AIPERF decides (0 is off).
        verbose: say at the start where to look and at the end what was found.
    """

    def __init__(
        self,
        *,
        resources: bool = True,
        resource_interval: float = 1.0,
        flush_every: float = 10.0,
        ranks: str | int | Sequence[int] = "all",
        dirpath: str | os.PathLike[str] | None = None,
        enabled: bool | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__()
        if not (resource_interval > 0 and flush_every > 0):
            raise ValueError("PerfMonitor: resource_interval and flush_every are seconds above 0")
        if isinstance(ranks, str) and ranks != "all":
            raise ValueError(f'PerfMonitor: ranks is "all", a rank or a list of ranks, not {ranks!r}')
        self.resources = resources
        self.resource_interval = resource_interval
        self.flush_every = flush_every
        self.ranks = ranks
        self.dirpath = None if dirpath is None else os.path.expanduser(os.fspath(dirpath))
        self.enabled = os.environ.get("TB_AIPERF", "1") != "0" if enabled is None else enabled
        self.verbose = verbose
        self._timer: Callable[[], int] = time.perf_counter_ns
        self._own_folder: tuple[weakref.ref[Any], str] | None = None
        self._off = False
        self._on_rows_failed = False
        self._loop = ""
        self._tap: LightningTap | None = None
        self._recorder: Recorder | None = None
        self._sink: DurableSink | None = None
        self._destination: Destination | None = None
        self._attempt: Attempt | None = None
        self._totals: StepTotals | None = None
        self._hidden: list[str] = []

    # ---- for users ----

    def on_rows(self, table: StepTable) -> None:
        """Override to see every batch of new rows (nanosecond ticks); called in a background thread."""

    def summary(self) -> dict[str, Any]:
        """Figures of the latest attempt so far: steps, median and p95 of the step time in seconds, shares by stage."""
        totals = self._totals
        median, p95 = (totals.quantile_ns(0.5), totals.quantile_ns(0.95)) if totals else (None, None)
        return {
            "loop": self._loop or None,
            "steps": totals.steps if totals else 0,
            "step_time_s": {
                "median": None if median is None else median / 1e9,
                "p95": None if p95 is None else p95 / 1e9,
            },
            "shares": totals.shares() if totals else {},
        }

    # ---- hooks ----

    @_never_raise
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Start an attempt."""
        if not self.enabled:
            return
        if self._tap is not None and self._tap.trainer is not trainer and self._tap.trainer.state.status == "running":
            warn(
                "this PerfMonitor measures another Trainer, which is still running; it leaves the inner one unmeasured"
            )
            return
        self._finish()  # an attempt that ended without a teardown
        self._off = self._on_rows_failed = False
        if any(other is not self and isinstance(other, PerfMonitor) and other._tap for other in trainer.callbacks):
            warn("this Trainer has more than one PerfMonitor; only the first one measures")
            return
        own = self._own_folder[1] if self._own_folder is not None and self._own_folder[0]() is trainer else None
        destination = resolve_destination(trainer, self.dirpath, own)
        if not self._wants(trainer.global_rank):
            return
        if trainer.global_rank == 0 and destination.writer is None and destination.folder is not None:
            self._own_folder = weakref.ref(trainer), destination.folder
        self._destination = destination
        self._loop = _LOOP_OF_STAGE[stage]
        self._start(trainer, pl_module)

    def _wants(self, rank: int) -> bool:
        if self.ranks == "all":
            return True
        return rank == self.ranks if isinstance(self.ranks, int) else rank in self.ranks

    def _start(self, trainer: Any, pl_module: Any) -> None:
        destination = self._destination
        assert destination is not None
        clock = StageClock(on_block=lambda block: recorder.take_block(block), timer=self._timer)
        tap = LightningTap(trainer, clock, self._switch_off, lambda: self._finish(interrupted=True))
        steps = resources = sampler = None
        self._tap = tap  # before anything is patched: a failure from here on is undone by _finish
        tap.install(self._loop)
        if self in trainer.callbacks:  # else somebody forwards the hooks, and may call any of them
            self._hidden = hide_empty_hooks(self)
        attempt = Attempt(
            id=destination.attempt,
            loop=self._loop,
            started_unix_ns=clock.started_unix_ns,
            rank=trainer.global_rank,
            world_size=trainer.world_size,
        )
        self._attempt = attempt
        if destination.folder is not None:
            folder, writer = destination.folder, destination.writer
            self._sink = sink = DurableSink(lambda: writer_sink(writer) or FolderSink(folder), self._writing_failed)
            write_report(sink, "attempt", attempt, attempt)
            steps = StepSeriesWriter(sink, attempt)
            if self.resources:
                device = trainer.strategy.root_device
                ordinals = [device.index or 0] if device.type == "cuda" else None
                sampler = ResourceSampler(origin_ns=clock.origin_ns, gpu_ordinals=ordinals)
                resources = ResourceSeriesWriter(sink, attempt)
        self._totals = StepTotals(clock.stages)
        self._recorder = recorder = Recorder(
            clock.stages,
            steps=steps,
            resources=resources,
            sampler=sampler,
            sample_every=self.resource_interval,
            flush_every=self.flush_every,
            on_rows=self._take_rows,
            on_failure=self._recording_failed,
        )
        recorder.start(clock)
        if self.verbose and trainer.global_rank == 0 and destination.folder is not None:
            say(
                f"timing every step; look at it with: tensorboard --logdir {os.path.dirname(destination.folder) or '.'}"
            )

    @_never_raise
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The training proper begins: its wall-clock is measured from here."""
        if (tap := self._tap_of(trainer)) is not None:
            if not pl_module.automatic_optimization:
                self._note(_MANUAL_NOTE)
            self._write_environment(trainer, pl_module)
            tap.training_started()

    @_never_raise
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The training proper ends."""
        if (tap := self._tap_of(trainer)) is not None:
            tap.training_ended()

    @_never_raise
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Describe the environment of a stand-alone validate."""
        self._describe_evaluation(trainer, pl_module)

    @_never_raise
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Describe the environment of a test."""
        self._describe_evaluation(trainer, pl_module)

    @_never_raise
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """Describe the environment of a predict."""
        self._describe_evaluation(trainer, pl_module)

    def _describe_evaluation(self, trainer: Any, pl_module: Any) -> None:
        if self._tap_of(trainer) is not None and self._loop != "train":
            self._write_environment(trainer, pl_module)

    def on_validation_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a stand-alone validate begins."""
        if (tap := self._tap_of(trainer)) is not None:
            tap.batch_started()

    def on_test_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a test begins."""
        if (tap := self._tap_of(trainer)) is not None:
            tap.batch_started()

    def on_predict_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        """A batch of a predict begins."""
        if (tap := self._tap_of(trainer)) is not None:
            tap.batch_started()

    @_never_raise
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Have the steps so far written."""
        if self._recorder is not None and self._tap_of(trainer) is not None:
            self._recorder.ask_flush()

    @_never_raise
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Lightning calls neither on_train_end nor teardown after an exception or a signal: finish here."""
        if self._tap_of(trainer) is not None:
            self._finish(interrupted=True)

    @_never_raise
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Finish the attempt and put everything back."""
        if self._tap_of(trainer) is None:
            return
        self._finish()
        if self.verbose and trainer.global_rank == 0 and not self._off:
            self._say_summary()

    def __getstate__(self) -> dict[str, Any]:
        """For copies and loader workers: the settings, without the attempt under way."""
        running = ("_tap", "_recorder", "_sink", "_destination", "_attempt", "_totals", "_own_folder")
        state = {name: value for name, value in vars(self).items() if name not in self._hidden}
        return {**state, **dict.fromkeys(running), "_hidden": []}

    # ---- inside ----

    def _tap_of(self, trainer: Any) -> LightningTap | None:
        """The tap, if it is this trainer's: a fit inside another one's fit may share the callback."""
        return self._tap if self._tap is not None and self._tap.trainer is trainer else None

    def _note(self, note: str) -> None:
        """Record a caveat of this attempt's measurement."""
        sink, attempt = self._sink, self._attempt
        if sink is None or attempt is None or self._recorder is None:
            return
        self._attempt = noted = msgspec.structs.replace(attempt, notes=(*attempt.notes, note))
        self._recorder.run_soon(lambda: write_report(sink, "attempt", noted, noted))

    def _write_environment(self, trainer: Any, pl_module: Any) -> None:
        sink, attempt = self._sink, self._attempt
        if sink is not None and attempt is not None and self._recorder is not None:
            environment = collect_environment(trainer, pl_module)
            self._recorder.run_soon(lambda: write_report(sink, "environment", attempt, environment))

    def _take_rows(self, table: StepTable) -> None:
        if self._totals is not None:
            self._totals.update(table)
        if self._on_rows_failed:
            return
        try:
            self.on_rows(table)
        except Exception as error:  # noqa: BLE001  a user's code; the records go on
            self._on_rows_failed = True
            warn("on_rows failed and is not called again; recording goes on", error)

    def _recording_failed(self, error: BaseException) -> None:
        self._off = True
        warn("stops recording; the training goes on", error)

    def _writing_failed(self, error: Exception) -> None:
        folder = self._destination.folder if self._destination is not None else None
        warn(f"cannot write to {folder} ({error}); keeps the records and tries again every {self.flush_every:g} s")

    def _switch_off(self, error: BaseException) -> None:
        if not self._off:
            self._off = True
            warn("cannot measure this training and switches itself off; the training goes on", error)
        try:
            self._finish(interrupted=True)
        except Exception as second:  # noqa: BLE001
            warn("could not finish cleanly", second)

    def _finish(self, *, interrupted: bool = False) -> None:
        """End the attempt: restore the trainer first, then write. May be called more than once."""
        tap, self._tap = self._tap, None
        recorder, self._recorder = self._recorder, None
        sink, self._sink = self._sink, None
        show_hooks(self, self._hidden)
        if tap is not None:
            tap.remove(interrupted=interrupted)
        if recorder is not None:
            recorder.close()
            if recorder.blocks_dropped:
                warn(f"storage was too slow: the rows of {recorder.blocks_dropped} blocks of steps are lost")
        if sink is not None:
            sink.close()
            if lost := sink.waiting + sink.dropped:
                self._off = True
                warn(f"{lost} pieces of its records could not be written and are lost; the training is not affected")

    def _say_summary(self) -> None:
        summary = self.summary()
        if not summary["steps"]:
            return
        titles = {stage.key: stage.title.lower() for stage in STAGES}
        shares = [f"{titles[key]} {share:.0%}" for key, share in list(summary["shares"].items())[:3]]
        times = summary["step_time_s"]
        say(
            f"{summary['steps']} steps ({summary['loop']}), median {times['median'] * 1e3:.3g} ms, "
            f"p95 {times['p95'] * 1e3:.3g} ms; of the step time: {', '.join(shares)}"
        )
