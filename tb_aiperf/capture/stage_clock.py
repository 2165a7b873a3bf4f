"""`StageClock`: exclusive wall-clock time by stage, in integer nanoseconds.

One stack of stages and one last timestamp. Each transition charges the time since the last one to the stage on top, so
every nanosecond between two cuts belongs to exactly one stage and a row's stages sum to its wall-clock by construction.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from threading import get_ident
from types import TracebackType
from typing import Protocol

import numpy as np

from tb_aiperf.records import STAGE_KEYS, STEP_ROW, StepTable

#: Columns of a row in front of its stages.
_ROW_HEAD = ("start", "step", "global_step", "batch", "epoch", "segment")


class StageContext:
    """Enters and leaves one stage; made once per stage and shared, since all state is on the clock's stack."""

    __slots__ = ("_clock", "_index")

    def __init__(self, clock: StageClock, index: int) -> None:
        self._clock = clock
        self._index = index

    # The bodies of `push` and `pop` once more: a method call saved on each of some ten transitions a step.
    def __enter__(self) -> None:
        clock = self._clock
        if get_ident() != clock._thread:
            return
        now = clock._timer()
        clock._spent[clock._top] += now - clock._last
        clock._last = now
        clock._stack.append(clock._top)
        clock._top = self._index
        if clock.observer is not None:
            clock.observer.entered(self._index)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        clock = self._clock
        if get_ident() != clock._thread:
            return
        now = clock._timer()
        clock._spent[clock._top] += now - clock._last
        clock._last = now
        stack = clock._stack
        if stack and clock.observer is not None:
            clock.observer.left()
        clock._top = stack.pop() if stack else clock.base


class StageObserver(Protocol):
    """Follows a clock's stack of stages; called in the timed thread, inside the stage in question."""

    def entered(self, index: int) -> None:
        """A stage was entered."""

    def left(self) -> None:
        """The stage entered last is being left."""

    def cleared(self) -> None:
        """A cut left all stages."""


