"""`analyze`: trace files as a `TraceAnalysis`."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from tb_aiperf.records import CollectivesProfile, CollectiveTimes, TraceAnalysis, TraceProfile
from tb_aiperf.trace.collectives import Collective, Match, clock_offsets, find_collectives, match_ranks
from tb_aiperf.trace.profile import microseconds, profile_trace
from tb_aiperf.trace.reader import read_trace
from tb_aiperf.trace.table import BoolArray, IntArray


def analyze(paths: Iterable[str | os.PathLike[str]]) -> TraceAnalysis:
    """Read trace files, one per rank of the same run where there are several; one at a time is in memory.

    Raises `TraceError` for a file of which nothing can be used.
    """
    profiles: list[TraceProfile] = []
    collectives: list[list[Collective]] = []
    for path in paths:
        trace = read_trace(path)
        profiles.append(profile_trace(trace))
        collectives.append(find_collectives(trace))
    return TraceAnalysis(traces=profiles, collectives=_across_ranks(profiles, collectives))


def _across_ranks(
    profiles: Sequence[TraceProfile], collectives: Sequence[Sequence[Collective]]
) -> CollectivesProfile | None:
    rows = [row for row, found in enumerate(collectives) if found]
    ranks = [rank for row in rows if (rank := profiles[row].rank) is not None]
    # Twice the same rank, or another number of ranks, is another run: nothing of it can be matched.
    same_run = len(set(ranks)) == len(rows) and len({profiles[row].world_size for row in rows}) == 1
    if len(rows) < 2 or not same_run:
        return None
    matches, warnings = match_ranks([collectives[row] for row in rows])
    by_operation: dict[tuple[str, str | None], list[Match]] = defaultdict(list)
    for match in matches:
        by_operation[match.operation, match.group].append(match)
    offsets = clock_offsets(matches, len(rows))
    return CollectivesProfile(
        ranks=ranks,
        calls=len(matches),
        operations=[_operation(found, len(rows)) for found in by_operation.values()],
        clock_offset_us=None if offsets is None else [microseconds(offset) for offset in offsets.tolist()],
        warnings=warnings,
    )


def _operation(matches: Sequence[Match], count: int) -> CollectiveTimes:
    """Calls of one operation in one group, added up over the ranks that take part."""
    wait, late = np.zeros(count, np.int64), np.zeros(count, np.int64)
    takes_part = np.zeros(count, np.bool_)
    for match in matches:
        wait[match.ranks] += match.wait
        late[match.ranks] += match.late
        takes_part[match.ranks] = True
    return CollectiveTimes(
        operation=matches[0].operation,
        group=matches[0].group,
        calls=len(matches),
        transfer_us=microseconds(sum(match.transfer for match in matches)),
        wait_us=_of_members(wait, takes_part),
        late_us=_of_members(late, takes_part),
    )


def _of_members(values: IntArray, takes_part: BoolArray) -> list[float | None]:
    pairs = zip(values.tolist(), takes_part.tolist(), strict=True)
    return [microseconds(value) if member else None for value, member in pairs]
