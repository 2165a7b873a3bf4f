"""The events of each step, to be drawn: `StepTimeline`s.

Their number is bounded: of too many, the shortest are left out. What an event lies in is longer than it, so this does
not move the others to other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from tb_aiperf.records.step_timeline import EVENT_KINDS, Lane, StepTimeline
from tb_aiperf.trace.categories import collective_kernels
from tb_aiperf.trace.kinds import DATA_LOADING, HOST_COLLECTIVE, STEP_MARK, SYNCHRONISATION, name_mask
from tb_aiperf.trace.lanes import DEVICE, HOST, PYTHON, Lanes
from tb_aiperf.trace.rows import place_in_rows
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import MEMCPY, MEMSET, BoolArray, IntArray, Spans, Table, Trace
from tb_aiperf.trace.totals import Integers

#: Events that are kept of a trace, of a step at most, and of a step at least, however many steps there are. A browser
#: draws 100,000; each takes 41 bytes here.
MAX_EVENTS = 1_000_000
MAX_STEP_EVENTS = 100_000
MIN_STEP_EVENTS = 2_000
#: With so many steps that the least for each would come to more than this, the least is less. Then reading a file of
#: 1.2 GB takes 360 MB of memory; without timelines, 150.
_MOST_EVENTS = 1_500_000
#: So many more than will be kept are held before the shortest are left out.
_SPARE = 500_000
#: Events that are taken at once, and steps beyond its first that events taken at once may lie in, added up.
_BATCH = 1 << 18
_MAX_REPEATS = 1 << 20

_KIND = {kind.key: number for number, kind in enumerate(EVENT_KINDS)}


@dataclass(frozen=True, slots=True)
class _Events(Table):
    """n events, each once for every step that it lies in.

    step    [n] which of the steps that have a duration
    thread  [n] index into `Trace.threads`
    lane    [n] HOST, PYTHON or DEVICE
    launch  [n] id that device work and the call that launched it share, -1 for all others
    others  as in `StepTimeline`, but start and end are those of the trace
    """

    step: Integers
    thread: Integers
    lane: Integers
    kind: Integers
    name: Integers
    shape: Integers
    start: IntArray
    end: IntArray
    launch: Integers

    @property
    def duration(self) -> IntArray:
        """[n] nanoseconds."""
        return self.end - self.start


class Timelines:
    """Collects the events of each step, segment by segment.

    trace: tells what is known of the whole file; its rows do not matter. steps: of the whole trace.
    """

    def __init__(self, trace: Trace, steps: Steps) -> None:
        self._trace = trace
        self._steps = steps
        #: Nothing lies in a step without duration, so only the others are numbered from here on.
        self._numbered = np.flatnonzero(steps.end > steps.start)
        self._start, self._end = steps.start[self._numbered], steps.end[self._numbered]
        count = len(self._numbered)
        self._least = max(min(MIN_STEP_EVENTS, _MOST_EVENTS // max(count, 1)), 1)
        self._lanes = Lanes(trace)
        #: Of each step: its events, those left out included; nanoseconds of the longest of the latter; and the least
        #: that an event must take to be kept.
        self._count = np.zeros(count, np.int64)
        self._longest = np.zeros(count, np.int64)
        self._threshold = np.zeros(count, np.int64)
        self._parts: list[_Events] = []
        self._held = 0
        self._special = [
            (name_mask(trace.names, pattern), _KIND[kind])
            for pattern, kind in (
                (STEP_MARK, "annotation"),
                (DATA_LOADING, "data_loading"),
                (HOST_COLLECTIVE, "communication"),
            )
        ]
        self._blocking = name_mask(trace.names, SYNCHRONISATION)

    def add(self, segment: Segment) -> None:
        """Take the events that begin in a segment."""
        self._lanes.add(segment.trace)
        for events in _tables(segment, self._special, self._blocking):
            for low in range(0, len(events), _BATCH):
                self._add(events.select(slice(low, low + _BATCH)))

    def _add(self, events: _Events) -> None:
        first = np.searchsorted(self._end, events.start, side="right")
        last = np.searchsorted(self._start, events.end, side="left") - 1
        instant = events.end == events.start
        last[instant] = np.searchsorted(self._start, events.start[instant], side="right") - 1
        repeats = np.maximum(last - first + 1, 0)
        if int(repeats.sum()) > len(repeats) + _MAX_REPEATS:
            self._bound(events, first, repeats)
        row = np.repeat(np.arange(len(events)), repeats)
        step = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        self._count += np.bincount(step, minlength=len(self._count))
        short = (events.duration[row] < self._threshold[step]) & (events.kind[row] != _KIND["annotation"])
        np.maximum.at(self._longest, step[short], events.duration[row[short]])
        row, step = row[~short], step[~short]
        kept = events.select(row)
        self._parts.append(_Events(step.astype(np.int32), *_columns(kept)[1:]))
        self._held += len(row)
        if self._held > max(MAX_EVENTS, self._least * len(self._count)) + _SPARE:
            self._thin()

    def _bound(self, events: _Events, first: IntArray, repeats: IntArray) -> None:
        """Leave out the shortest of the events that lie in many steps; only a made-up file has so many of them."""
        many = np.flatnonzero(repeats > 1)
        many = many[np.argsort(-events.duration[many], kind="stable")]
        dropped = many[np.cumsum(repeats[many] - 1) > _MAX_REPEATS]
        edges = np.zeros(len(self._count) + 1, np.int64)
        np.add.at(edges, first[dropped], 1)
        np.add.at(edges, first[dropped] + repeats[dropped], -1)
        covered = np.cumsum(edges)[:-1]
        self._count += covered
        longest = int(events.duration[dropped].max(initial=0))
        self._longest = np.where(covered > 0, np.maximum(self._longest, longest), self._longest)
        repeats[dropped] = 0

    def _thin(self) -> None:
        """Leave out what is too much by now; what has been left out would be later, too."""
        limit = _share(self._count, MAX_EVENTS, self._least)
        events = _join(self._parts)
        order = np.argsort(events.step, kind="stable")
        edges = np.searchsorted(events.step[order], np.arange(len(self._count) + 1)).tolist()
        kept = np.ones(len(events), np.bool_)
        for step, (low, high) in enumerate(pairwise(edges)):
            if high - low > limit:
                rows = order[low:high]
                chosen = _longest(events.select(rows), limit)
                duration, annotation = events.duration[rows], events.kind[rows] == _KIND["annotation"]
                self._longest[step] = max(self._longest[step], duration[~chosen].max())
                self._threshold[step] = duration[chosen & ~annotation].min(initial=np.iinfo(np.int64).max)
                kept[rows] = chosen
        self._parts = [events.select(order[kept[order]])]
        self._held = len(self._parts[0])

    def result(self) -> tuple[StepTimeline, ...]:
        """One timeline per step."""
        self._thin()
        (events,) = self._parts
        edges = np.searchsorted(events.step, np.arange(len(self._numbered) + 1)).tolist()
        places = {step: place for place, step in enumerate(self._numbered.tolist())}
        timelines = []
        for step in range(len(self._steps)):
            place = places.get(step)
            shown = slice(0, 0) if place is None else slice(edges[place], edges[place + 1])
            missing = 0 if place is None else int(self._count[place]) - (shown.stop - shown.start)
            longest = int(self._longest[place]) if missing else 0
            timelines.append(self._timeline(step, events.select(shown), missing, longest))
        return tuple(timelines)

    def _timeline(self, step: int, events: _Events, left_out: int, left_out_ns: int) -> StepTimeline:
        lanes, lane = self._lanes.number(events.thread, events.lane)
        order = _by_start(lane, events)
        events, lane = events.select(order), lane[order]
        row = place_in_rows(lane, events.start, events.end)
        order = np.lexsort((events.start, row, lane))
        events, lane, row = events.select(order), lane[order], row[order].astype(np.int32)
        rows = np.zeros(len(lanes), np.int64)
        np.maximum.at(rows, lane, row + 1)
        names, name = _used(self._trace.names, events.name)
        shapes, shape = _used(self._trace.shapes, events.shape)
        return StepTimeline(
            step=int(self._steps.number[step]) if self._steps.marked else None,
            step_duration_ns=int(self._steps.end[step] - self._steps.start[step]),
            lanes=tuple(
                Lane(kind=kind, title=title, rows=count)
                for (kind, title), count in zip(lanes, rows.tolist(), strict=True)
            ),
            names=names,
            shapes=shapes,
            lane=lane,
            row=row,
            kind=events.kind,
            name=name,
            shape=shape,
            start=events.start - self._steps.start[step],
            duration=events.duration,
            launch=_launches(events),
            left_out=left_out,
            left_out_ns=left_out_ns,
        )


def _tables(segment: Segment, special: list[tuple[BoolArray, int]], blocking: BoolArray) -> Iterator[_Events]:
    """What begins in a segment, one table after the other; all in step 0.

    special: names of host ranges that have a kind of their own. blocking: names of calls that block the host.
    """
    trace, runtime, device = segment.trace, segment.trace.runtime, segment.trace.device
    marked, numbers = [named for named, _ in special], [number for _, number in special]
    for table, kind, shapes in (
        (trace.operators, "operator", trace.operators.shapes),
        (trace.annotations, "annotation", np.full(len(trace.annotations), -1)),
    ):
        kinds = np.select([named[table.name] for named in marked], numbers, _KIND[kind])
        yield _begun(segment, table, HOST, kinds, shapes=shapes)
    kinds = np.where(blocking[runtime.name], _KIND["synchronisation"], _KIND["runtime"])
    yield _begun(segment, runtime, HOST, kinds, launch=_launching(segment))
    yield _begun(segment, trace.python, PYTHON, np.full(len(trace.python), _KIND["python"]))
    kinds = np.select(
        [collective_kernels(trace), device.category == MEMCPY, device.category == MEMSET],
        [_KIND["communication"], _KIND["memcpy"], _KIND["memset"]],
        _KIND["kernel"],
    )
    yield _begun(segment, device, DEVICE, kinds, launch=np.where(segment.launches.known, device.correlation, -1))


def _begun(
    segment: Segment,
    table: Spans,
    lane: int,
    kind: Integers,
    *,
    shapes: Integers | None = None,
    launch: Integers | None = None,
) -> _Events:
    """The rows of a table that begin in a segment."""
    rows = np.flatnonzero(segment.begins(table.start))
    return _Events(
        step=np.zeros(len(rows), np.int32),
        thread=table.thread[rows],
        lane=np.full(len(rows), lane, np.int8),
        kind=kind[rows].astype(np.int8),
        name=table.name[rows],
        shape=np.full(len(rows), -1, np.int32) if shapes is None else shapes[rows].astype(np.int32),
        start=table.start[rows],
        end=table.end[rows],
        launch=np.full(len(rows), -1) if launch is None else launch[rows],
    )


def _launching(segment: Segment) -> IntArray:
    """[runtime calls] the correlation id of those that launched device work, -1 of others.

    Calls inside one another may share an id: the one that launched is the one that began then, on that thread.
    """
    runtime, launched = segment.trace.runtime, segment.launched
    ids, first = np.unique(launched.device.correlation, return_index=True)
    at = np.searchsorted(ids, runtime.correlation)
    place = np.append(first, -1)[at]
    found = np.append(ids, -1)[at] == runtime.correlation
    found &= np.append(launched.start, -1)[place] == runtime.start
    found &= np.append(launched.thread, -1)[place] == runtime.thread
    return np.where(found, runtime.correlation, -1)


def _launches(events: _Events) -> Integers:
    """[n] of device work, the place of the call that launched it; -1 where that is not among the events."""
    on_device = events.lane == DEVICE
    calls = np.flatnonzero(~on_device & (events.launch >= 0))
    ids, first = np.unique(events.launch[calls], return_index=True)
    at = np.searchsorted(ids, events.launch)
    found = on_device & (np.append(ids, -2)[at] == events.launch)
    return np.where(found, np.append(calls[first], -1)[at], -1).astype(np.int32)


def _share(count: IntArray, total: int, least: int) -> int:
    """How many events a step may keep: the same for all, so that no more than `total` are kept, within the bounds."""
    count = np.sort(count)
    if int(np.minimum(count, MAX_STEP_EVENTS).sum()) <= total:
        return MAX_STEP_EVENTS
    # Steps with few events leave their part to the others.
    rest = total - (np.cumsum(count) - count)
    share = rest // (len(count) - np.arange(len(count)))
    return max(least, min(int(share[np.argmax(share <= count)]), MAX_STEP_EVENTS))


def _longest(events: _Events, limit: int) -> BoolArray:
    """[n] the `limit` events that are kept: annotations, then the longest, of those of equal length the earliest."""
    rank: Integers = np.where(events.kind == _KIND["annotation"], np.iinfo(np.int64).max, events.duration)
    if int((rank == np.iinfo(np.int64).max).sum()) > limit:
        rank = np.where(events.kind == _KIND["annotation"], events.duration, -1)
    least = np.partition(rank, -limit)[-limit]
    chosen: BoolArray = rank > least
    equal = np.flatnonzero(rank == least)
    tied = events.select(equal)
    order = np.lexsort((tied.launch, tied.shape, tied.name, tied.kind, tied.lane, tied.thread, tied.start))
    chosen[equal[order[: limit - int(chosen.sum())]]] = True
    return chosen


def _by_start(lane: Integers, events: _Events) -> IntArray:
    """Order of lane, start, and longer ones first. Of equals, an annotation is around an operator and so on."""
    order = np.lexsort((-events.end, events.start, lane))
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in (lane, events.start, events.end):
        same &= np.diff(column[order]) == 0
    if same.any():
        group = np.cumsum(np.append(True, ~same))
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = events.select(order[tied])
        rank = np.where(rows.kind == _KIND["annotation"], -1, rows.kind)
        order[tied] = order[tied][np.lexsort((rows.launch, rows.shape, rows.name, rank, group[tied]))]
    return order


def _used(texts: tuple[str, ...], number: Integers) -> tuple[tuple[str, ...], Integers]:
    """The texts that are used, and [n] the index of each into them; -1 stays."""
    used = np.unique(number)
    used = used[used >= 0]
    place = np.where(number >= 0, np.searchsorted(used, number), -1).astype(np.int32)
    return tuple(texts[index] for index in used.tolist()), place


def _join(parts: list[_Events]) -> _Events:
    if not parts:
        none = np.zeros(0, np.int64)
        return _Events(*(none for _ in fields(_Events)))
    return _Events(*map(np.concatenate, zip(*map(_columns, parts), strict=True)))


def _columns(events: _Events) -> tuple[Any, ...]:
    return tuple(getattr(events, field.name) for field in fields(events))
