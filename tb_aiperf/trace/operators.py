"""Operators: how often, how long on the host, and how much device time they launched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.kinds import DATA_LOADING, STEP_MARK, name_mask
from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.nesting import Nesting, nest
from tb_aiperf.trace.table import IntArray, OperatorSpans, Trace


@dataclass(frozen=True, slots=True)
class OperatorCalls:
    """n calls of operators, in the order of `nesting`.

    calls        their columns
    device_self  [n] nanoseconds of device work whose launch lies in this call and in no operator inside it. Durations
                 are added up: work on two streams at once counts twice
    operator_of  [device work] place of that call, -1 if the launch is not in the trace or in no operator
    """

    calls: OperatorSpans
    nesting: Nesting
    device_self: IntArray
    operator_of: IntArray
    device_total: int

    @property
    def unattributed(self) -> int:
        """Nanoseconds of device work that no operator launched, as far as the trace tells."""
        return self.device_total - int(self.device_self.sum())


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


def find_operators(trace: Trace, launches: Launches) -> OperatorCalls:
    """Nest the operators and give each the device work that it launched."""
    # Old profilers write step marks and data-loading ranges as operators.
    marks = name_mask(trace.names, STEP_MARK) | name_mask(trace.names, DATA_LOADING)
    operators = trace.operators.select(~marks[trace.operators.name])
    nesting = nest(operators)
    known = np.flatnonzero(launches.known)
    call = launches.call[known]
    operator_of = np.full(len(trace.device), -1, np.int64)
    operator_of[known] = nesting.innermost(trace.runtime.thread[call], trace.runtime.start[call])
    duration = trace.device.end - trace.device.start
    attributed = operator_of >= 0
    device_self = sums(operator_of[attributed], duration[attributed], len(operators))
    return OperatorCalls(operators.select(nesting.order), nesting, device_self, operator_of, int(duration.sum()))


def summarise(operators: OperatorCalls, *, by_shape: bool = False) -> OperatorTable:
    """Add up the calls of each operator, or of each operator and input shape."""
    calls, nesting = operators.calls, operators.nesting
    shapes = calls.shapes if by_shape else np.full_like(calls.shapes, -1)
    first, label = label_groups(calls.name, shapes)
    count = len(first)
    outermost = ~nesting.is_recursive(label)
    columns = [
        np.bincount(label, minlength=count).astype(np.int64),
        sums(label, nesting.self_time(), count),
        sums(label, np.where(outermost, nesting.end - nesting.start, 0), count),
        sums(label, operators.device_self, count),
        sums(label, np.where(outermost, nesting.subtree_sum(operators.device_self), 0), count),
    ]
    host_self, device_self = columns[1], columns[3]
    order = np.lexsort((calls.name[first], -host_self, -device_self))
    keys = (column[first][order].astype(np.int64) for column in (calls.name, shapes))
    return OperatorTable(*keys, *(column[order] for column in columns))


def link_backward(operators: OperatorCalls) -> IntArray:
    """[n] place of the forward call that each backward call belongs to, -1 for other calls and where not recorded.

    Autograd numbers forward calls as it records them; a backward call repeats the number of its forward call. Of
    several forward calls with a number (an operator and what it calls), the innermost, last begun, recorded it.
    """
    calls = operators.calls
    numbered = calls.sequence >= 0
    backward = np.flatnonzero(numbered & (calls.forward_thread > 0))
    forward = np.flatnonzero(numbered & (calls.forward_thread <= 0))
    forward = forward[np.lexsort((calls.start[forward], calls.sequence[forward]))]
    at = np.searchsorted(calls.sequence[forward], calls.sequence[backward], side="right") - 1
    link = np.full(len(calls), -1, np.int64)
    if len(forward):
        found = (at >= 0) & (calls.sequence[forward[at]] == calls.sequence[backward])
        link[backward[found]] = forward[at[found]]
    return link
