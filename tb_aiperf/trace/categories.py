"""Exclusive categories of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.records import CATEGORIES
from tb_aiperf.trace.intervals import Intervals, join, sweep, union
from tb_aiperf.trace.kinds import COLLECTIVE_KERNEL, DATA_LOADING, HOST_COLLECTIVE, STEP_MARK, name_mask
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import KERNEL, MEMCPY, MEMSET, BoolArray, IntArray, Spans, Trace

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment

CATEGORY_KEYS = tuple(category.key for category in CATEGORIES)


@dataclass(frozen=True, slots=True)
class Coverage:
    """When something of a category goes on; the sets overlap."""

    kernel: Intervals
    memcpy: Intervals
    memset: Intervals
    collective_kernel: Intervals
    host_collective: Intervals
    runtime: Intervals
    data_loading: Intervals
    cpu_op: Intervals


def find_coverage(trace: Trace) -> Coverage:
    """The moments of each category in `trace`.

    A step mark, a data-loading range and a collective's range on the host are no operators, whatever category the
    profiler gives them; a user annotation is none either.
    """
    loading = name_mask(trace.names, DATA_LOADING)
    collective = name_mask(trace.names, HOST_COLLECTIVE)
    marks = name_mask(trace.names, STEP_MARK) | loading | collective
    kernel = trace.device.category == KERNEL
    on_device = collective_kernels(trace)
    return Coverage(
        kernel=_where(trace.device, kernel & ~on_device),
        memcpy=_where(trace.device, trace.device.category == MEMCPY),
        memset=_where(trace.device, trace.device.category == MEMSET),
        collective_kernel=_where(trace.device, on_device),
        host_collective=host_ranges(trace, collective),
        runtime=union(trace.runtime.start, trace.runtime.end),
        data_loading=host_ranges(trace, loading),
        cpu_op=_where(trace.operators, ~marks[trace.operators.name]),
    )


def collective_kernels(trace: Trace) -> BoolArray:
    """[device work] whether it is the kernel of a collective, by its name."""
    named = name_mask(trace.names, COLLECTIVE_KERNEL, anywhere=True)
    result: BoolArray = named[trace.device.name] & (trace.device.category == KERNEL)
    return result


def host_ranges(trace: Trace, named: BoolArray) -> Intervals:
    """Union of operators and annotations whose name is marked in `named`."""
    return join([_where(table, named[table.name]) for table in (trace.operators, trace.annotations)])


class CategoryTotals:
    """Categories of each step, added up segment by segment."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.times = np.zeros((len(CATEGORY_KEYS), len(steps)), np.int64)

    def add(self, segment: Segment, coverage: Coverage) -> None:
        """Take the part of the steps that lies in a segment."""
        inside, start, end = self._steps.within(segment.low, segment.high)
        self.times[:, inside] += sweep(_layers(coverage), start, end)


def break_down(coverage: Coverage, steps: Steps) -> IntArray:
    """[8, k] nanoseconds of each of `CATEGORIES` in each step; each column sums to its step exactly."""
    return sweep(_layers(coverage), steps.start, steps.end)


def _layers(coverage: Coverage) -> tuple[Intervals, ...]:
    return (
        coverage.kernel,
        coverage.memcpy,
        coverage.memset,
        join([coverage.collective_kernel, coverage.host_collective]),
        coverage.runtime,
        coverage.data_loading,
        coverage.cpu_op,
    )


def _where(table: Spans, rows: BoolArray) -> Intervals:
    return union(table.start[rows], table.end[rows])
