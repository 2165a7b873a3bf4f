"""Reading series and reports back: decoded once, merged over attempts, damage named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import msgspec
import numpy as np
import numpy.typing as npt

from tb_aiperf.records import STEP_ROW, Attempt, ResourceTable, StepTable
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.codec import Chunk, DamagedChunkError, Payload, decode_object
from tb_aiperf.storage.formats import RESOURCE_FORMAT, STEP_FORMAT, SeriesFormat, Table
from tb_aiperf.storage.index import AttemptIndex, RunIndex, SeriesIndex, read_index, sealed_tags
from tb_aiperf.storage.merge import surviving_rows
from tb_aiperf.storage.source import SummarySource
from tb_aiperf.storage.tags import ATTEMPT, report_tag

#: A million steps of 13 stages decode to 90 MB.
CACHE_BYTES = 512 << 20


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
    because a newer attempt ran their step again. damage: one sentence per chunk that could not be read.
    """

    run: str
    loop: str
    attempts: tuple[AttemptRows, ...]
    table: StepTable
    wall: npt.NDArray[np.int64]
    origin: npt.NDArray[np.uint16]
    superseded: int
    damage: tuple[str, ...]
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


class RunReader:
    """Reads the runs of a source as they are when first asked for.

    Decoded chunks stay in `cache`, which several readers may share: make a new reader to see news. scope: tells apart
    sources that share a cache.
    """

    def __init__(self, source: SummarySource, cache: BuildCache | None = None, scope: str = "") -> None:
        self._source = source
        self._scope = scope
        self._listed: dict[str, RunIndex | None] = {}
        self._cache = BuildCache(CACHE_BYTES) if cache is None else cache

    def indexes(self) -> list[RunIndex]:
        """All runs that hold summaries of ours, by name. No payload is read."""
        return [read_index(run, tags) for run, tags in sorted(self._source.listing().items())]

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
        tag = report_tag(kind, attempt.id)

        def build(_: Any) -> tuple[Any, int]:
            payload = self._source.read({run: [tag]}).get(run, {}).get(tag)
            if payload is None:
                raise DamagedChunkError("listed, but not there", tag=tag, run=run)
            try:
                return decode_object(payload), len(memoryview(payload))
            except DamagedChunkError as error:
                raise error.located(run, tag) from None

        return self._cache.get((self._scope, run, tag), written, build, lambda pair: pair[1])[0]

    def attempt_record(self, run: str, attempt: AttemptIndex) -> Attempt:
        """The attempt as it was recorded, or without notes where that record is missing or damaged."""
        try:
            return msgspec.convert(self.report(run, ATTEMPT, attempt), Attempt)
        except (DamagedChunkError, msgspec.ValidationError):
            return Attempt(
                id=attempt.id,
                loop=attempt.loop,
                started_unix_ns=attempt.started_unix_ns,
                rank=attempt.rank,
                world_size=attempt.world_size,
            )

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
                    table, _ = _join_tail(found, STEP_FORMAT, frozenset(series.sealed), index.run)
                    if table is not None:
                        tails[index.run, attempt.id] = table
        return tails

    def chunk_steps(self, run: str, attempt: AttemptIndex, chunk: int) -> StepTable | None:
        """One sealed chunk, for callers that need few; None if damaged."""
        (tag,) = sealed_tags(STEP_FORMAT.name, attempt, [chunk])
        try:
            _, opened = STEP_FORMAT.open(self._source.read({run: [tag]})[run][tag])
        except (KeyError, DamagedChunkError):
            return None
        return STEP_FORMAT.join([opened])

    def _merge(
        self, run: str, loop: str, attempts: Sequence[AttemptIndex], identity: tuple[object, ...]
    ) -> LoadedSteps:
        tables: list[StepTable] = []
        damage: list[str] = []
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
            run, loop, tuple(described), merged, merged.wall, origin, superseded, tuple(damage), (run, loop, identity)
        )

    def _series(self, run: str, attempt: AttemptIndex, form: SeriesFormat[Table]) -> tuple[Table | None, list[str]]:
        """All rows of one series of one attempt that can be read, and one sentence for each chunk that cannot."""
        index = attempt.series[form.name]
        sealed: _Sealed[Table] = self._cache.get(
            (self._scope, form.name, run, attempt.id),
            frozenset(index.sealed),
            lambda old: self._decode_sealed(run, attempt, form, index, old),
            lambda value: 0 if value.table is None else _nbytes(value.table),
        )
        damage = dict(sealed.bad)
        # The tail of the last chunk stands in for it where it is damaged.
        slots = list(index.tail) if sealed.bad else index.live_tail
        payloads = self._source.read({run: slots}).get(run, {}) if slots else {}
        tail, problems = _join_tail(payloads, form, sealed.chunks, run)
        # Up to the last readable one: a damaged name may say any number.
        for chunk in range(max(sealed.chunks, default=0)):
            if chunk not in index.sealed:
                (tag,) = sealed_tags(form.name, attempt, [chunk])
                damage[chunk] = f"{tag} of run {run!r}: missing from the file"
        parts = [part for part in (sealed.table, tail) if part is not None]
        table = None if not parts else parts[0] if len(parts) == 1 else form.concatenate(parts)
        return table, [damage[chunk] for chunk in sorted(damage)] + problems

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
        opened: list[Chunk] = []
        for tag, number in tags.items():
            try:
                opened.append(_open_sealed(form, payloads.get(tag), attempt.id, number))
            except DamagedChunkError as error:
                bad[number] = str(error.located(run, tag))
            else:
                chunks.add(number)
        tables = [] if old is None or old.table is None else [old.table]
        if opened:
            tables.append(form.join(opened))
        joined = None if not tables else tables[0] if len(tables) == 1 else form.concatenate(tables)
        return _Sealed(joined, frozenset(chunks), bad)


