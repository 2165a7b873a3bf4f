"""Two samples of steps compared: how much more of each quantity, with an interval."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """Means of m quantities over the steps of two samples, and by how much the second exceeds the first.

    baseline, other, difference  [m]
    low, high                    [m] 95 % bootstrap interval of the difference over steps; None where a sample has one
    """

    baseline: Floats
    other: Floats
    difference: Floats
    low: Floats | None
    high: Floats | None

    @property
    def clear(self) -> npt.NDArray[np.bool_] | None:
        """[m] whether the interval leaves out 0; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.low > 0) | (self.high < 0)


def compare(baseline: npt.NDArray[Any], other: npt.NDArray[Any]) -> Change:
    """Compare [m, n] with [m, n'] values, a column for each step; both have at least one.

    Percentile bootstrap of the difference of means (Efron 1979); the samples are resampled independently, all
    quantities of a step together, with a fixed seed.
    """
    first, second = baseline.mean(axis=1), other.mean(axis=1)
    if min(baseline.shape[1], other.shape[1]) < 2:
        return Change(first, second, second - first, None, None)
    random = np.random.default_rng(0)
    # In an order of the samples' own, so that the other way round the interval is the mirror image.
    samples = sorted(
        (baseline, other), key=lambda values: zlib.crc32(np.ascontiguousarray(values, np.float64).tobytes())
    )
    means = {id(values): _resampled_means(values, random) for values in samples}
    drawn = means[id(other)] - means[id(baseline)]
    low, high = np.percentile(drawn, [2.5, 97.5], axis=1)
    return Change(first, second, second - first, low, high)


def _resampled_means(values: npt.NDArray[Any], random: np.random.Generator) -> Floats:
    """[m, resamples]"""
    count = values.shape[1]
    chosen = random.integers(0, count, (_RESAMPLES, count))
    # How often each step was drawn, so that a product gives all means at once.
    weights = np.zeros((_RESAMPLES, count))
    np.add.at(weights, (np.arange(_RESAMPLES)[:, None], chosen), 1 / count)
    means: Floats = values @ weights.T
    return means
