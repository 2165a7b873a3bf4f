"""Writing series and reports as summaries.

Rows are collected into chunks. A full chunk is *sealed*: written once under a tag of its own, so that TensorBoard's
sampling, which works within a tag, loses nothing. What a `flush` finds unsealed goes into the next *tail slot*: only
the rows since the flush before, so slow steps are not written over and over. A chunk at least half full is sealed at
once instead, so fast steps are written exactly once.
"""

from __future__ import annotations

from typing import Any, Generic

import msgspec

from tb_aiperf.records import Attempt, ResourceTable, StepTable
from tb_aiperf.storage.codec import MAX_ROWS, encode_object
from tb_aiperf.storage.formats import (
    RESOURCE_FORMAT,
    STEP_FORMAT,
    Place,
    SeriesFormat,
    Table,
    describe_attempt,
)
from tb_aiperf.storage.sink import SummarySink
from tb_aiperf.storage.tags import chunk_tag, report_tag, tail_tag


class SeriesWriter(Generic[Table]):
    """Writes the tables of one series of one attempt. Not thread-safe: call it from one thread.

    chunk_rows: rows of a full chunk. max_tail_slots: flushes after which a chunk is sealed even if short.
    What the sink raises passes through.
    """

    def __init__(
        self, form: SeriesFormat[Table], sink: SummarySink, attempt: Attempt, chunk_rows: int, max_tail_slots: int
    ) -> None:
        if not 1 <= chunk_rows <= MAX_ROWS or max_tail_slots < 1:
            raise ValueError(f"chunk_rows must lie in [1, {MAX_ROWS}] and max_tail_slots be at least 1")
        self._form: SeriesFormat[Table] = form
        self._sink = sink
        self._attempt = attempt
        self._chunk_rows = chunk_rows
        self._max_tail_slots = max_tail_slots
        self._pending: list[Table] = []
        self._unsealed = 0
        self._in_tail = 0
        self._slots = 0
        self._chunk = 0
        self._sealed_rows = 0

    def append(self, table: Table) -> None:
        """Take any number of rows; they must follow those before in time. Seals the chunks they fill."""
        if not len(table):
            return
        self._pending.append(self._form.prepare(table))
        self._unsealed += len(table)
        if self._unsealed >= self._chunk_rows:
            rows = self._collect()
            for first in range(0, len(rows) - self._chunk_rows + 1, self._chunk_rows):
                self._seal(self._form.slice(rows, first, first + self._chunk_rows))
            left = len(rows) % self._chunk_rows
            self._pending = [self._form.slice(rows, len(rows) - left, len(rows))] if left else []
            self._unsealed = left

    def flush(self) -> None:
        """Write what is unsealed and flush the sink: all rows appended so far then survive a SIGKILL."""
        if self._unsealed == self._in_tail:
            pass
        elif self._unsealed * 2 >= self._chunk_rows or self._slots == self._max_tail_slots:
            self._seal_rest()
        else:
            rows = self._form.slice(self._collect(), self._in_tail, self._unsealed)
            payload = self._form.encode(rows, self._place(self._in_tail))
            content = msgspec.json.encode(self._form.index(rows, self._attempt, sealed=False))
            step = self._form.event_step(rows, self._sealed_rows + self._in_tail)
            self._sink.add(tail_tag(self._form.name, self._attempt.id, self._slots), payload, content, step)
            self._slots += 1
            self._in_tail = self._unsealed
        self._sink.flush()

    def close(self) -> None:
        """Seal the rest and flush the sink. The writer can go on afterwards."""
        self._seal_rest()
        self._sink.flush()

    def _collect(self) -> Table:
        self._pending = [self._form.concatenate(self._pending)]
        return self._pending[0]

    def _seal_rest(self) -> None:
        if self._unsealed:
            self._seal(self._collect())
            self._pending, self._unsealed = [], 0

    def _seal(self, rows: Table) -> None:
        tag = chunk_tag(self._form.name, self._attempt.id, self._chunk)
        content = msgspec.json.encode(self._form.index(rows, self._attempt, sealed=True))
        step = self._form.event_step(rows, self._sealed_rows)
        self._sink.add(tag, self._form.encode(rows, self._place(0)), content, step)
        self._chunk += 1
        self._sealed_rows += len(rows)
        self._in_tail = self._slots = 0

    def _place(self, offset: int) -> Place:
        return Place(
            attempt=self._attempt.id,
            loop=self._attempt.loop,
            started_unix_ns=self._attempt.started_unix_ns,
            chunk=self._chunk,
            offset=offset,
        )


class StepSeriesWriter(SeriesWriter[StepTable]):
    """Writes the steps of one attempt; tables may have a tick of 1 or 1000 ns. See `SeriesWriter`."""

    def __init__(self, sink: SummarySink, attempt: Attempt, chunk_rows: int = 512, max_tail_slots: int = 32) -> None:
        super().__init__(STEP_FORMAT, sink, attempt, chunk_rows, max_tail_slots)


class ResourceSeriesWriter(SeriesWriter[ResourceTable]):
    """Writes the resource samples of one attempt. See `SeriesWriter`."""

    def __init__(self, sink: SummarySink, attempt: Attempt, chunk_rows: int = 512, max_tail_slots: int = 32) -> None:
        super().__init__(RESOURCE_FORMAT, sink, attempt, chunk_rows, max_tail_slots)


def write_report(sink: SummarySink, kind: str, attempt: Attempt, value: Any) -> None:
    """Write one JSON-able value (msgspec structs included) of an attempt; a later one of the same kind replaces it."""
    content = msgspec.json.encode(describe_attempt(attempt))
    sink.add(report_tag(kind, attempt.id), encode_object(value), content, 0)
