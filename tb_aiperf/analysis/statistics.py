"""Statistics of one quantity over many steps. Values are integers in ticks; results are in ticks too."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Most bins of a histogram, and the percentiles between which they lie,
HISTOGRAM_BINS = 40
HISTOGRAM_RANGE = (0.5, 99.5)
#: but no further than this many interquartile ranges beyond the quartiles: a few far outliers would otherwise leave
#: everything else in one bin.
HISTOGRAM_REACH = 6


@dataclass(frozen=True)
class Histogram:
    """Equal bins: edges [b + 1], counts [b], and how many values lie below and above them."""

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    below: int
    above: int


class Distribution:
    """The distribution of n values, n may be 0: every statistic is then None.

    Sorts once, in O(n log n); each statistic after that costs at most O(log n).
    """

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._sorted = np.sort(values)
        self.n = len(values)
        self.total = int(values.sum(dtype=np.int64))
        self.nonzero = self.n - int(np.searchsorted(self._sorted, self._sorted.dtype.type(0), side="right"))

    @property
    def mean(self) -> float | None:
        """Arithmetic mean."""
        return self.total / self.n if self.n else None

    @property
    def min(self) -> int | None:
        """Smallest value."""
        return int(self._sorted[0]) if self.n else None

    @property
    def max(self) -> int | None:
        """Largest value."""
        return int(self._sorted[-1]) if self.n else None

    def percentile(self, percent: float) -> float | None:
        """Percentile in [0, 100] with linear interpolation between the neighbours of rank percent / 100 · (n - 1).

        This is definition 7 of Hyndman and Fan (1996), numpy's default.
        """
        if not self.n:
            return None
        rank = percent / 100 * (self.n - 1)
        low = int(rank)
        left, right = int(self._sorted[low]), int(self._sorted[min(low + 1, self.n - 1)])
        return left + (right - left) * (rank - low)

    def histogram(self) -> Histogram | None:
        """At most `HISTOGRAM_BINS` bins, none narrower than a tick; the last includes its right edge.

        They cover [p0.5, p99.5], cut to six interquartile ranges beyond the quartiles where those differ.
        """
        low, high = (self.percentile(percent) for percent in HISTOGRAM_RANGE)
        first, third = self.percentile(25), self.percentile(75)
        if low is None or high is None or first is None or third is None:
            return None
        if reach := HISTOGRAM_REACH * (third - first):
            low, high = max(low, first - reach), min(high, third + reach)
        bins = int(min(HISTOGRAM_BINS, max(high - low, 1)))
        edges = np.linspace(low, max(high, low + 1), bins + 1)
        # Whole ticks in the values' own type: other needles would make numpy convert all values.
        needles = np.append(np.ceil(edges[:-1]), np.floor(edges[-1]) + 1).astype(self._sorted.dtype)
        places = np.searchsorted(self._sorted, needles, side="left")
        return Histogram(edges, np.diff(places), int(places[0]), self.n - int(places[-1]))


def distributions(columns: Sequence[npt.NDArray[Any]]) -> list[Distribution]:
    """The distribution of each column; numpy sorts without the interpreter lock, so two threads share the work."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(Distribution, columns))
