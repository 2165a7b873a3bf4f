"""Step and resource tables as chunks: quantising, encoding, decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from tb_aiperf.records import SEGMENT_KEYS, STAGE_KEYS, STEP_ROW, Attempt, ResourceTable, StepTable
from tb_aiperf.storage import codec
from tb_aiperf.storage.codec import Chunk, Columns, DamagedChunkError, Payload
from tb_aiperf.storage.tags import INDEX_VERSION, RESOURCES, STEPS, ChunkIndex, Count, Int64

TICK_NS = 1000

Table = TypeVar("Table", StepTable, ResourceTable)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Whose rows a payload holds: attempt, its loop and start, number of the chunk, first row's place in the chunk."""

    attempt: str
    loop: str
    started_unix_ns: Int64
    chunk: Count
    offset: Count = 0


class SeriesFormat(Protocol, Generic[Table]):
    """How the tables of one series are kept."""

    name: str

    def prepare(self, table: Table) -> Table:
        """The table in stored units."""

    def concatenate(self, tables: Sequence[Table]) -> Table:
        """One table of all rows."""

    def slice(self, table: Table, first: int, last: int) -> Table:
        """Rows first to last, the last left out."""

    def encode(self, table: Table, place: Place) -> bytes:
        """Payload of prepared rows."""

    def open(self, payload: Payload) -> tuple[Place, Chunk]:
        """A payload, checked, and whose rows it holds. Raises DamagedChunkError."""

    def join(self, chunks: Sequence[Chunk]) -> Table:
        """The rows of opened chunks, one after the other."""

    def index(self, table: Table, attempt: Attempt, sealed: bool) -> ChunkIndex:
        """What the listing says of these rows; of a tail slot only what holds for all that it will hold."""

    def event_step(self, table: Table, rows_before: int) -> int:
        """The event's step; must not fall within an attempt."""


class StepFormat:
    """Steps, in microseconds."""

    name = STEPS

    def prepare(self, table: StepTable) -> StepTable:
        """See `quantise`."""
        return quantise(table)

    def concatenate(self, tables: Sequence[StepTable]) -> StepTable:
        """One table of all rows."""
        return tables[0] if len(tables) == 1 else StepTable.concatenate(tables)

    def slice(self, table: StepTable, first: int, last: int) -> StepTable:
        """Rows first to last, the last left out."""
        return table.select(slice(first, last))

    def encode(self, table: StepTable, place: Place) -> bytes:
        """Payload of rows in microseconds. Starts are kept as gaps to the end of the row before, mostly 0."""
        start, wall = table.start.astype(np.int64), table.wall
        gaps = np.zeros(len(table), np.int64)
        gaps[1:] = start[1:] - (start[:-1] + wall[:-1])
        columns: dict[str, codec.Column] = {
            f"{_STAGE}{key}": row for key, row in zip(table.stages, table.durations, strict=True)
        }
        columns.update(gap=gaps, segment=table.segment)
        columns.update({name: getattr(table, name) for name in _COUNTERS})
        meta = {**msgspec.to_builtins(place), "start": int(start[0]) if len(start) else 0}
        return codec.encode(columns, meta, differences=_COUNTERS)

    def open(self, payload: Payload) -> tuple[Place, Chunk]:
        """See `SeriesFormat`."""
        chunk = Chunk(payload)
        place = _place(chunk)
        if not chunk.places.keys() >= {"gap", "segment", *_COUNTERS} or "f" in chunk.header.kinds:
            raise DamagedChunkError("not a chunk of steps")
        lowest, highest = chunk.bounds("segment")
        if lowest < 0 or highest >= len(SEGMENT_KEYS) or chunk.header.firsts[chunk.places["segment"]] is not None:
            raise DamagedChunkError(f"unknown segment {lowest if lowest < 0 else highest}")
        return place, chunk

    def join(self, chunks: Sequence[Chunk]) -> StepTable:
        """The rows in microseconds; durations uint32, or int64 where one exceeds it."""
        columns = Columns(chunks)
        stages = [name for name in columns.names if name.startswith(_STAGE)]
        durations = columns.compact(stages)
        differences, *counters = columns.integers(("gap", *_COUNTERS))
        differences[1:] += durations.sum(axis=0, dtype=np.int64)[:-1]
        starts = np.array([chunk.meta.get("start", 0) for chunk in chunks], np.int64)
        return StepTable(
            stages=tuple(name.removeprefix(_STAGE) for name in stages),
            durations=durations,
            start=columns.running(differences, starts),
            segment=columns.compact(["segment"])[0].astype(np.uint8),
            tick_ns=TICK_NS,
            **dict(zip(_COUNTERS, counters, strict=True)),
        )

    def index(self, table: StepTable, attempt: Attempt, sealed: bool) -> ChunkIndex:
        """What the listing says of these rows."""
        named = tuple(key for key in table.stages if key not in STAGE_KEYS)
        if not sealed:
            return describe_attempt(attempt, named=named)
        steps = table.step[table.segment == STEP_ROW]
        return describe_attempt(
            attempt,
            named=named,
            rows=len(table),
            steps=len(steps),
            first=int(steps.min()) if len(steps) else None,
            last=int(steps.max()) if len(steps) else None,
        )

    def event_step(self, table: StepTable, rows_before: int) -> int:
        """The first row's step: readers that purge by step then keep the chunk that holds it."""
        return int(table.step[0])


