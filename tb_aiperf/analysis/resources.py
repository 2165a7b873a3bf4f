"""Summaries of resource samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import ResourceTable


@dataclass(frozen=True)
class QuantitySummary:
    """One quantity over n valid samples; None for each statistic where n is 0."""

    n: int
    mean: float | None
    median: float | None
    p95: float | None
    max: float | None


def sampling_interval_us(tables: Sequence[ResourceTable]) -> float | None:
    """Median time between neighbouring samples of one table; None without two samples."""
    gaps = [np.diff(table.time_us) for table in tables if len(table) > 1]
    return float(np.median(np.concatenate(gaps))) if gaps else None


def summarise(tables: Sequence[ResourceTable]) -> dict[str, QuantitySummary]:
    """Quantity -> summary over the samples of all tables; samples that failed (NaN) are left out."""
    summaries = {}
    for key in dict.fromkeys(key for table in tables for key in table.values):
        column = np.concatenate([table.values[key] for table in tables if key in table.values])
        valid = column[np.isfinite(column)]
        if len(valid):
            median, p95 = np.percentile(valid, (50, 95))
            summaries[key] = QuantitySummary(
                len(valid), float(valid.mean()), float(median), float(p95), float(valid.max())
            )
        else:
            summaries[key] = QuantitySummary(0, None, None, None, None)
    return summaries
