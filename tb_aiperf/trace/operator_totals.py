"""Operators added up: by name, by input shapes, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.nesting import Nesting
from tb_aiperf.trace.operators import OperatorCalls
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import BoolArray, IntArray
from tb_aiperf.trace.totals import Integers, Totals

#: Of an `OperatorTable`, without its keys.
_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class OperatorTable:
    """k operators, most device time first, then most host time of their own.

    name    [k] index into `Trace.names`; shapes: [k] index into `Trace.shapes`, -1 where not told apart
    calls   [k]
    host_self, host_total      [k] nanoseconds outside and including operators inside; a call inside one of the same
                               operator is part of that one's total
    device_self, device_total  [k] nanoseconds of device work launched by the operator itself, and by all inside it
    """

    name: IntArray
    shapes: IntArray
    calls: IntArray
    host_self: IntArray
    host_total: IntArray
    device_self: IntArray
    device_total: IntArray

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True)
class OperatorStepTable:
    """k operators over s steps, most time first.

    name: [k] index into `Trace.names`. calls, host_self, device_self: [k, s] as in `OperatorTable`, of the calls that
    begin in each step.
    """

    name: IntArray
    calls: IntArray
    host_self: IntArray
    device_self: IntArray


class OperatorTotals:
    """The operators of a trace by name, and by name and input shapes, added up segment by segment.

    unattributed: nanoseconds of device work that no operator launched.
    """

    def __init__(self, steps: Steps) -> None:
        self.unattributed = 0
        self._steps = steps
        self._has_shapes = False
        self._by_step = Totals(2, (np.add,) * 3)
        self._by_name = Totals(2, (np.add,) * _COLUMNS)
        self._by_shape = Totals(2, (np.add,) * _COLUMNS)

    def add(self, segment: Segment) -> None:
        """Take the operators of a segment: calls and totals where they begin, other times where they are spent."""
        operators = segment.operators
        times = _times(operators, segment.clip_nesting(operators.nesting), segment.begins(operators.calls.start))
        self._by_name.add(*_add_up(operators, times, by_shape=False))
        self._by_shape.add(*_add_up(operators, times, by_shape=True))
        if self._steps.marked:
            self._add_steps(operators, times)
        self._has_shapes |= bool((operators.calls.shapes >= 0).any())
        self.unattributed += operators.unattributed

    def _add_steps(self, operators: OperatorCalls, times: tuple[IntArray, ...]) -> None:
        start = operators.calls.start
        step = np.searchsorted(self._steps.start, start, side="right") - 1
        inside = np.flatnonzero((step >= 0) & (start < self._steps.end[step]))
        name, step = operators.calls.name[inside], step[inside]
        first, label = label_groups(name, step)
        count, host_self, _, device_self, _ = times
        columns = (sums(label, column[inside], len(first)) for column in (count, host_self, device_self))
        self._by_step.add(name[first], step[first], *columns)

    def by_step(self, most: int) -> OperatorStepTable | None:
        """The operators with the most time, at most `most` of them, step by step; None without step marks."""
        if not self._steps.marked:
            return None
        name, step, calls, host_self, device_self = self._by_step.columns()
        names, row = np.unique(name, return_inverse=True)
        total = sums(row, host_self + device_self, len(names))
        kept = np.lexsort((names, -total))[:most]
        place = np.full(len(names), -1, np.int64)
        place[kept] = np.arange(len(kept))
        chosen = place[row] >= 0
        tables = []
        for column in (calls, host_self, device_self):
            table = np.zeros((len(kept), len(self._steps)), np.int64)
            table[place[row[chosen]], step[chosen]] = column[chosen]
            tables.append(table)
        return OperatorStepTable(names[kept], *tables)

    def by_name(self) -> OperatorTable:
        """All operators so far."""
        return _sorted(self._by_name.columns())

    def by_shape(self) -> OperatorTable | None:
        """All operators so far by input shapes; None where no shapes are recorded."""
        return _sorted(self._by_shape.columns()) if self._has_shapes else None


def summarise(operators: OperatorCalls, *, by_shape: bool = False) -> OperatorTable:
    """Add up the calls of each operator, or of each operator and input shape."""
    times = _times(operators, operators.nesting, np.ones(len(operators.calls), np.bool_))
    totals = Totals(2, (np.add,) * _COLUMNS)
    totals.add(*_add_up(operators, times, by_shape=by_shape))
    return _sorted(totals.columns())


def _times(operators: OperatorCalls, inside: Nesting, counted: BoolArray) -> tuple[IntArray, ...]:
    """The columns of an `OperatorTable` for each of n calls, as if none of them were inside another of its operator.

    inside: the part of the calls that lies in the window. counted: [n] whether a call begins in it.
    """
    nesting = operators.nesting
    return (
        counted.astype(np.int64),
        inside.self_time(),
        np.where(counted, nesting.end - nesting.start, 0),
        operators.device_self,
        nesting.subtree_sum(operators.device_self),
    )


def _add_up(operators: OperatorCalls, times: tuple[IntArray, ...], *, by_shape: bool) -> list[Integers]:
    """Keys and times, added up by name or by name and shapes."""
    calls = operators.calls
    shapes = calls.shapes if by_shape else np.full_like(calls.shapes, -1)
    first, label = label_groups(calls.name, shapes)
    outermost = ~operators.nesting.is_recursive(label)
    count, host_self, host_total, device_self, device_total = times
    values = (count, host_self, np.where(outermost, host_total, 0), device_self, np.where(outermost, device_total, 0))
    return [calls.name[first], shapes[first], *(sums(label, column, len(first)) for column in values)]


def _sorted(columns: list[IntArray]) -> OperatorTable:
    name, _, _, host_self, _, device_self, _ = columns
    order = np.lexsort((name, -host_self, -device_self))
    return OperatorTable(*(column[order] for column in columns))
