"""`Recorder`: a background thread that takes rows from the clock and hands them to storage."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tb_aiperf.capture.stage_clock import RowBlock, StageClock, table_of
from tb_aiperf.records import ResourceTable, StepTable

#: Full blocks that may wait for storage: some 20 MB. Beyond it, a stuck disk must not eat the training's memory.
_MOST_WAITING = 256
#: A lock cannot wait for ever, as `flush_every=inf` asks.
_LONGEST_WAIT_S = 3600.0


class SeriesWriter(Protocol):
    """Where rows go: appended, flushed so that a kill loses nothing, closed."""

    def append(self, table: Any) -> None:
        """Take rows."""

    def flush(self) -> None:
        """Make all rows taken so far safe."""

    def close(self) -> None:
        """Flush for the last time."""


class Sampler(Protocol):
    """Samples resources; see `tb_aiperf.capture.resources`."""

    def sample(self) -> Any:
        """Take one sample."""

    def take(self) -> ResourceTable:
        """Samples since the last call."""


class Recorder:
    """Moves rows and resource samples to storage beside the training.

    steps, resources  writers, or None to keep nothing
    on_rows           called with every batch of new rows, in the recorder's thread
    flush_every       seconds between flushes: what a SIGKILL may cost
    on_failure        called once with the first exception; recording then ends, the training goes on
    """

    def __init__(
        self,
        clock_stages: tuple[str, ...],
        *,
        steps: SeriesWriter | None,
        resources: SeriesWriter | None,
        sampler: Sampler | None,
        sample_every: float,
        flush_every: float,
        on_rows: Callable[[StepTable], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._stages = clock_stages
        self._steps = steps
        self._resources = resources
        self._sampler = sampler
        self._sample_every = sample_every
        self._flush_every = flush_every
        self._on_rows = on_rows
        self._on_failure = on_failure
        self._clock: StageClock | None = None
        self._waiting: deque[RowBlock] = deque()
        self._jobs: deque[Callable[[], None]] = deque()
        self._partly_taken: RowBlock | None = None
        self._taken = 0
        self._wake = threading.Event()
        self._stop = False
        self._flush_asked = False
        self._failed = False
        self.blocks_dropped = 0
        self._thread = threading.Thread(target=self._run, name="tb_aiperf-recorder", daemon=True)

    def start(self, clock: StageClock) -> None:
        """Begin to take rows from `clock`, whose `on_block` is `take_block`."""
        self._clock = clock
        self._thread.start()

    def take_block(self, block: RowBlock) -> None:
        """Accept a full block; called in the training thread, returns at once."""
        if self._failed:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self.blocks_dropped += 1
            return
        self._waiting.append(block)
        self._wake.set()

    def ask_flush(self) -> None:
        """Have the rows so far written soon; returns at once."""
        self._flush_asked = True
        self._wake.set()

    def run_soon(self, job: Callable[[], None]) -> None:
        """Have a job run in the recorder's thread, where all writing happens, and its outcome flushed."""
        self._jobs.append(job)
        self.ask_flush()

    def close(self, timeout: float = 30.0) -> None:
        """Write everything and end the thread; waits at most `timeout` seconds for it."""
        self._stop = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            next_sample = next_flush = time.monotonic()
            next_flush += self._flush_every
            while not self._stop:
                due = min(next_flush, next_sample) if self._sampler else next_flush
                self._wake.wait(min(max(0.0, due - time.monotonic()), _LONGEST_WAIT_S))
                self._wake.clear()
                now = time.monotonic()
                if self._sampler is not None and now >= next_sample:
                    self._sampler.sample()
                    next_sample = max(next_sample + self._sample_every, now)
                self._append_blocks()
                if self._flush_asked or now >= next_flush:
                    self._flush_asked = False
                    self._flush()
                    next_flush = time.monotonic() + self._flush_every
            self._finish()
        except BaseException as error:  # noqa: BLE001
            self._failed = True
            self._waiting.clear()
            self._on_failure(error)

    def _append_blocks(self) -> list[RowBlock]:
        """Take all full blocks, and return them."""
        taken = []
        while self._waiting:
            block = self._waiting.popleft()
            first = self._taken if block is self._partly_taken else 0
            self._partly_taken, self._taken = None, 0
            self._append(block, first)
            taken.append(block)
        return taken

    def _append_open_block(self) -> None:
        """Take what the clock's present block holds; the rest follows when the block is full."""
        assert self._clock is not None
        block = self._clock.block  # read before the queue: whatever was full before it is then in the queue
        if any(block is each for each in self._append_blocks()):
            return
        first = self._taken if block is self._partly_taken else 0
        rows = self._append(block, first)
        self._partly_taken, self._taken = block, first + rows

    def _append(self, block: RowBlock, first: int) -> int:
        rows = block.rows(first)
        if len(rows):
            table = table_of(rows, self._stages)
            if self._steps is not None:
                self._steps.append(table)
            self._on_rows(table)
        return len(rows)

    def _append_everything(self) -> None:
        while self._jobs:
            self._jobs.popleft()()
        self._append_open_block()
        self._append_samples()

    def _append_samples(self) -> None:
        if self._sampler is not None and self._resources is not None:
            samples = self._sampler.take()
            if len(samples):
                self._resources.append(samples)

    def _flush(self) -> None:
        self._append_everything()
        for writer in (self._resources, self._steps):
            if writer is not None:
                writer.flush()

    def _finish(self) -> None:
        if self._sampler is not None:
            self._sampler.sample()
        self._append_everything()
        for writer in (self._resources, self._steps):
            if writer is not None:
                writer.close()