class ResourceFormat:
    """Resource samples: times exact, values as float32."""

    name = RESOURCES

    def prepare(self, table: ResourceTable) -> ResourceTable:
        """Unchanged."""
        return table

    def concatenate(self, tables: Sequence[ResourceTable]) -> ResourceTable:
        """All samples over the union of the quantities; NaN where a table lacks one."""
        keys = dict.fromkeys(key for table in tables for key in table.values)
        return ResourceTable(
            time_us=np.concatenate([table.time_us for table in tables]),
            values={
                key: np.concatenate([table.values.get(key, np.full(len(table), np.nan)) for table in tables])
                for key in keys
            },
        )

    def slice(self, table: ResourceTable, first: int, last: int) -> ResourceTable:
        """Samples first to last, the last left out."""
        values = {key: column[first:last] for key, column in table.values.items()}
        return ResourceTable(time_us=table.time_us[first:last], values=values)

    def encode(self, table: ResourceTable, place: Place) -> bytes:
        """Payload of samples."""
        columns: dict[str, codec.Column] = {"time_us": table.time_us}
        columns.update({f"{_VALUE}{key}": column for key, column in table.values.items()})
        return codec.encode(columns, msgspec.to_builtins(place), differences=("time_us",))

    def open(self, payload: Payload) -> tuple[Place, Chunk]:
        """See `SeriesFormat`."""
        chunk = Chunk(payload)
        if "time_us" not in chunk.places:
            raise DamagedChunkError("not a chunk of resource samples")
        return _place(chunk), chunk

    def join(self, chunks: Sequence[Chunk]) -> ResourceTable:
        """All samples; NaN where a chunk lacks a quantity."""
        columns = Columns(chunks)
        keys = [name.removeprefix(_VALUE) for name in columns.names if name.startswith(_VALUE)]
        return ResourceTable(
            time_us=columns.integers(["time_us"])[0],
            values={key: columns.floats(f"{_VALUE}{key}").astype(np.float64) for key in keys},
        )

    def index(self, table: ResourceTable, attempt: Attempt, sealed: bool) -> ChunkIndex:
        """What the listing says of these samples."""
        return describe_attempt(attempt, rows=len(table) if sealed else 0)

    def event_step(self, table: ResourceTable, rows_before: int) -> int:
        """The number of samples before these."""
        return rows_before


STEP_FORMAT = StepFormat()
RESOURCE_FORMAT = ResourceFormat()
_STAGE = "stage:"
_VALUE = "value:"
_COUNTERS = ("step", "global_step", "batch", "epoch")


def quantise(table: StepTable) -> StepTable:
    """The table with a tick of 1000 ns; one that has it already is returned as it is.

    The moments between stages are floored to microseconds and differenced, not the durations themselves. So a row's
    stages still sum to its wall-clock, rows that touched still touch, long sums have no bias (each is within one tick)
    and a stage of 0 stays 0. Raises ValueError for ticks other than 1 and 1000 ns.
    """
    if table.tick_ns == TICK_NS:
        return table
    if table.tick_ns != 1:
        raise ValueError(f"steps with a tick of {table.tick_ns} ns cannot be stored; ticks of 1 and {TICK_NS} can")
    moments = np.empty((len(table.stages) + 1, len(table)), np.int64)
    moments[0] = table.start
    moments[1:] = table.durations
    np.cumsum(moments, axis=0, out=moments)
    moments //= TICK_NS
    return replace(table, durations=np.diff(moments, axis=0), start=moments[0], tick_ns=TICK_NS)


def describe_attempt(attempt: Attempt, **rows: Any) -> ChunkIndex:
    """The index of a summary of `attempt`; `rows`: the other fields of `ChunkIndex`."""
    return ChunkIndex(
        v=INDEX_VERSION,
        loop=attempt.loop,
        started=attempt.started_unix_ns,
        rank=attempt.rank,
        world=attempt.world_size,
        **rows,
    )


def _place(chunk: Chunk) -> Place:
    try:
        msgspec.convert(chunk.meta.get("start", 0), Int64)
        return msgspec.convert(chunk.meta, Place)
    except msgspec.ValidationError as error:
        raise DamagedChunkError(f"unreadable header: {error}") from None
