"""Collectives within a rank and across ranks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.records import CollectiveCalls
from tb_aiperf.trace.categories import collective_kernels
from tb_aiperf.trace.kinds import HOST_COLLECTIVE, name_mask
from tb_aiperf.trace.table import CollectiveArguments, DeviceSpans, IntArray, SmallArray, Spans, Trace

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment

#: Collectives of a rank that are kept to be matched: more than 1000 steps have. Each takes about 400 bytes then.
MAX_CALLS = 100_000
_NOTHING_RECORDED = CollectiveArguments(None, None, None, None, None)

_OPERATIONS = (
    ("all_reduce", re.compile(r"all_?reduce", re.IGNORECASE)),
    ("reduce_scatter", re.compile(r"reduce_?scatter", re.IGNORECASE)),
    ("all_gather", re.compile(r"all_?gather", re.IGNORECASE)),
    ("all_to_all", re.compile(r"all_?to_?all", re.IGNORECASE)),
    ("send_recv", re.compile(r"send_?recv|\bsend\b|\brecv\b", re.IGNORECASE)),
    ("broadcast", re.compile(r"broadcast", re.IGNORECASE)),
    ("barrier", re.compile(r"barrier", re.IGNORECASE)),
    ("gather", re.compile(r"gather", re.IGNORECASE)),
    ("scatter", re.compile(r"scatter", re.IGNORECASE)),
    ("reduce", re.compile(r"reduce", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective as one rank saw it, in nanoseconds since 1970 on its own clock, where the trace tells its base.

    operation: such as ``all_reduce``, ``collective`` where the kernel's name does not tell. group, sequence, elements,
    dtype: None where the profiler recorded none.
    """

    operation: str
    start: int
    end: int
    group: str | None = None
    sequence: int | None = None
    elements: int | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """One collective across r ranks; all leave it together, so what a rank took above the shortest it waited.

    operation, group  as in `Collective`
    ranks             [r] which of the given ranks took part
    start, end        [r] nanoseconds, each on its own rank's clock
    """

    operation: str
    group: str | None
    ranks: IntArray
    start: IntArray
    end: IntArray

    @property
    def duration(self) -> IntArray:
        """[r] nanoseconds."""
        return self.end - self.start

    @property
    def transfer(self) -> int:
        """Nanoseconds of the shortest: that rank came last and waited for no one."""
        return int(self.duration.min())

    @property
    def wait(self) -> IntArray:
        """[r] nanoseconds above the transfer: waiting for ranks that came later."""
        return self.duration - self.transfer

    @property
    def late(self) -> IntArray:
        """[r] nanoseconds by which each rank began after the first, clocks aligned on the common end."""
        late: IntArray = self.duration.max() - self.duration
        return late


class CollectiveFinder:
    """The collectives of a trace, segment by segment: kernels if there are any, else ranges of a CPU backend.

    limit: how many are kept, those that begin first.
    """

    def __init__(self, limit: int = MAX_CALLS) -> None:
        self._kernels = _Kept(limit)
        self._host = _Kept(limit)

    def add(self, segment: Segment) -> None:
        """Take the collectives that begin in a segment."""
        trace = segment.trace
        kernels = collective_kernels(trace) & segment.begins(trace.device.start)
        host = (table.select(segment.begins(table.start)) for table in (trace.operators, trace.annotations))
        self._add(trace, trace.device.select(kernels), *host)

    def add_all(self, trace: Trace) -> None:
        """Take all collectives of a trace."""
        self._add(trace, trace.device.select(collective_kernels(trace)), trace.operators, trace.annotations)

    def _add(self, trace: Trace, kernels: DeviceSpans, *host: Spans) -> None:
        self._kernels.add(_spans([kernels]), kernels.collective)
        if not self._kernels.count:
            named = name_mask(trace.names, HOST_COLLECTIVE)
            ranges = _spans([part.select(named[part.name]) for part in host])
            self._host.add(ranges, np.full(len(ranges), -1, np.int32))

    def collectives(self, trace: Trace) -> list[Collective]:
        """All collectives in order of their start. trace: tells what is known of the whole file."""
        operation = _Operations()
        found = []
        for name, start, end, row in self._found.rows():
            arguments = trace.collectives[row] if row >= 0 else _NOTHING_RECORDED
            found.append(
                Collective(
                    operation[arguments.name or trace.names[name]],
                    trace.base_ns + start,
                    trace.base_ns + end,
                    arguments.group,
                    arguments.sequence,
                    arguments.elements,
                    arguments.dtype,
                )
            )
        return found

    def warnings(self) -> list[str]:
        """How many were not kept, if any."""
        found = self._found
        if not found.left_out:
            return []
        return [f"only the first {found.count:,} collectives are compared across ranks, {found.left_out:,} are not"]

    @property
    def _found(self) -> _Kept:
        return self._kernels if self._kernels.count else self._host


