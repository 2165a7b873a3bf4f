"""Reading series and reports back: decoded once, merged over attempts, damage named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from tb_aiperf.records import (
    STEP_ROW,
    Attempt,
    CollectiveCalls,
    ProfileWindow,
    ResourceTable,
    StepTable,
    StepTimeline,
)
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.chunks import join, join_tail, open_sealed
from tb_aiperf.storage.codec import UNUSABLE, Chunk, DamagedChunkError, Payload, decode_object
from tb_aiperf.storage.formats import RESOURCE_FORMAT, STEP_FORMAT, SeriesFormat, Table
from tb_aiperf.storage.index import AttemptIndex, RunIndex, SeriesIndex, gaps, read_index, sealed_tags
from tb_aiperf.storage.merge import surviving_rows
from tb_aiperf.storage.profiles import decode_calls, decode_timeline, decode_window
from tb_aiperf.storage.source import SummarySource
from tb_aiperf.storage.tags import ATTEMPT, PROFILE, TIMELINE, chunk_tag, report_tag

#: A million steps of 13 stages decode to 90 MB.
CACHE_BYTES = 512 << 20
#: How much larger than its payload a value is in memory, about.
_GROWTH = 16

Value = TypeVar("Value")


@dataclass(frozen=True)
class AttemptRows:
    """An attempt among loaded steps. steps, first_step, last_step: of its own step rows, superseded ones included."""

    attempt: Attempt
    steps: int
    first_step: int | None
    last_step: int | None


@dataclass(frozen=True)
class LoadedSteps:
    """The steps of one loop of a run: n rows, merged over attempts, ordered by step number, then attempt, then time.

    table: tick 1000 ns. wall: [n] wall-clock in ticks. origin: [n] index into attempts. superseded: step rows left out
    because a newer attempt ran their step again. damage: one sentence per chunk or range of chunks that could not be
    read, damaged_chunks: how many chunks those are.
    """

    run: str
    loop: str
    attempts: tuple[AttemptRows, ...]
    table: StepTable
    wall: npt.NDArray[np.int64]
    origin: npt.NDArray[np.uint16]
    superseded: int
    damage: tuple[str, ...]
    damaged_chunks: int
    #: What the rows were read from: equal identities mean equal rows.
    identity: tuple[object, ...]

    @property
    def unix_us(self) -> npt.NDArray[np.int64]:
        """[n] Unix time of each row's start in microseconds."""
        started = np.array([a.attempt.started_unix_ns // 1000 for a in self.attempts], np.int64)
        unix: npt.NDArray[np.int64] = started[self.origin] + self.table.start
        return unix

    @property
    def nbytes(self) -> int:
        """Bytes held by the columns."""
        return self.table.nbytes + self.wall.nbytes + self.origin.nbytes

    def select(self, rows: Any) -> LoadedSteps:
        """Only the rows that a numpy index picks."""
        return replace(self, table=self.table.select(rows), wall=self.wall[rows], origin=self.origin[rows])


@dataclass(frozen=True)
class _Sealed(Generic[Table]):
    """The sealed chunks of one series of one attempt; table is None while none could be read."""

    table: Table | None
    chunks: frozenset[int]
    bad: dict[int, str]


class _Damage(NamedTuple):
    """chunks: how many are meant."""

    sentence: str
    chunks: int = 1


class RunReader:
    """Reads the runs of a source as they are when first asked for.

    Decoded chunks stay in `cache`, which several readers may share: make a new reader to see news. scope: tells apart
    sources that share a cache.
    """

    def __init__(self, source: SummarySource, cache: BuildCache | None = None, scope: str = "") -> None:
        self._source = source
        self._scope = scope
        self._listed: dict[str, RunIndex | None] = {}
        self._all: list[RunIndex] | None = None
        self._cache = BuildCache(CACHE_BYTES) if cache is None else cache

    def indexes(self) -> list[RunIndex]:
        """All runs that hold summaries of ours, by name. No payload is read."""
        if self._all is None:
            self._all = [read_index(run, tags) for run, tags in sorted(self._source.listing().items())]
            self._listed.update({index.run: index for index in self._all})
        return self._all

    def index(self, run: str) -> RunIndex | None:
        """One run, or None if it holds no summary of ours."""
        if run not in self._listed:
            tags = self._source.listing(run).get(run)
            self._listed[run] = None if tags is None else read_index(run, tags)
        return self._listed[run]

    def file_problems(self, run: str) -> list[str]:
        """What could not be read in the run's files."""
        return self._source.problems(run)

    def load_steps(self, index: RunIndex, loop: str, attempt: str | None = None) -> LoadedSteps:
        """The steps of one loop, of one attempt or merged over all. Raises KeyError where there are none such."""
        attempts = [a for a in index.loops(STEP_FORMAT.name)[loop] if attempt in (None, a.id)]
        if not attempts:
            raise KeyError(attempt)
        identity = tuple((a.id, a.series[STEP_FORMAT.name].identity) for a in attempts)
        return self._cache.get(
            (self._scope, "merged", index.run, loop, attempt),
            identity,
            lambda _: self._merge(index.run, loop, attempts, identity),
            lambda steps: steps.nbytes,
        )

    def load_resources(self, index: RunIndex, attempts: Sequence[str]) -> list[ResourceTable]:
        """The resource samples of each of the given attempts that has any."""
        tables = []
        for attempt in index.attempts:
            if attempt.id in attempts and RESOURCE_FORMAT.name in attempt.series:
                table, _ = self._series(index.run, attempt, RESOURCE_FORMAT)
                if table is not None:
                    tables.append(table)
        return tables

    def report(self, run: str, kind: str, attempt: AttemptIndex) -> Any:
        """The JSON value of a report. None where there is none. Raises DamagedChunkError."""
        written = attempt.reports.get(kind)
        if written is None:
            return None
        return self._object(run, report_tag(kind, attempt.id), "report", written, decode_object)

    def window(self, run: str, attempt: str, number: int) -> ProfileWindow:
        """A window of the profiler. Raises DamagedChunkError, also where it is missing."""
        tag = chunk_tag(PROFILE, attempt, number)
        return self._object(run, tag, "window", None, lambda payload: decode_window(payload, attempt, number))

    def collective_calls(self, run: str, attempt: str, number: int) -> CollectiveCalls | None:
        """The collectives of a window alone, if it has any. Raises DamagedChunkError, also where it is missing."""
        tag = chunk_tag(PROFILE, attempt, number)
        return self._object(run, tag, "calls", None, lambda payload: decode_calls(payload, attempt, number))

    def timeline(self, run: str, attempt: str, number: int) -> StepTimeline:
        """A timeline that a window refers to. Raises DamagedChunkError, also where it is missing."""
        tag = chunk_tag(TIMELINE, attempt, number)
        return self._object(run, tag, "timeline", None, lambda payload: decode_timeline(payload, attempt, number))

    def derived(self, key: Hashable, identity: object, build: Callable[[], Value], size: int) -> Value:
        """What was made of stored values, kept while `identity` is the same. size: of it in bytes, about."""
        value: Value = self._cache.get((self._scope, "derived", key), identity, lambda _: build(), lambda _: size)
        return value

    def _object(self, run: str, tag: str, kind: str, identity: object, decode: Callable[[Payload], Value]) -> Value:
        """What one summary holds. kind: tells apart several readings of one tag. Raises DamagedChunkError."""

        def build(_: Any) -> tuple[Value, int]:
            payload = self._source.read({run: [tag]}).get(run, {}).get(tag)
            if payload is None:
                raise DamagedChunkError("listed, but not there", tag=tag, run=run)
            try:
                return decode(payload), _GROWTH * len(memoryview(payload))
            except UNUSABLE as error:
                raise DamagedChunkError.of(error).located(run, tag) from None

        found: tuple[Value, int] = self._cache.get((self._scope, run, tag, kind), identity, build, lambda pair: pair[1])
        return found[0]

    def attempt_record(self, run: str, attempt: AttemptIndex) -> Attempt:
        """The attempt as it was recorded, or without notes where that record is missing, damaged or another's."""
        listed = Attempt(
            id=attempt.id,
            loop=attempt.loop,
            started_unix_ns=attempt.started_unix_ns,
            rank=attempt.rank,
            world_size=attempt.world_size,
        )
        try:
            recorded = msgspec.convert(self.report(run, ATTEMPT, attempt), Attempt)
        except (DamagedChunkError, msgspec.ValidationError):
            return listed
        same = all(getattr(recorded, name) == getattr(listed, name) for name in ("id", "loop", "started_unix_ns"))
        return recorded if same else listed

    def tail_steps(self, indexes: Sequence[RunIndex]) -> dict[tuple[str, str], StepTable]:
        """(run, attempt) -> step-series rows that no sealed chunk holds, of many runs in one read."""
        wanted = {
            index.run: [tag for a in index.attempts for s in _of(a, STEP_FORMAT.name) for tag in s.live_tail]
            for index in indexes
        }
        wanted = {run: tags for run, tags in wanted.items() if tags}
        payloads = self._source.read(wanted) if wanted else {}
        tails = {}
        for index in indexes:
            for attempt in index.attempts:
                for series in _of(attempt, STEP_FORMAT.name):
                    found = {tag: p for tag, p in payloads.get(index.run, {}).items() if tag in series.tail}
                    table, _ = join_tail(found, STEP_FORMAT, frozenset(series.sealed), index.run, attempt.id)
                    if table is not None:
                        tails[index.run, attempt.id] = table
        return tails

    def chunk_steps(self, run: str, attempt: AttemptIndex, chunk: int) -> StepTable | None:
        """One sealed chunk, for callers that need few; None if damaged."""
        (tag,) = sealed_tags(STEP_FORMAT.name, attempt, [chunk])
        try:
            payload = self._source.read({run: [tag]}).get(run, {}).get(tag)
            return STEP_FORMAT.join([open_sealed(STEP_FORMAT, payload, attempt.id, chunk)])
        except UNUSABLE:
            return None

    def _merge(
        self, run: str, loop: str, attempts: Sequence[AttemptIndex], identity: tuple[object, ...]
    ) -> LoadedSteps:
        tables: list[StepTable] = []
        damage: list[_Damage] = []
        for attempt in attempts:
            table, of_attempt = self._series(run, attempt, STEP_FORMAT)
            tables.append(StepTable.empty((), 1000) if table is None else table)
            damage += of_attempt
        described = [_describe(self.attempt_record(run, a), table) for a, table in zip(attempts, tables, strict=True)]
        superseded = 0
        origin = np.repeat(np.arange(len(tables), dtype=np.uint16), [len(table) for table in tables])
        if len(tables) == 1:
            merged = tables[0]
        else:
            kept = np.concatenate(surviving_rows(tables))
            merged = StepTable.concatenate(tables)
            superseded = int(np.count_nonzero((merged.segment == STEP_ROW) & ~kept))
            if not kept.all():
                merged, origin = merged.select(kept), origin[kept]
        if len(merged) and (np.diff(merged.step) < 0).any():
            order = np.argsort(merged.step, kind="stable")
            merged, origin = merged.select(order), origin[order]
        return LoadedSteps(
            run=run,
            loop=loop,
            attempts=tuple(described),
            table=merged,
            wall=merged.wall,
            origin=origin,
            superseded=superseded,
            damage=tuple(item.sentence for item in damage),
            damaged_chunks=sum(item.chunks for item in damage),
            identity=(run, loop, identity),
        )

    def _series(self, run: str, attempt: AttemptIndex, form: SeriesFormat[Table]) -> tuple[Table | None, list[_Damage]]:
        """All rows of one series of one attempt that can be read, and what cannot."""
        index = attempt.series[form.name]
        sealed: _Sealed[Table] = self._cache.get(
            (self._scope, form.name, run, attempt.id),
            frozenset(index.sealed),
            lambda old: self._decode_sealed(run, attempt, form, index, old),
            lambda value: 0 if value.table is None else _nbytes(value.table),
        )
        damage = {chunk: _Damage(sentence) for chunk, sentence in sealed.bad.items()}
        # Up to the last readable one: a damaged name may say any number.
        for missing in gaps(index.sealed, max(sealed.chunks, default=0)):
            (tag,) = sealed_tags(form.name, attempt, [missing.start])
            name = tag if len(missing) == 1 else f"{tag} to {missing[-1]:06d}"
            damage[missing.start] = _Damage(f"{name} of run {run!r}: missing from the file", len(missing))
        # The tail of the last chunk stands in for it where it is damaged.
        slots = list(index.tail) if damage else index.live_tail
        payloads = self._source.read({run: slots}).get(run, {}) if slots else {}
        tail, problems = join_tail(payloads, form, sealed.chunks, run, attempt.id)
        parts = [part for part in (sealed.table, tail) if part is not None]
        table = None if not parts else parts[0] if len(parts) == 1 else form.concatenate(parts)
        return table, [damage[chunk] for chunk in sorted(damage)] + [_Damage(problem) for problem in problems]

    def _decode_sealed(
        self,
        run: str,
        attempt: AttemptIndex,
        form: SeriesFormat[Table],
        index: SeriesIndex,
        old: _Sealed[Table] | None,
    ) -> _Sealed[Table]:
        """The sealed chunks of `index`, going on from those already decoded."""
        wanted = sorted(index.sealed)
        if old is not None:
            known = old.chunks | old.bad.keys()
            new = [chunk for chunk in wanted if chunk not in known]
            # Chunks arrive in order; should one ever come late, all are decoded anew to keep rows in order.
            if known <= set(wanted) and (not new or not known or min(new) > max(known)):
                wanted = new
            else:
                old = None
        tags = sealed_tags(form.name, attempt, wanted)
        payloads = self._source.read({run: list(tags)}).get(run, {})
        chunks = set() if old is None else set(old.chunks)
        bad = {} if old is None else dict(old.bad)
        opened: dict[str, Chunk] = {}
        damaged: dict[str, DamagedChunkError] = {}
        for tag, number in tags.items():
            try:
                opened[tag] = open_sealed(form, payloads.get(tag), attempt.id, number)
            except UNUSABLE as error:
                damaged[tag] = DamagedChunkError.of(error)
        table, unjoined = join(form, opened)
        damaged.update(unjoined)
        bad.update({tags[tag]: str(error.located(run, tag)) for tag, error in damaged.items()})
        chunks.update(number for tag, number in tags.items() if tag not in damaged)
        tables = [part for part in (None if old is None else old.table, table) if part is not None]
        joined = None if not tables else tables[0] if len(tables) == 1 else form.concatenate(tables)
        return _Sealed(joined, frozenset(chunks), bad)


def _of(attempt: AttemptIndex, series: str) -> list[SeriesIndex]:
    return [attempt.series[series]] if series in attempt.series else []


def _describe(attempt: Attempt, table: StepTable) -> AttemptRows:
    steps = table.step[table.segment == STEP_ROW]
    if not len(steps):
        return AttemptRows(attempt, 0, None, None)
    return AttemptRows(attempt, len(steps), int(steps.min()), int(steps.max()))


def _nbytes(table: StepTable | ResourceTable) -> int:
    if isinstance(table, StepTable):
        return table.nbytes
    return table.time_us.nbytes + sum(column.nbytes for column in table.values.values())
