"""Decoded events into columns, window by window."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from tb_aiperf.trace import compiled
from tb_aiperf.trace.collective_list import CollectiveList
from tb_aiperf.trace.events import EXACT_MICROSECONDS, Event, Label, SpanArguments
from tb_aiperf.trace.kinds import Kind, kind_of
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.table import (
    KERNEL,
    MEMCPY,
    MEMSET,
    AnnotationSpans,
    BoolArray,
    CollectiveArguments,
    DeviceSpans,
    IntArray,
    MemoryEvents,
    OperatorSpans,
    OverheadSpans,
    PythonSpans,
    RuntimeSpans,
    SmallArray,
    Table,
)

#: A longer duration or a later time is a counter that overflowed, not a measurement.
MAX_DURATION_US = 7 * 86_400e6
#: Durations in nanoseconds (146 years), or bytes, may add up to this for each kind of event: half of what int64 holds.
MAX_SUM = float(1 << 62)
MAX_TIME_US = float(1 << 52)
#: Distinct texts of one sort; a real trace has thousands. What comes later shares one, so that memory is bounded.
MAX_TEXTS = 1 << 17
#: Their bytes: names of kernels have some thousand characters.
MAX_TEXT_BYTES = 32 << 20
MAX_UNKNOWN_CATEGORIES = 20
OTHER_NAMES = "(other names)"
OTHER_SHAPES = b'"(other shapes)"'
OTHER_CATEGORIES = "(other categories)"

_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
T = TypeVar("T", bound=Table)
_SPANS = (np.int32, np.int64, np.int64, np.int32)
#: Tables in the order in which the scanner knows them, and their columns.
_TABLES: dict[type[Table], tuple[type[np.integer[Any]], ...]] = {
    OperatorSpans: (*_SPANS, np.int32, np.int64, np.int64),
    AnnotationSpans: _SPANS,
    RuntimeSpans: (*_SPANS, np.int64),
    DeviceSpans: (*_SPANS, np.int8, np.int64, np.int32),
    PythonSpans: (*_SPANS, np.int64),
    OverheadSpans: _SPANS,
    MemoryEvents: (np.int64, np.int32, *[np.int64] * 6),
}
_DEVICE_CATEGORIES = {Kind.KERNEL: KERNEL, Kind.MEMCPY: MEMCPY, Kind.MEMSET: MEMSET}
#: ``pid`` of the profiler before torch 1.8, which wrote no categories.
_LEGACY_PROCESSES = {"CPU functions": Kind.OPERATOR, "CUDA functions": Kind.KERNEL}


class _Index(dict[Any, int]):
    """Numbers distinct values in order of appearance."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


class _Texts(_Index):
    """An `_Index` of up to MAX_TEXTS texts, the last of which stands for all that come later.

    on_full: told how many came before.
    """

    def __init__(self, rest: str | bytes, on_full: Callable[[int], None]) -> None:
        self._rest = rest
        self._on_full = on_full
        self._room = MAX_TEXT_BYTES

    def __missing__(self, value: Any) -> int:
        self._room -= len(value)
        if len(self) < MAX_TEXTS - 1 and self._room >= 0:
            return super().__missing__(value)
        # Even a short one that would fit: which are told apart must not depend on their length.
        self._room = -1
        if self._rest not in self:
            self._on_full(len(self))
            super().__missing__(self._rest)
        return self[self._rest]


class _Threads(dict[tuple[Any, Any], int]):
    """Numbers (process, thread) pairs; the label ``"12"`` is the number 12."""

    def __init__(self) -> None:
        self.pairs = _Index()

    def __missing__(self, pair: tuple[Any, Any]) -> int:
        process, thread = map(_plain, pair)
        number = self[pair] = self.pairs[process, thread]
        return number


def _plain(label: Any) -> Any:
    return int(label) if isinstance(label, str) and _NUMBER.fullmatch(label) else label


