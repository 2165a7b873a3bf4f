"""Running totals of a series of steps in constant memory: for the line printed at the end of a training."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_aiperf.records import STEP_ROW, StepTable

#: Bins per e-fold of step time: a bin is 1 % wide, so a quantile is right within 0.5 %.
_BINS_PER_E = 100
#: From 1 ns (e^0) to 4.5 hours (e^30.4).
_BINS = 3040


class StepTotals:
    """Number of steps, time by stage and quantiles of the step time.

    stages: keys in the order of the tables that `update` takes (nanosecond ticks).
    """

    def __init__(self, stages: tuple[str, ...]) -> None:
        self.stages = stages
        self.steps = 0
        self.stage_ns: npt.NDArray[np.int64] = np.zeros(len(stages), np.int64)
        self.segment_ns = 0
        self._histogram: npt.NDArray[np.int64] = np.zeros(_BINS, np.int64)

    def update(self, table: StepTable) -> None:
        """Add the rows of a table."""
        is_step = table.segment == STEP_ROW
        walls = table.wall
        self.segment_ns += int(walls[~is_step].sum())
        walls = walls[is_step]
        self.steps += len(walls)
        self.stage_ns += table.durations[:, is_step].sum(axis=1, dtype=np.int64)
        position = np.log(np.maximum(walls, 1)) * _BINS_PER_E
        self._histogram += np.bincount(np.minimum(position.astype(np.int64), _BINS - 1), minlength=_BINS)

    def quantile_ns(self, share: float) -> float | None:
        """Step time below which `share` of the steps lie, within 0.5 %; None without a step."""
        if not self.steps:
            return None
        rank = share * (self.steps - 1)
        position = int(np.searchsorted(np.cumsum(self._histogram), rank, side="right"))
        return float(np.exp((position + 0.5) / _BINS_PER_E))

    def shares(self) -> dict[str, float]:
        """Share of the steps' summed wall-clock by stage, largest first; empty without a step."""
        total = int(self.stage_ns.sum())
        if not total:
            return {}
        pairs = [(key, int(spent) / total) for key, spent in zip(self.stages, self.stage_ns, strict=True)]
        return dict(sorted(pairs, key=lambda pair: -pair[1]))
