"""`LargeTrace`: a trace whose rows are in temporary files, as segments that fit in memory.

While the file is read, rows are written in batches. Then device work is joined with its launches by correlation id, in
ranges of ids, and written again in order of both their starts. Last, the time axis is cut so that each segment holds
about as many rows. All of it is linear in the size of the file, but for sorting within a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from tb_aiperf.trace.launches import LaunchedWork, Launches, first_calls, launches_kernel
from tb_aiperf.trace.memory_counts import MemoryCounts, count_memory
from tb_aiperf.trace.nesting import Nesting, nest
from tb_aiperf.trace.operators import attribute
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.spill import Runs, Scratch, cut
from tb_aiperf.trace.steps import Marks, Steps
from tb_aiperf.trace.table import (
    AnnotationSpans,
    BoolArray,
    DeviceSpans,
    IntArray,
    MemoryEvents,
    OperatorSpans,
    OverheadSpans,
    PythonSpans,
    RuntimeSpans,
    SmallArray,
    Spans,
    Table,
    Trace,
)

_LEAST = np.iinfo(np.int64).min
T = TypeVar("T", bound=Table)
S = TypeVar("S", bound=Spans)


@dataclass(frozen=True, slots=True)
class _NumberedWork(DeviceSpans):
    """Device work. order: [n] its place in the file."""

    order: IntArray


@dataclass(frozen=True, slots=True)
class _JoinedWork(_NumberedWork):
    """Device work with its launches, see `Launches`."""

    known: BoolArray
    launch_start: IntArray
    launch_thread: SmallArray

    @property
    def plain(self) -> DeviceSpans:
        """Without launches."""
        return DeviceSpans(*(getattr(self, field.name) for field in fields(DeviceSpans)))

    @property
    def launched(self) -> LaunchedWork:
        """With launches, of rows that are known."""
        return LaunchedWork(self.plain, self.launch_start, self.launch_thread)


@dataclass(frozen=True, slots=True)
class _Calls(Table):
    """Runtime calls with a correlation id. launches_kernel: [n] whether each is one that does, by its name."""

    correlation: IntArray
    start: IntArray
    thread: SmallArray
    launches_kernel: BoolArray


@dataclass(frozen=True, slots=True)
class _LostLaunches(Table):
    """Launches of kernels whose kernel is not in the trace."""

    start: IntArray
    correlation: IntArray


class RowsSoFar(Protocol):
    """Rows that have been read: `Columns`."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102

    def take(self, kind: type[T]) -> T: ...  # noqa: D102


