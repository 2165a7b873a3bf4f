"""The slowest steps and what made them slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def slowest(wall: npt.NDArray[Any], most: int) -> npt.NDArray[np.int64]:
    """Rows of the `most` largest values, largest first; the earlier row first among equals."""
    most = min(most, len(wall))
    if not most:
        return np.zeros(0, np.int64)
    floor = np.partition(wall, len(wall) - most)[len(wall) - most]
    candidates = np.flatnonzero(wall >= floor)
    return candidates[np.argsort(-wall[candidates].astype(np.int64), kind="stable")[:most]]


def excess_stage(durations: npt.NDArray[Any], medians: npt.NDArray[np.float64]) -> tuple[int, float]:
    """The stage furthest above its own median in one step, and by how much.

    durations: [k] of the step; medians: [k] over all steps looked at.
    """
    excess = durations - medians
    stage = int(excess.argmax())
    return stage, float(excess[stage])