class _Buckets(dict[Any, list[Event]]):
    """Category, or kind of a whole phase, -> the list of its kind."""

    def __init__(self, groups: dict[Kind, list[Event]]) -> None:
        super().__init__(groups)
        self._groups = groups

    def __missing__(self, category: str) -> list[Event]:
        bucket = self[category] = self._groups[kind_of(category)]
        return bucket


class Columns:
    """Collects windows of events, decoded (`add`) or as text (`scan`); `take` gives the columns of one kind."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.unknown_categories: dict[str, int] = {}
        self.collectives = CollectiveList()
        self._names = _Texts(OTHER_NAMES, lambda count: self._note_full(count, "names"))
        self._shapes = _Texts(OTHER_SHAPES, lambda count: self._note_full(count - 1, "input shapes"))
        self._shapes[b""] = 0
        self._threads = _Threads()
        self._makers: dict[type[Table], Callable[[list[Event]], Table]] = {
            OperatorSpans: self._operators,
            AnnotationSpans: self._annotations,
            OverheadSpans: self._overhead,
            RuntimeSpans: self._runtime,
            PythonSpans: self._python,
            MemoryEvents: self._memory,
        }
        self._parts: dict[type[Table], list[Table]] = {}
        self._taken: dict[type[Table], float] = {}
        self._scanner = None
        if compiled.native is not None:
            self._scanner = compiled.native.Scanner(_kind_name, self._names, self._threads, self._shapes)
        self._scanned = {kind: _no_columns(kind) for kind in _TABLES}

    @property
    def names(self) -> tuple[str, ...]:
        """Distinct names of events."""
        return tuple(self._names)

    @property
    def shapes(self) -> tuple[str, ...]:
        """Distinct input dimensions, as JSON."""
        return tuple(shape.decode("utf-8", "replace") for shape in list(self._shapes)[1:])

    @property
    def threads(self) -> tuple[tuple[int | str, int | str], ...]:
        """Distinct (process, thread) pairs."""
        return tuple(self._threads.pairs)

    def add(self, events: list[Event]) -> None:
        """Take one window of events."""
        if not events:
            return
        groups: dict[Kind, list[Event]] = {kind: [] for kind in Kind}
        by_category = _Buckets(groups)
        for event in events:
            by_category[event.cat].append(event)
        for event in groups[Kind.LEGACY]:
            groups[_LEGACY_PROCESSES.get(event.pid, Kind.IGNORED)].append(event)
        for event in groups[Kind.UNKNOWN]:
            self._count_unknown(event.cat, 1)
        self._add(OperatorSpans, groups[Kind.OPERATOR])
        self._add(AnnotationSpans, groups[Kind.ANNOTATION])
        self._add(RuntimeSpans, groups[Kind.RUNTIME])
        for kind, category in _DEVICE_CATEGORIES.items():
            if groups[kind]:
                self._append(DeviceSpans, self._device(groups[kind], category))
        self._add(PythonSpans, groups[Kind.PYTHON])
        self._add(OverheadSpans, groups[Kind.OVERHEAD])
        self._add(MemoryEvents, [event for event in groups[Kind.INSTANT] if event.name == "[memory]"])

    def scan(self, text: bytes) -> bool:
        """Take one window of events straight from its text.

        False if that is not possible, nothing having been taken: without the compiled part, and if anything in it is
        not as it should be.
        """
        if self._scanner is None or not self._scanner.scan(text):
            return False
        tables = [self._scanned[kind] for kind in _TABLES]
        counts, unknown, collectives = self._scanner.commit(tables, len(self.collectives))
        for unfinished, impossible in counts:
            self._note_times(unfinished, impossible)
        for category, count in unknown:
            self._count_unknown(category, count)
        for arguments in collectives:
            self._add_collective(*arguments)
        return True

    def take(self, kind: type[T]) -> T:
        """All rows of a kind so far. They are handed over, not kept."""
        self._gather(kind)
        parts: list[Any] = self._parts.pop(kind, [])
        if not parts:
            return _table(kind, _no_columns(kind))
        if len(parts) == 1:
            return self._bounded(kind, parts[0])
        columns = (np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(kind))
        return self._bounded(kind, kind(*columns))

    def _bounded(self, kind: type[T], table: Any) -> T:
        """The rows whose durations, or bytes, may be added up: no sum of them must wrap."""
        amounts = table.size if isinstance(table, MemoryEvents) else table.end - table.start
        amounts = np.abs(amounts.astype(np.float64))
        taken = self._taken.get(kind, 0.0)
        self._taken[kind] = taken + float(amounts.sum())
        if self._taken[kind] > MAX_SUM:
            fitting = taken + np.cumsum(amounts) <= MAX_SUM
            self._taken[kind] = taken + float(amounts[fitting].sum())
            what = "bytes" if isinstance(table, MemoryEvents) else "durations"
            self.notes.add(f"an event was dropped, as {what} add up to the impossible", count=int((~fitting).sum()))
            table = table.select(fitting)
        return table  # type: ignore[no-any-return]

    def __len__(self) -> int:
        """Rows that have not been taken."""
        scanned = sum(len(self._scanned[kind][0]) // np.dtype(_TABLES[kind][0]).itemsize for kind in _TABLES)
        return scanned + sum(len(part) for parts in self._parts.values() for part in parts)

    def _add(self, kind: type[Table], events: list[Event]) -> None:
        if events:
            self._append(kind, self._makers[kind](events))

    def _append(self, kind: type[Table], part: Table) -> None:
        self._gather(kind)
        self._parts.setdefault(kind, []).append(part)

    def _gather(self, kind: type[Table]) -> None:
        """Scanned rows come before what is added later."""
        if self._scanned[kind][0]:
            self._parts.setdefault(kind, []).append(_table(kind, self._scanned[kind]))
            self._scanned[kind] = _no_columns(kind)

    def _operators(self, events: list[Event]) -> OperatorSpans:
        events, name, start, end, thread = self._spans(events)
        arguments = [event.args for event in events]
        return OperatorSpans(
            name,
            start,
            end,
            thread,
            _small([self._shapes[bytes(a.shapes)] for a in arguments]) - 1,
            _integers([a.sequence for a in arguments]),
            _integers([a.forward_thread for a in arguments]),
        )

    def _annotations(self, events: list[Event]) -> AnnotationSpans:
        return AnnotationSpans(*self._spans(events)[1:])

    def _overhead(self, events: list[Event]) -> OverheadSpans:
        return OverheadSpans(*self._spans(events)[1:])

    def _runtime(self, events: list[Event]) -> RuntimeSpans:
        events, name, start, end, thread = self._spans(events)
        return RuntimeSpans(name, start, end, thread, _integers([event.args.correlation for event in events]))

    def _python(self, events: list[Event]) -> PythonSpans:
        events, name, start, end, thread = self._spans(events)
        return PythonSpans(name, start, end, thread, _integers([event.args.module for event in events]))

    def _device(self, events: list[Event], category: int) -> DeviceSpans:
        events, name, start, end, thread = self._spans(events)
        return DeviceSpans(
            name,
            start,
            end,
            thread,
            np.full(len(events), category, np.int8),
            _integers([event.args.correlation for event in events]),
            _small([self._collective(event.args) for event in events]),
        )

    def _collective(self, arguments: SpanArguments) -> int:
        if arguments.collective is None:
            return -1
        self._add_collective(
            arguments.collective,
            arguments.group,
            arguments.group_id,
            arguments.group_sequence,
            arguments.elements,
            arguments.dtype,
        )
        return len(self.collectives) - 1

    def _add_collective(
        self, name: str, group: Label, group_id: Label, sequence: int | None, elements: int | None, dtype: str | None
    ) -> None:
        group = group_id if group is None else group
        label = None if group is None else str(group)
        self.collectives.append(CollectiveArguments(name, label, sequence, elements, dtype))

    def _memory(self, events: list[Event]) -> MemoryEvents:
        time, usable = _nanoseconds([event.ts for event in events])
        events = self._usable(events, usable)
        arguments = [event.args for event in events]
        return MemoryEvents(
            time[usable],
            self._thread(events),
            _integers([a.address for a in arguments]),
            _integers([a.size for a in arguments]),
            _integers([a.device_type for a in arguments]),
            _integers([a.device for a in arguments]),
            _integers([a.allocated for a in arguments]),
            _integers([a.reserved for a in arguments]),
        )

    def _spans(self, events: list[Event]) -> tuple[list[Event], SmallArray, IntArray, IntArray, SmallArray]:
        """The usable events and their names, starts, ends and threads."""
        start, usable = _nanoseconds([event.ts for event in events])
        duration = np.array([event.dur for event in events], np.float64)
        unfinished = ~(duration >= 0)
        if unfinished.any():
            self._note_times(int(unfinished.sum()), 0)
            duration[unfinished] = 0
        usable &= duration <= MAX_DURATION_US
        events = self._usable(events, usable)
        start = start[usable]
        end = start + np.rint(duration[usable] * 1000).astype(np.int64)
        return events, _small([self._names[event.name] for event in events]), start, end, self._thread(events)

    def _usable(self, events: list[Event], usable: BoolArray) -> list[Event]:
        if usable.all():
            return events
        kept = [event for event, use in zip(events, usable, strict=True) if use]
        self._note_times(0, len(events) - len(kept))
        return kept

    def _note_times(self, unfinished: int, impossible: int) -> None:
        if unfinished:
            self.notes.add("an event with no or a negative duration counts as an instant", count=unfinished)
        if impossible:
            self.notes.add("an event with an impossible time or duration was dropped", count=impossible)

    def _note_full(self, count: int, what: str) -> None:
        self.notes.add(f"the file has more than {count:,} different {what}; those that come later are one")

    def _count_unknown(self, category: str, count: int) -> None:
        if category not in self.unknown_categories and len(self.unknown_categories) >= MAX_UNKNOWN_CATEGORIES:
            category = OTHER_CATEGORIES
        self.unknown_categories[category] = self.unknown_categories.get(category, 0) + count

    def _thread(self, events: list[Event]) -> SmallArray:
        return _small([self._threads[event.pid, event.tid] for event in events])


def _kind_name(category: str) -> str:
    return kind_of(category).value


def _no_columns(kind: type[Table]) -> list[bytearray]:
    return [bytearray() for _ in _TABLES[kind]]


def _table(kind: type[T], columns: list[bytearray]) -> T:
    return kind(*(np.frombuffer(column, dtype) for column, dtype in zip(columns, _TABLES[kind], strict=True)))


def _integers(values: list[int]) -> IntArray:
    return np.fromiter(values, np.int64, len(values))


def _small(values: list[int]) -> SmallArray:
    return np.fromiter(values, np.int32, len(values))


def _nanoseconds(times: list[int | float | Decimal]) -> tuple[IntArray, BoolArray]:
    """Times in microseconds as whole nanoseconds, and which of them are possible."""
    microseconds = np.array(times, np.float64)
    usable = np.abs(microseconds) <= MAX_TIME_US
    microseconds[~usable] = 0
    whole = np.floor(microseconds)
    nanoseconds = whole.astype(np.int64) * 1000 + np.rint((microseconds - whole) * 1000).astype(np.int64)
    if Decimal in map(type, times):
        for row in np.flatnonzero(np.abs(microseconds) >= EXACT_MICROSECONDS).tolist():
            nanoseconds[row] = round(times[row] * 1000)
    return nanoseconds, usable
