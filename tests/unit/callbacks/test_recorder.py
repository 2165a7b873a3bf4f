"""`Recorder`: every row once and in order, whenever it looks."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from callbacks.recorder import Recorder
from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.records import StepTable


class ListWriter:
    """Collects; counts flushes."""

    def __init__(self) -> None:
        self.tables: list[StepTable] = []
        self.flushed_rows: list[int] = []
        self.closed = False

    def append(self, table: StepTable) -> None:
        self.tables.append(table)

    def flush(self) -> None:
        self.flushed_rows.append(sum(map(len, self.tables)))

    def close(self) -> None:
        self.closed = True


def make(
    writer: Any, failures: list[BaseException], block_rows: int = 16, flush_every: float = 0.001
) -> tuple[StageClock, Recorder]:
    holder: list[Recorder] = []
    clock = StageClock(on_block=lambda block: holder[0].take_block(block), block_rows=block_rows)
    recorder = Recorder(clock.stages, failures.append, flush_every)
    recorder.keep_rows(writer, lambda table: None)
    holder.append(recorder)
    return clock, recorder


def test_every_row_arrives_once_and_in_order() -> None:
    """The recorder flushes all the time while rows are cut as fast as they can be."""
    writer, failures = ListWriter(), []
    clock, recorder = make(writer, failures, block_rows=100)
    clock.begin()
    recorder.start(clock)
    for step in range(1, 20_000):
        clock.cut(step, step, step, 0)
        if step % 1000 == 0:
            recorder.ask_flush()
    clock.end()
    recorder.close()
    table = StepTable.concatenate(writer.tables)
    assert failures == []
    assert table.step.tolist() == list(range(20_000))
    np.testing.assert_array_equal(table.start[1:], np.cumsum(table.wall)[:-1])
    assert writer.closed
    assert recorder.blocks_dropped == 0


def test_a_flush_writes_the_rows_of_an_open_block() -> None:
    writer, failures = ListWriter(), []
    clock, recorder = make(writer, failures, flush_every=1000.0)
    clock.begin()
    recorder.start(clock)
    clock.cut(1, 0, 0, 0)
    clock.cut(2, 0, 0, 0)
    recorder.ask_flush()
    deadline = time.monotonic() + 10
    while not writer.flushed_rows and time.monotonic() < deadline:
        time.sleep(0.005)
    assert writer.flushed_rows == [2]
    clock.end()
    recorder.close()
    assert StepTable.concatenate(writer.tables).step.tolist() == [0, 1, 2]


def test_a_failing_writer_is_reported_once_and_ends_recording() -> None:
    class Broken(ListWriter):
        def append(self, table: StepTable) -> None:
            raise OSError("disk full")

    failures: list[BaseException] = []
    clock, recorder = make(Broken(), failures)
    clock.begin()
    recorder.start(clock)
    for step in range(200):
        clock.cut(step, 0, 0, 0)
    clock.end()
    recorder.close()
    assert [str(error) for error in failures] == ["disk full"]


def test_a_stuck_writer_costs_rows_not_memory() -> None:
    release = threading.Event()

    class Stuck(ListWriter):
        def append(self, table: StepTable) -> None:
            release.wait()
            super().append(table)

    failures: list[BaseException] = []
    clock, recorder = make(Stuck(), failures, block_rows=1)
    clock.begin()
    recorder.start(clock)
    for step in range(1000):
        clock.cut(step, 0, 0, 0)
    assert len(recorder._waiting) <= 256
    assert recorder.blocks_dropped > 0
    release.set()
    clock.end()
    recorder.close()
    assert failures == []
