"""Many rows to few bins of consecutive rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[Any]


@dataclass(frozen=True)
class Binned:
    """k quantities in b bins: sums, smallest and largest values, each [k, b], and the rows of each bin, [b]."""

    count: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]
    low: IntArray
    high: IntArray


def bin_starts(rows: int, bins: int) -> npt.NDArray[np.int64]:
    """First row of each of at most `bins` bins of equal size (within one row); one row a bin where rows <= bins."""
    bins = min(rows, bins)
    return np.arange(bins, dtype=np.int64) * rows // max(bins, 1)


def bin_rows(values: IntArray, starts: npt.NDArray[np.int64]) -> Binned:
    """Sums and extremes of `values` [k, n] over the bins that begin at `starts`."""
    rows = values.shape[1]
    count = np.diff(starts, append=rows)
    if not len(starts):
        nothing = np.zeros((len(values), 0), np.int64)
        return Binned(count, nothing, nothing, nothing)
    high = np.maximum.reduceat(values, starts, axis=1)
    # Summing in the values' own 32 bits is ten times faster, and right where no bin can overflow.
    own = values.dtype == np.uint32 and int(high.max(initial=0)) * int(count.max()) < 1 << 32
    total = np.add.reduceat(values, starts, axis=1, dtype=np.uint32 if own else np.int64).astype(np.int64)
    return Binned(count, total, np.minimum.reduceat(values, starts, axis=1), high)


def bin_percentiles(
    values: IntArray, starts: npt.NDArray[np.int64], percents: Sequence[float]
) -> npt.NDArray[np.float64]:
    """[p, b]: percentiles of `values` [n] in each bin, interpolated linearly between its values."""
    found = np.zeros((len(percents), len(starts)), np.float64)
    if not len(starts):
        return found
    share = np.array(percents) / 100
    for index, part in enumerate(np.split(values, starts[1:])):
        ranked = np.sort(part)
        rank = share * (len(ranked) - 1)
        low = rank.astype(np.int64)
        left = ranked[low].astype(np.float64)
        found[:, index] = left + (ranked[np.minimum(low + 1, len(ranked) - 1)] - left) * (rank - low)
    return found
