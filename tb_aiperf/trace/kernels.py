"""Kernels by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import sums
from tb_aiperf.trace.table import KERNEL, IntArray, Trace


@dataclass(frozen=True, slots=True)
class KernelTable:
    """k kernels, most time first; collectives' kernels included, copies and memory sets not.

    name   [k] index into `Trace.names`; calls: [k]; total: [k] nanoseconds, durations added up
    """

    name: IntArray
    calls: IntArray
    total: IntArray


def summarise_kernels(trace: Trace) -> KernelTable:
    """Add up the kernels of each name."""
    kernels = trace.device.select(trace.device.category == KERNEL)
    name, label, calls = np.unique(kernels.name, return_inverse=True, return_counts=True)
    total = sums(label, kernels.end - kernels.start, len(name))
    order = np.lexsort((name, -total))
    return KernelTable(name[order].astype(np.int64), calls[order].astype(np.int64), total[order])
