"""Collectives within a rank and across ranks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.categories import collective_kernels
from tb_aiperf.trace.kinds import HOST_COLLECTIVE, name_mask
from tb_aiperf.trace.table import IntArray, Spans, Trace

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


def find_collectives(trace: Trace) -> list[Collective]:
    """Collectives of a trace in order of their start: kernels if there are any, else ranges of a CPU backend."""
    kernels = trace.device.select(collective_kernels(trace))
    if len(kernels):
        recorded = kernels.collective.tolist()
        table: Spans = kernels
    else:
        named = name_mask(trace.names, HOST_COLLECTIVE)
        host = [part.select(named[part.name]) for part in (trace.operators, trace.annotations)]
        table = Spans(
            *(np.concatenate([getattr(part, c) for part in host]) for c in ("name", "start", "end", "thread"))
        )
        recorded = [-1] * len(table)
    found = []
    for row in np.argsort(table.start, kind="stable").tolist():
        arguments = trace.collectives[recorded[row]] if recorded[row] >= 0 else None
        name = trace.names[table.name[row]]
        found.append(
            Collective(
                operation_of((arguments and arguments.name) or name),
                trace.base_ns + int(table.start[row]),
                trace.base_ns + int(table.end[row]),
                arguments and arguments.group,
                arguments and arguments.sequence,
                arguments and arguments.elements,
                arguments and arguments.dtype,
            )
        )
    return found


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
