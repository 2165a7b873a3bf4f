"""Kernels by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.trace.table import KERNEL, DeviceSpans, IntArray, Trace
from tb_aiperf.trace.totals import Totals

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment


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


class KernelTotals:
    """The kernels of a trace, added up segment by segment."""

    def __init__(self) -> None:
        self._totals = Totals(1, (np.add, np.add, np.minimum, np.maximum))

    def add(self, segment: Segment) -> None:
        """Take the kernels that begin in a segment."""
        self.add_rows(segment.trace.device.select(segment.begins(segment.trace.device.start)))

    def add_rows(self, device: DeviceSpans) -> None:
        """Take the kernels among these pieces of device work."""
        kernels = device.select(device.category == KERNEL)
        duration = kernels.end - kernels.start
        self._totals.add(kernels.name, np.ones_like(duration), duration, duration, duration)

    def table(self) -> KernelTable:
        """All kernels so far."""
        columns = self._totals.columns()
        name, _, total, *_ = columns
        order = np.lexsort((name, -total))
        return KernelTable(*(column[order] for column in columns))


def summarise_kernels(trace: Trace) -> KernelTable:
    """Add up the kernels of each name."""
    totals = KernelTotals()
    totals.add_rows(trace.device)
    return totals.table()
