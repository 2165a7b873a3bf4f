"""`Measurement`: one attempt of a Trainer, shared by the callbacks that measure it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.records import Attempt
from tb_aiperf.storage.sink import DurableSink, FolderSink, writer_sink
from tb_aiperf.storage.writer import write_report

from .destination import Destination, resolve_destination
from .lightning_tap import LightningTap
from .messages import say, warn
from .recorder import Recorder


class Member(Protocol):
    """A callback that takes part in a measurement."""

    def measurement_failed(self, error: BaseException) -> None:
        """The tap failed and has been removed."""

    def measurement_interrupted(self) -> None:
        """The loop ended with an exception."""


class Measurement:
    """The clock, the tap and the storage of one attempt.

    It starts with the first member that joins and ends with the last that leaves: the trainer is then as it was, and
    everything is written.

    destination  where the records of this rank go
    attempt      as recorded; `note` adds to it
    """

    def __init__(self, trainer: Any, loop: str, destination: Destination, timer: Callable[[], int]) -> None:
        self.loop = loop
        self.destination = destination
        self.clock = StageClock(on_block=lambda block: self.recorder.take_block(block), timer=timer)
        self.tap: LightningTap | None = None
        self.recorder = Recorder(self.clock.stages, on_failure=self._recording_failed)
        self.sink: DurableSink | None = None
        self.attempt: Attempt | None = None
        self._trainer = weakref.ref(trainer)
        self._members: list[Member] = []
        self._asked: list[weakref.ref[Any]] = []
        self._training = False
        #: Whether records are incomplete or the measurement failed.
        self.spoilt = False

    @classmethod
    def of(cls, trainer: Any, member: Any, loop: str, dirpath: str | None, timer: Callable[[], int]) -> Measurement:
        """The measurement of the attempt that begins, the same for every member that asks in its `setup`.

        Ranks agree here, so every rank must ask, whether it then joins or not. Raises TimeoutError, OSError.
        """
        current = _MEASUREMENTS.get(trainer)
        if current is not None and current.loop == loop and not any(asked() is member for asked in current._asked):
            current._asked.append(weakref.ref(member))
            return current
        if current is not None:
            current.close(interrupted=True)  # an attempt that ended without a teardown
        destination = resolve_destination(trainer, dirpath, _OWN_FOLDERS.get(trainer))
        if trainer.global_rank == 0 and destination.writer is None and destination.folder is not None:
            _OWN_FOLDERS[trainer] = destination.folder
        current = _MEASUREMENTS[trainer] = cls(trainer, loop, destination, timer)
        current._asked.append(weakref.ref(member))
        return current

    @property
    def trainer(self) -> Any:
        """The Trainer, None if it is gone."""
        return self._trainer()

    def join(self, member: Member, trainer: Any) -> None:
        """Take part. The first member has the trainer tapped and the clock started."""
        self._members.append(member)
        if len(self._members) > 1:
            return
        self.tap = tap = LightningTap(trainer, self.clock, self._fail, self._interrupt)
        tap.install(self.loop)
        self.attempt = attempt = Attempt(
            id=self.destination.attempt,
            loop=self.loop,
            started_unix_ns=self.clock.started_unix_ns,
            rank=trainer.global_rank,
            world_size=trainer.world_size,
        )
        if self.destination.folder is not None:
            folder, writer = self.destination.folder, self.destination.writer
            self.sink = DurableSink(lambda: writer_sink(writer) or FolderSink(folder), self._writing_failed)
            write_report(self.sink, "attempt", attempt, attempt)
        self.recorder.start(self.clock)

    def leave(self, member: Member, *, interrupted: bool = False) -> None:
        """Take no part any more. The last to leave has everything put back and written."""
        if member in self._members:
            self._members.remove(member)
            if not self._members:
                self.close(interrupted=interrupted)

    def close(self, *, interrupted: bool = False) -> None:
        """End the attempt: restore the trainer first, then write. May be called more than once."""
        trainer = self.trainer
        if trainer is not None and _MEASUREMENTS.get(trainer) is self:
            del _MEASUREMENTS[trainer]
        self._members.clear()
        if self.tap is not None:
            self.tap.remove(interrupted=interrupted)
        self.recorder.close()
        if self.recorder.blocks_dropped:
            warn(f"storage was too slow: the rows of {self.recorder.blocks_dropped} blocks of steps are lost")
        sink, self.sink = self.sink, None
        if sink is not None:
            sink.close()
            if lost := sink.waiting + sink.dropped:
                self.spoilt = True
                warn(f"{lost} pieces of its records could not be written and are lost; the training is not affected")

    def training_started(self) -> None:
        """Called from on_train_start by every member; the first counts."""
        if self.tap is not None and not self._training:
            self._training = True
            self.tap.training_started()

    def training_ended(self) -> None:
        """Called from on_train_end by every member; the first counts."""
        if self.tap is not None and self._training:
            self._training = False
            self.tap.training_ended()

    def batch_started(self, member: Member) -> None:
        """Called from the on_*_batch_start hooks of validate, test and predict by every member; one counts."""
        if self.tap is not None and self._members and self._members[0] is member:
            self.tap.batch_started()

    def note(self, note: str) -> None:
        """Record a caveat of this attempt's measurement, once."""
        if self.attempt is not None and note not in self.attempt.notes:
            self.attempt = msgspec.structs.replace(self.attempt, notes=(*self.attempt.notes, note))
            self.report("attempt", self.attempt)

    def report(self, kind: str, value: Any) -> None:
        """Have a report of this attempt written beside the training."""
        sink, attempt = self.sink, self.attempt
        if sink is None or attempt is None:
            return

        def write() -> None:
            write_report(sink, kind, attempt, value)
            sink.flush()

        self.recorder.run_soon(write)

    def say_where(self, what: str) -> None:
        """Tell the person at the terminal what is measured and where to look."""
        folder = self.destination.folder
        if folder is not None:
            say(f"{what}; look at it with: tensorboard --logdir {os.path.dirname(folder) or '.'}")

    def _interrupt(self) -> None:
        for member in list(self._members):
            member.measurement_interrupted()

    def _fail(self, error: BaseException) -> None:
        """The tap is at fault: everybody stops measuring."""
        self.spoilt = True
        members = list(self._members)
        try:
            self.close(interrupted=True)
        except Exception as second:  # noqa: BLE001
            warn("could not finish cleanly", second)
        for member in members:
            member.measurement_failed(error)

    def _recording_failed(self, error: BaseException) -> None:
        self.spoilt = True
        warn("stops recording; the training goes on", error)

    def _writing_failed(self, error: Exception) -> None:
        every = self.recorder.flush_every
        warn(
            f"cannot write to {self.destination.folder} ({error}); keeps the records and tries again every {every:g} s"
        )


#: The attempt under way of each Trainer.
_MEASUREMENTS: weakref.WeakKeyDictionary[Any, Measurement] = weakref.WeakKeyDictionary()
#: The folder made for a Trainer without one of its own: later attempts go there, too.
_OWN_FOLDERS: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
