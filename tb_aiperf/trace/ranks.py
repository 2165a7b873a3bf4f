"""Collectives matched across the ranks of a run, as a record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_aiperf.records import CollectiveCalls, CollectivesProfile, CollectiveTimes, TraceProfile
from tb_aiperf.trace.as_records import microseconds
from tb_aiperf.trace.collectives import Match, clock_offsets, from_calls, match_ranks
from tb_aiperf.trace.table import BoolArray, IntArray


def match_profiles(
    profiles: Sequence[TraceProfile], calls: Sequence[CollectiveCalls | None]
) -> CollectivesProfile | None:
    """Match the collectives of several traces, as far as they have some; None unless those are ranks of one run."""
    rows = [row for row, found in enumerate(calls) if found is not None]
    ranks = [rank for row in rows if (rank := profiles[row].rank) is not None]
    # Without a rank, or with another number of ranks, it is another run: nothing of it can be matched.
    if len(ranks) < len(rows) or len({profiles[row].world_size for row in rows}) != 1:
        return None
    return match_calls(ranks, [found for found in calls if found is not None])


def match_calls(ranks: Sequence[int], calls: Sequence[CollectiveCalls]) -> CollectivesProfile | None:
    """Match the collectives of ranks of one run. None for fewer than two, and where a rank is there twice."""
    if len(ranks) < 2 or len(set(ranks)) < len(ranks):
        return None
    matches, warnings = match_ranks([from_calls(of_rank) for of_rank in calls])
    by_operation: dict[tuple[str, str | None], list[Match]] = defaultdict(list)
    for match in matches:
        by_operation[match.operation, match.group].append(match)
    offsets = clock_offsets(matches, len(ranks))
    return CollectivesProfile(
        ranks=list(ranks),
        calls=len(matches),
        operations=[_operation(found, len(ranks)) for found in by_operation.values()],
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
