"""Places events of a lane into rows so that no two in a row overlap."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.stacks import depths
from tb_aiperf.trace.table import IntArray, SmallArray, Spans


def place_in_rows(lane: SmallArray, start: IntArray, end: IntArray) -> IntArray:
    """[n] row of each event in its lane, from 0: the first in which nothing is still going on.

    The events come in order of lane, then start, longer ones first. Where all of a lane are nested, the row is the
    number of events that one lies in.
    """
    nesting = nest(Spans(lane, start, end, lane))
    row = depths(nesting)
    inner = np.flatnonzero(nesting.parent >= 0)
    outlasting = inner[end[inner] > end[nesting.parent[inner]]]
    for number in np.unique(lane[outlasting]).tolist():
        low, high = np.searchsorted(lane, [number, number + 1]).tolist()
        row[low:high] = _first_free(start[low:high].tolist(), end[low:high].tolist())
    return row


def _first_free(start: list[int], end: list[int]) -> list[int]:
    """Row of each event, in order of start."""
    rows: list[int] = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    count = 0
    for begin, stop in zip(start, end, strict=True):
        while busy and busy[0][0] <= begin:
            heappush(free, heappop(busy)[1])
        if free:
            row = heappop(free)
        else:
            row, count = count, count + 1
        heappush(busy, (stop, row))
        rows.append(row)
    return rows
