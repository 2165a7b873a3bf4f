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
FLUSH_EVERY_S = 10.0
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
    """Moves rows and resource samples to storage beside the training; what is to be kept is said before `start`,
    or between it and the first row.

    on_failure   called once with the first exception; recording then ends, the training goes on
    flush_every  seconds between flushes: what a SIGKILL may cost
    """

    def __init__(
        self,
        clock_stages: tuple[str, ...],
        on_failure: Callable[[BaseException], None],
        flush_every: float = FLUSH_EVERY_S,
    ) -> None:
        self.flush_every = flush_every
        self._stages = clock_stages
        self._on_failure = on_failure
        self._steps: SeriesWriter | None = None
        self._on_rows: Callable[[StepTable], None] | None = None
        self._resources: SeriesWriter | None = None
        self._sampler: Sampler | None = None
        self._sample_every = 1.0
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

    def keep_rows(self, writer: SeriesWriter | None, on_rows: Callable[[StepTable], None]) -> None:
        """Have rows written, unless `writer` is None, and `on_rows` called with each batch of them in this thread."""
        self._steps, self._on_rows = writer, on_rows

    def keep_resources(self, writer: SeriesWriter, sampler: Sampler, every: float) -> None:
        """Have resources sampled `every` so many seconds, and written."""
        self._resources, self._sampler, self._sample_every = writer, sampler, every
        self._wake.set()

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
            next_sample = flushed = time.monotonic()
            while not self._stop:
                due = flushed + self.flush_every
                due = min(due, next_sample) if self._sampler is not None else due
                self._wake.wait(min(max(0.0, due - time.monotonic()), _LONGEST_WAIT_S))
                self._wake.clear()
                now = time.monotonic()
                if self._sampler is not None and now >= next_sample:
                    self._sampler.sample()
                    next_sample = max(next_sample + self._sample_every, now)
                self._append_blocks()
                if self._flush_asked or now >= flushed + self.flush_every:
                    self._flush_asked = False
                    self._flush()
                    flushed = time.monotonic()
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
            if self._on_rows is not None:
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