class LargeTrace:
    """See `TraceSource`. Take columns, `finish`, and go through the segments; then `close`.

    segment_bytes: rows of a segment, about, as they lie on disk.
    """

    def __init__(self, path: str, segment_bytes: int) -> None:
        self._segment_bytes = segment_bytes
        self._scratch = Scratch(path)
        scratch = self._scratch
        self._operators: Runs[OperatorSpans] = Runs(scratch, "start")
        self._annotations: Runs[AnnotationSpans] = Runs(scratch, "start")
        self._runtime: Runs[RuntimeSpans] = Runs(scratch, "start")
        self._python: Runs[PythonSpans] = Runs(scratch, "start")
        self._overhead: Runs[OverheadSpans] = Runs(scratch, "start")
        self._events: Runs[MemoryEvents] = Runs(scratch, "time")
        self._work_by_id: Runs[_NumberedWork] = Runs(scratch, "correlation")
        self._calls_by_id: Runs[_Calls] = Runs(scratch, "correlation")
        self._work: Runs[_JoinedWork] = Runs(scratch, "start")
        self._launched: Runs[_JoinedWork] = Runs(scratch, "launch_start")
        self._lost: Runs[_LostLaunches] = Runs(scratch, "start")
        self._marks = Marks()
        self._pieces_of_work = 0
        #: First start and last end of what `extent` looks at, and the last end of anything.
        self._extent: tuple[int, int] | None = None
        self._last = _LEAST
        self.memory: MemoryCounts = {}
        self.trace: Trace
        self.steps: Steps

    def take(self, columns: RowsSoFar) -> None:
        """Move all rows that have been read so far to disk."""
        names = columns.names
        operators, annotations = columns.take(OperatorSpans), columns.take(AnnotationSpans)
        self._marks.add(names, operators, annotations)
        self._keep(self._operators, operators, counts=True)
        self._keep(self._annotations, annotations, counts=True)
        self._keep(self._python, columns.take(PythonSpans), counts=False)
        self._keep(self._overhead, columns.take(OverheadSpans), counts=False)
        del operators, annotations
        runtime = columns.take(RuntimeSpans)
        self._keep(self._runtime, runtime, counts=True)
        calls = _Calls(runtime.correlation, runtime.start, runtime.thread, launches_kernel(names, runtime.name))
        self._calls_by_id.write(calls.select(calls.correlation > 0))
        self._take_work(columns.take(DeviceSpans))
        events = columns.take(MemoryEvents)
        self.memory = count_memory(events, self.memory)
        self._last = max(self._last, int(events.time.max(initial=_LEAST)))
        self._events.write(events)

    def _keep(self, runs: Runs[S], spans: S, *, counts: bool) -> None:
        """Write ranges. counts: whether they belong to the extent of the trace."""
        self._note_extent(spans, counts=counts)
        runs.write(spans)

    def _take_work(self, device: DeviceSpans) -> None:
        self._note_extent(device, counts=True)
        order = self._pieces_of_work + np.arange(len(device))
        self._pieces_of_work += len(device)
        work = _NumberedWork(*(*_columns(device), order))
        numbered = device.correlation > 0
        self._work_by_id.write(work.select(numbered))
        rest = work.select(~numbered)
        unknown = np.zeros(len(rest), np.bool_)
        launch = (unknown, np.zeros_like(rest.start), np.zeros_like(rest.thread))
        self._work.write(_JoinedWork(*(*_columns(rest), *launch)))

    def _note_extent(self, spans: Spans, *, counts: bool) -> None:
        if len(spans):
            first, last = int(spans.start.min()), int(spans.end.max())
            self._last = max(self._last, last)
            if counts:
                before = self._extent or (first, last)
                self._extent = min(before[0], first), max(before[1], last)

    @property
    def is_empty(self) -> bool:
        """Whether no operator, annotation, runtime call or device work was taken."""
        return self._extent is None

    @property
    def origin(self) -> int:
        """See `TraceSource`."""
        return self._extent[0] if self._extent else 0

    def finish(self, trace: Trace) -> None:
        """All rows are here. trace: what else is known of the file; its tables are empty."""
        self.trace = trace
        last_end = np.full(len(self._marks), _LEAST)
        # Where nothing has an id, an empty range tells the columns of what is written here.
        for low, high in cut([self._work_by_id, self._calls_by_id], self._segment_bytes) or [(0, 0)]:
            launched = self._join(self._work_by_id.read(low, high), self._calls_by_id.read(low, high))
            last_end = np.maximum(last_end, launched.last_end(self._marks.start, self._marks.end))
        self._work_by_id.close()
        self._calls_by_id.close()
        self.steps = self._marks.steps(last_end, *(self._extent or (0, 0)))

    def _join(self, work: _NumberedWork, calls: _Calls) -> LaunchedWork:
        """Give work its launches. Both hold all rows of a range of ids."""
        call = first_calls(calls.correlation, calls.start, work.correlation)
        known = call >= 0
        start, thread = np.append(calls.start, 0)[call], np.append(calls.thread, np.int32(0))[call]
        joined = _JoinedWork(*(*_columns(work), known, start, thread))
        self._work.write(joined)
        launched = joined.select(known)
        self._launched.write(launched)
        lost = calls.launches_kernel & ~np.isin(calls.correlation, work.correlation)
        self._lost.write(_LostLaunches(calls.start[lost], calls.correlation[lost]))
        return launched.launched

    def segments(self) -> Iterator[Segment]:
        """See `TraceSource`."""
        runs = (self._operators, self._annotations, self._runtime, self._python, self._overhead, self._events)
        windows = cut([*runs, self._work, self._launched], self._segment_bytes)
        next_work = _NextWork(self._work, windows)
        context = self._rows(0, 0)
        work_before: int | None = None
        for number, (low, high) in enumerate(windows):
            high = min(high, self._last + 1)
            rows = context.before(self._rows(low, high))
            segment = self._segment(low, high, rows, work_before, next_work.after(number))
            yield segment
            context = rows.open_at(high, segment.operators.nesting)
            if len(ends := rows.work.end[rows.work.end > rows.work.start]):
                latest = int(ends.max())
                work_before = latest if work_before is None else max(latest, work_before)
            # Else they would still be there while the next are read.
            del rows, segment

    def _rows(self, low: int, high: int) -> _Rows:
        """The rows that begin in a window."""
        work = self._work.read(low, high)
        return _Rows(
            self._operators.read(low, high),
            self._annotations.read(low, high),
            self._runtime.read(low, high),
            self._python.read(low, high),
            self._overhead.read(low, high),
            work.select(np.argsort(work.order)),
        )

    def _segment(
        self, low: int, high: int, rows: _Rows, work_before: int | None, work_after: tuple[int, int] | None
    ) -> Segment:
        device, runtime, work = rows.work.plain, rows.runtime, rows.work
        trace = replace(
            self.trace,
            operators=rows.operators,
            annotations=rows.annotations,
            runtime=runtime,
            device=device,
            python=rows.python,
            overhead=rows.overhead,
            memory=self._events.read(low, high),
        )
        call = first_calls(runtime.correlation, runtime.start, work.correlation)
        # Of a call that lies elsewhere, another with the same id may be here.
        found = (call >= 0) & work.known
        here = call[found]
        found[found] = (runtime.start[here] == work.launch_start[found]) & (
            runtime.thread[here] == work.launch_thread[found]
        )
        lost = self._lost.read(low, high).correlation
        missing = launches_kernel(self.trace.names, runtime.name) & np.isin(runtime.correlation, lost)
        launches = Launches(
            device, runtime, work.known, work.launch_start, work.launch_thread, np.where(found, call, -1), missing
        )
        launched = self._launched.read(low, high)
        launched_work = launched.select(np.argsort(launched.order)).launched
        begins = device.start >= low
        device_total = int((device.end - device.start)[begins].sum())
        operators = attribute(trace, launched_work, device_total)
        return Segment(trace, low, high, launches, launched_work, operators, work_before, work_after)

    def close(self) -> None:
        """Delete the temporary files."""
        self._scratch.close()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a segment, or of the part of it that is context."""

    operators: OperatorSpans
    annotations: AnnotationSpans
    runtime: RuntimeSpans
    python: PythonSpans
    overhead: OverheadSpans
    work: _JoinedWork

    def before(self, later: _Rows) -> _Rows:
        """These rows and later ones."""
        pairs = ((getattr(self, field.name), getattr(later, field.name)) for field in fields(self))
        return _Rows(*map(_concatenate, pairs))

    def open_at(self, moment: int, operators: Nesting) -> _Rows:
        """What is open at a moment behind all starts, and the operators and Python frames which that lies in.

        operators: the nesting of the operators, if all of them are in it.
        """
        if len(operators.order) < len(self.operators):
            operators = nest(self.operators)
        return _Rows(
            self.operators.select(_open_with_parents(operators, moment)),
            self.annotations.select(self.annotations.end > moment),
            self.runtime.select(self.runtime.end > moment),
            self.python.select(_open_with_parents(nest(self.python), moment)),
            self.overhead.select(self.overhead.end > moment),
            self.work.select(self.work.end > moment),
        )


def _open_with_parents(nesting: Nesting, moment: int) -> IntArray:
    """Rows of the table that was nested which are open at a moment behind all starts, and all that these lie in."""
    wanted = nesting.end > moment
    rows = np.flatnonzero(wanted)
    while len(rows):
        parents = nesting.parent[rows]
        parents = parents[parents >= 0]
        rows = np.unique(parents[~wanted[parents]])
        wanted[rows] = True
    return np.sort(nesting.order[wanted])


class _NextWork:
    """Finds the next device work behind each window."""

    def __init__(self, work: Runs[_JoinedWork], windows: Sequence[tuple[int, int]]) -> None:
        self._work = work
        self._windows = windows
        self._found: tuple[int, int] | None = None
        #: The window behind the last that was looked at.
        self._next = 0

    def after(self, number: int) -> tuple[int, int] | None:
        """See `Segment.work_after`, of the window with this number; ask in rising order."""
        if self._next <= number + 1:
            self._found, self._next = None, number + 1
        while self._found is None and self._next < len(self._windows):
            self._found = self._first(*self._windows[self._next])
            self._next += 1
        return self._found

    def _first(self, low: int, high: int) -> tuple[int, int] | None:
        work = self._work.read(low, high)
        starts = work.start[work.end > work.start]
        if not len(starts):
            return None
        first = int(starts.min())
        return first, int(work.launch_start[work.known & (work.start == first)].min(initial=first))


def _columns(table: Table) -> tuple[Any, ...]:
    return tuple(getattr(table, field.name) for field in fields(table))


def _concatenate(tables: Sequence[T]) -> T:
    columns = zip(*map(_columns, tables), strict=True)
    return type(tables[0])(*map(np.concatenate, columns))
