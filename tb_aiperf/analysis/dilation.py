"""How much slower profiled steps are than the unprofiled steps around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Unprofiled steps on each side of a window that it is compared with: enough for a median, near enough to be alike.
NEIGHBOURS = 50
#: Fewer say nothing about what is usual.
LEAST_NEIGHBOURS = 5
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Dilation:
    """Median time of the profiled steps over the median of the unprofiled ones around them.

    low, high: 95 % bootstrap interval over steps. profiled, unprofiled: how many steps each.
    """

    factor: float
    low: float
    high: float
    profiled: int
    unprofiled: int


def dilation(profiled: npt.NDArray[Any], unprofiled: npt.NDArray[Any]) -> Dilation | None:
    """Compare step times in any common unit; None with no profiled step or too few unprofiled ones.

    Percentile bootstrap of the ratio of medians (Efron 1979), both sides resampled independently, with a fixed seed.
    """
    if not len(profiled) or len(unprofiled) < LEAST_NEIGHBOURS or not np.median(unprofiled):
        return None
    random = np.random.default_rng(0)

    def medians(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        drawn: npt.NDArray[np.float64] = np.median(
            values[random.integers(0, len(values), (_RESAMPLES, len(values)))], axis=1
        )
        return drawn

    ratios = medians(profiled) / np.maximum(medians(unprofiled), np.finfo(np.float64).tiny)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Dilation(
        factor=float(np.median(profiled) / np.median(unprofiled)),
        low=float(low),
        high=float(high),
        profiled=len(profiled),
        unprofiled=len(unprofiled),
    )


def neighbours(
    steps: npt.NDArray[Any], first: int, last: int, profiled: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """[n] which rows are the nearest unprofiled ones before `first` and behind `last`, `NEIGHBOURS` on each side.

    steps     [n] step numbers, rising
    profiled  [n] rows that any window touched
    """
    chosen = np.zeros(len(steps), np.bool_)
    before = np.flatnonzero((steps < first) & ~profiled)[-NEIGHBOURS:]
    behind = np.flatnonzero((steps > last) & ~profiled)[:NEIGHBOURS]
    chosen[before] = chosen[behind] = True
    return chosen
