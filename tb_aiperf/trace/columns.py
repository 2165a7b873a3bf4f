"""Decoded events into columns, window by window."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from tb_aiperf.trace.events import Event, SpanArguments
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
MAX_TIME_US = float(1 << 52)

_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
T = TypeVar("T", bound=Table)
_DEVICE_CATEGORIES = {Kind.KERNEL: KERNEL, Kind.MEMCPY: MEMCPY, Kind.MEMSET: MEMSET}
#: ``pid`` of the profiler before torch 1.8, which wrote no categories.
_LEGACY_PROCESSES = {"CPU functions": Kind.OPERATOR, "CUDA functions": Kind.KERNEL}


class _Index(dict[Any, int]):
    """Numbers distinct values in order of appearance."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


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


class _Buckets(dict[str, list[Event]]):
    """Category -> the list of its kind."""

    def __init__(self, groups: dict[Kind, list[Event]]) -> None:
        self._groups = groups

    def __missing__(self, category: str) -> list[Event]:
        bucket = self[category] = self._groups[kind_of(category)]
        return bucket


class Columns:
    """Collects windows of events; `take` gives the columns of one kind."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.unknown_categories: dict[str, int] = {}
        self.collectives: list[CollectiveArguments] = []
        self._names = _Index()
        self._shapes = _Index({b"": 0})
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
        groups: dict[Kind, list[Event]] = {kind: [] for kind in Kind}
        by_category = _Buckets(groups)
        for event in events:
            by_category[event.cat].append(event)
        for event in groups[Kind.LEGACY]:
            groups[_LEGACY_PROCESSES.get(event.pid, Kind.IGNORED)].append(event)
        for event in groups[Kind.UNKNOWN]:
            self.unknown_categories[event.cat] = self.unknown_categories.get(event.cat, 0) + 1
        self._add(OperatorSpans, groups[Kind.OPERATOR])
        self._add(AnnotationSpans, groups[Kind.ANNOTATION])
        self._add(RuntimeSpans, groups[Kind.RUNTIME])
        for kind, category in _DEVICE_CATEGORIES.items():
            if groups[kind]:
                self._parts.setdefault(DeviceSpans, []).append(self._device(groups[kind], category))
        self._add(PythonSpans, groups[Kind.PYTHON])
        self._add(OverheadSpans, groups[Kind.OVERHEAD])
        self._add(MemoryEvents, [event for event in groups[Kind.INSTANT] if event.name == "[memory]"])

    def take(self, kind: type[T]) -> T:
        """All rows of a kind so far. They are handed over, not kept."""
        parts: list[Any] = self._parts.pop(kind, [])
        if not parts:
            parts = [self._device([], KERNEL) if kind is DeviceSpans else self._makers[kind]([])]
        return kind(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(kind)))

    def _add(self, kind: type[Table], events: list[Event]) -> None:
        if events:
            self._parts.setdefault(kind, []).append(self._makers[kind](events))

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
        group = arguments.group_id if arguments.group is None else arguments.group
        self.collectives.append(
            CollectiveArguments(
                arguments.collective,
                None if group is None else str(group),
                arguments.group_sequence,
                arguments.elements,
                arguments.dtype,
            )
        )
        return len(self.collectives) - 1

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
            self.notes.add("an event with no or a negative duration counts as an instant", count=int(unfinished.sum()))
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
        self.notes.add("an event with an impossible time or duration was dropped", count=len(events) - len(kept))
        return kept

    def _thread(self, events: list[Event]) -> SmallArray:
        return _small([self._threads[event.pid, event.tid] for event in events])


def _integers(values: list[int]) -> IntArray:
    return np.fromiter(values, np.int64, len(values))


def _small(values: list[int]) -> SmallArray:
    return np.fromiter(values, np.int32, len(values))


def _nanoseconds(times: list[int | float | Decimal]) -> tuple[IntArray, BoolArray]:
    """Times in microseconds as whole nanoseconds, and which of them are possible."""
    microseconds = np.array(times, np.float64)
    usable = np.abs(microseconds) <= MAX_TIME_US
    if any(type(time) is Decimal for time in times):
        exact = (round(time * 1000) if use else 0 for time, use in zip(times, usable.tolist(), strict=True))
        return np.fromiter(exact, np.int64, len(times)), usable
    microseconds[~usable] = 0
    whole = np.floor(microseconds)
    return whole.astype(np.int64) * 1000 + np.rint((microseconds - whole) * 1000).astype(np.int64), usable