def _open_sealed(form: SeriesFormat[Table], payload: Payload | None, attempt: str, number: int) -> Chunk:
    """A sealed chunk, opened. Raises DamagedChunkError."""
    if payload is None:
        raise DamagedChunkError("listed, but not there")
    place, chunk = form.open(payload)
    if (place.attempt, place.chunk, place.offset) != (attempt, number, 0):
        raise DamagedChunkError(f"holds chunk {place.chunk} of attempt {place.attempt!r}")
    return chunk


def _of(attempt: AttemptIndex, series: str) -> list[SeriesIndex]:
    return [attempt.series[series]] if series in attempt.series else []


def _join_tail(
    payloads: dict[str, Payload], form: SeriesFormat[Table], sealed: frozenset[int], run: str
) -> tuple[Table | None, list[str]]:
    """Rows of tail slots whose chunk is not among `sealed`, as far as they follow each other without a hole."""
    parts: list[tuple[int, int, Chunk]] = []
    problems = []
    for tag, payload in payloads.items():
        try:
            place, chunk = form.open(payload)
        except DamagedChunkError as error:
            problems.append(str(error.located(run, tag)))
            continue
        if place.chunk not in sealed:
            parts.append((place.chunk, place.offset, chunk))
    usable: list[Chunk] = []
    number, expected = -1, 0
    for of_chunk, offset, chunk in sorted(parts, key=lambda part: part[:2]):
        if of_chunk != number:
            number, expected = of_chunk, 0
        if offset == expected:
            usable.append(chunk)
            expected += len(chunk)
    return (form.join(usable) if usable else None), problems


def _describe(attempt: Attempt, table: StepTable) -> AttemptRows:
    steps = table.step[table.segment == STEP_ROW]
    if not len(steps):
        return AttemptRows(attempt, 0, None, None)
    return AttemptRows(attempt, len(steps), int(steps.min()), int(steps.max()))


def _nbytes(table: StepTable | ResourceTable) -> int:
    if isinstance(table, StepTable):
        return table.nbytes
    return table.time_us.nbytes + sum(column.nbytes for column in table.values.values())
