"""Kernels by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import extremes, sums
from tb_aiperf.trace.table import KERNEL, IntArray, Trace


@dataclass(frozen=True, slots=True)
class KernelTable:
    """k kernels, most time first; collectives' kernels included, copies and memory sets not.

    name               [k] index into `Trace.names`
    calls              [k]
    total, low, high   [k] nanoseconds: durations added up, the shortest, the longest
    """

    name: IntArray
    calls: IntArray
    total: IntArray
    low: IntArray
    high: IntArray


def summarise_kernels(trace: Trace) -> KernelTable:
    """Add up the kernels of each name."""
    kernels = trace.device.select(trace.device.category == KERNEL)
    name, label, calls = np.unique(kernels.name, return_inverse=True, return_counts=True)
    duration = kernels.end - kernels.start
    total = sums(label, duration, len(name))
    low, high = extremes(label, duration, len(name))
    order = np.lexsort((name, -total))
    columns = (name.astype(np.int64), calls.astype(np.int64), total, low, high)
    return KernelTable(*(column[order] for column in columns))