class _Kept:
    """The first `limit` of collectives that come in batches, one in time after the other."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spans: list[Spans] = []
        self._recorded: list[SmallArray] = []
        self.count = 0
        self.left_out = 0

    def add(self, spans: Spans, recorded: SmallArray) -> None:
        """Take a batch. recorded: index into `Trace.collectives`, -1 for none."""
        order = np.argsort(spans.start, kind="stable")[: self._limit - self.count]
        self._spans.append(spans.select(order))
        self._recorded.append(recorded[order])
        self.count += len(order)
        self.left_out += len(spans) - len(order)

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """Name, start and end of each, and what is recorded of it."""
        if self.count:
            table = _spans(self._spans)
            recorded = np.concatenate(self._recorded)
            yield from zip(*(c.tolist() for c in (table.name, table.start, table.end, recorded)), strict=True)


def find_collectives(trace: Trace) -> list[Collective]:
    """Collectives of a trace in order of their start: kernels if there are any, else ranges of a CPU backend."""
    finder = CollectiveFinder(limit=max(len(trace.device), len(trace.operators) + len(trace.annotations)))
    finder.add_all(trace)
    return finder.collectives(trace)


def as_calls(collectives: Sequence[Collective]) -> CollectiveCalls | None:
    """Collectives of one rank as the columns that matching them needs; None for none."""
    if not collectives:
        return None
    operations: dict[str, int] = {}
    groups: dict[str, int] = {}
    return CollectiveCalls(
        operation=[operations.setdefault(item.operation, len(operations)) for item in collectives],
        group=[-1 if item.group is None else groups.setdefault(item.group, len(groups)) for item in collectives],
        sequence=[-1 if item.sequence is None else item.sequence for item in collectives],
        start_ns=[item.start for item in collectives],
        duration_ns=[item.end - item.start for item in collectives],
        operations=list(operations),
        groups=list(groups),
    )


def from_calls(calls: CollectiveCalls) -> list[Collective]:
    """The collectives behind the columns."""
    rows = zip(calls.operation, calls.group, calls.sequence, calls.start_ns, calls.duration_ns, strict=True)
    return [
        Collective(
            calls.operations[operation],
            start,
            start + duration,
            calls.groups[group] if group >= 0 else None,
            sequence if sequence >= 0 else None,
        )
        for operation, group, sequence, start, duration in rows
    ]


class _Operations(dict[str, str]):
    """The operation of each name, each found once."""

    def __missing__(self, name: str) -> str:
        operation = self[name] = operation_of(name)
        return operation


def _spans(tables: Sequence[Spans]) -> Spans:
    return Spans(
        *(np.concatenate([getattr(table, column) for table in tables]) for column in ("name", "start", "end", "thread"))
    )


def operation_of(name: str) -> str:
    """The collective operation that the name of a kernel, a range or an argument tells."""
    return next((operation for operation, pattern in _OPERATIONS if pattern.search(name)), "collective")


def match_ranks(ranks: Sequence[Sequence[Collective]]) -> tuple[list[Match], list[str]]:
    """Match collectives across ranks and split each into transfer and wait; also says what could not be matched.

    By process group and sequence number where all ranks record them, else by order of the same operation in the same
    group. A group that not all the given ranks are in is matched among those that are.
    """
    numbered = all(item.sequence is not None and item.group is not None for rank in ranks for item in rank)
    queues = [_by_key(rank, numbered) for rank in ranks]
    matches: list[Match] = []
    warnings = []
    for key in dict.fromkeys(key for queue in queues for key in queue):
        members = [rank for rank, queue in enumerate(queues) if key in queue]
        lists = [queues[rank][key] for rank in members]
        if len(lists) < 2:
            continue
        counts = [len(items) for items in lists]
        if min(counts) < max(counts):
            counted = f"{min(counts)} to {max(counts)} times per rank"
            warnings.append(f"{key[0]} was recorded {counted}; the first {min(counts)} are matched")
        matches.extend(_match(members, items) for items in zip(*lists, strict=False))
    return sorted(matches, key=lambda match: int(match.start[0])), warnings


def clock_offsets(matches: Sequence[Match], count: int) -> IntArray | None:
    """[count] nanoseconds that each rank's clock is ahead of the first's; None unless all are matched with the first.

    The median difference of the ends, which a collective has in common on all its ranks.
    """
    differences: list[list[int]] = [[] for _ in range(count)]
    for match in matches:
        if match.ranks[0] == 0:
            for rank, end in zip(match.ranks.tolist(), match.end.tolist(), strict=True):
                differences[rank].append(end - int(match.end[0]))
    if not all(differences):
        return None
    return np.array([np.median(values) for values in differences]).astype(np.int64)


def _by_key(rank: Sequence[Collective], numbered: bool) -> dict[tuple[object, ...], list[Collective]]:
    queues: dict[tuple[object, ...], list[Collective]] = defaultdict(list)
    for item in rank:
        queues[(item.operation, item.group, item.sequence if numbered else None)].append(item)
    return queues


def _match(ranks: Sequence[int], items: Sequence[Collective]) -> Match:
    return Match(
        items[0].operation,
        items[0].group,
        np.array(ranks, np.int64),
        np.array([item.start for item in items], np.int64),
        np.array([item.end for item in items], np.int64),
    )