class RowBlock:
    """A preallocated block of rows, each a run of 64-bit integers."""

    __slots__ = ("_buffer", "capacity", "count", "width")

    def __init__(self, capacity: int, width: int) -> None:
        self.capacity = capacity
        self.width = width
        self.count = 0
        self._buffer = bytearray(capacity * width * 8)

    def write(self, packer: struct.Struct, values: Sequence[int]) -> None:
        """Append one row. The count rises last: a reader in another thread sees whole rows only."""
        packer.pack_into(self._buffer, self.count * self.width * 8, *values)
        self.count += 1

    def rows(self, first: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Copy of the rows from `first` on, [n, width]."""
        count = self.count
        view = np.frombuffer(self._buffer, np.int64, count * self.width).reshape(count, self.width)
        return view[first:].copy()


class StageClock:
    """Times the stages of a loop on one thread.

    stages       stage keys; the last one catches what no other stage covers
    on_block     called with a full block, in the timed thread; it should hand the block on and return
    block_rows   rows per block. One block is preallocated; memory grows only by what `on_block` keeps
    timer        a monotonic clock in integer nanoseconds

    Transitions from another thread than the one that called `begin` are ignored, so that a logger used from a thread
    of its own cannot disturb the stack.
    """

    def __init__(
        self,
        stages: Sequence[str] = STAGE_KEYS,
        *,
        on_block: Callable[[RowBlock], None] | None = None,
        block_rows: int = 512,
        timer: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if not stages or len(set(stages)) != len(stages):
            raise ValueError(f"stages must be distinct and at least one, not {tuple(stages)!r}")
        if block_rows < 1:
            raise ValueError(f"block_rows must be at least 1, not {block_rows}")
        self.stages = tuple(stages)
        self.index = {key: position for position, key in enumerate(self.stages)}
        self.base = len(self.stages) - 1
        self._contexts = tuple(StageContext(self, position) for position in range(len(self.stages)))
        self._on_block = on_block
        self._block_rows = block_rows
        self._timer = timer
        self._packer = struct.Struct(f"={len(_ROW_HEAD) + len(self.stages)}q")
        self._zeros = [0] * len(self.stages)
        self._spent = list(self._zeros)
        self._stack: list[int] = []
        self._top = self.base
        self._thread = -1
        #: Wall-clock at row time 0, in nanoseconds since the epoch.
        self.started_unix_ns = 0
        self._origin = 0
        self._row_start = 0
        self._last = 0
        self._label = (0, 0, 0, 0, STEP_ROW)
        #: Follows the stack while it is set.
        self.observer: StageObserver | None = None
        self.block = self._new_block()

    def _new_block(self) -> RowBlock:
        return RowBlock(self._block_rows, len(_ROW_HEAD) + len(self.stages))

    @property
    def running(self) -> bool:
        """Whether time is being charged."""
        return self._thread != -1

    @property
    def origin_ns(self) -> int:
        """The timer's value at row time 0."""
        return self._origin

    def begin(self, *, step: int = 0, global_step: int = 0, batch: int = 0, epoch: int = 0, segment: int = 0) -> None:
        """Start timing on the calling thread, in a first row with the given label."""
        self._thread = get_ident()
        self._stack.clear()
        self._top = self.base
        self._spent = list(self._zeros)
        self._label = (step, global_step, batch, epoch, segment)
        self.started_unix_ns = time.time_ns()
        self._origin = self._row_start = self._last = self._timer()

    def push(self, index: int) -> None:
        """Enter the stage with this index: the time until now belongs to the stage left."""
        if get_ident() != self._thread:
            return
        now = self._timer()
        self._spent[self._top] += now - self._last
        self._last = now
        self._stack.append(self._top)
        self._top = index
        if self.observer is not None:
            self.observer.entered(index)

    def pop(self) -> None:
        """Leave the stage entered last. Without one (a cut has emptied the stack) nothing changes."""
        if get_ident() != self._thread:
            return
        now = self._timer()
        self._spent[self._top] += now - self._last
        self._last = now
        stack = self._stack
        if stack and self.observer is not None:
            self.observer.left()
        self._top = stack.pop() if stack else self.base

    def stage(self, key: str) -> StageContext:
        """Context manager for a stage.

        Raises KeyError for an unknown stage.
        """
        return self._contexts[self.index[key]]

    @property
    def depth(self) -> int:
        """Number of stages entered and not left."""
        return len(self._stack)

    @property
    def current(self) -> int:
        """Index of the stage that is being charged."""
        return self._top

    def relabel(self, *, segment: int) -> None:
        """Say that the open row is another segment than was thought when it began."""
        self._label = (*self._label[:4], segment)

    def cut(self, step: int, global_step: int, batch: int, epoch: int, segment: int = STEP_ROW) -> None:
        """End the open row now and begin one with the given label.

        The stack is emptied: a stage left open by an exception must not reach into the next row.
        """
        self._close_row()
        self._label = (step, global_step, batch, epoch, segment)

    def end(self) -> None:
        """End the open row and stop timing; the rows stay readable."""
        if not self.running:
            return
        self._close_row()
        self._thread = -1

    def _close_row(self) -> None:
        now = self._timer()
        spent = self._spent
        spent[self._top] += now - self._last
        block = self.block
        if block.count == block.capacity:  # nobody takes the rows: drop them rather than grow
            block = self.block = self._new_block()
        block.write(self._packer, (self._row_start - self._origin, *self._label, *spent))
        self._spent = list(self._zeros)
        self._row_start = self._last = now
        if self._stack:
            self._stack.clear()
            if self.observer is not None:
                self.observer.cleared()
        self._top = self.base
        if block.count == block.capacity and self._on_block is not None:
            # Handed over before it is replaced: a reader that looks at `block` first misses no row.
            self._on_block(block)
            self.block = self._new_block()


def table_of(rows: np.ndarray[tuple[int, int], np.dtype[np.int64]], stages: Sequence[str]) -> StepTable:
    """The rows of a block, [n, head + stages], as a `StepTable` in nanoseconds."""
    head = {name: rows[:, position] for position, name in enumerate(_ROW_HEAD)}
    head["segment"] = head["segment"].astype(np.uint8)
    return StepTable(stages=tuple(stages), durations=rows[:, len(_ROW_HEAD) :].T, tick_ns=1, **head)
