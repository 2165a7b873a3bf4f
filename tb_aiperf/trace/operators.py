"""Operators: which lies in which, and which launched which device work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import sums
from tb_aiperf.trace.kinds import DATA_LOADING, STEP_MARK, name_mask
from tb_aiperf.trace.launches import LaunchedWork, Launches
from tb_aiperf.trace.nesting import Nesting, nest
from tb_aiperf.trace.table import IntArray, OperatorSpans, Trace


@dataclass(frozen=True, slots=True)
class OperatorCalls:
    """n calls of operators, in the order of `nesting`.

    calls        their columns
    device_self  [n] nanoseconds of device work whose launch lies in this call and in no operator inside it. Durations
                 are added up: work on two streams at once counts twice
    operator_of  [launched] place of that call, for each piece of device work with a known launch; -1 if in no operator
    unattributed nanoseconds of device work that no operator launched, as far as the trace tells
    """

    calls: OperatorSpans
    nesting: Nesting
    device_self: IntArray
    operator_of: IntArray
    unattributed: int


def find_operators(trace: Trace, launches: Launches) -> OperatorCalls:
    """Nest the operators and give each the device work that it launched."""
    total = int((trace.device.end - trace.device.start).sum())
    return attribute(trace, launches.launched(), total)


def attribute(trace: Trace, launched: LaunchedWork, device_total: int) -> OperatorCalls:
    """Nest the operators of `trace` and give each what it launched of `launched`.

    device_total: nanoseconds of the device work of which what no operator launched is unattributed.
    """
    # Old profilers write step marks and data-loading ranges as operators.
    marks = name_mask(trace.names, STEP_MARK) | name_mask(trace.names, DATA_LOADING)
    operators = trace.operators.select(~marks[trace.operators.name])
    nesting = nest(operators)
    operator_of = nesting.innermost(launched.thread, launched.start)
    attributed = operator_of >= 0
    device_self = sums(operator_of[attributed], launched.duration[attributed], len(operators))
    unattributed = device_total - int(device_self.sum())
    return OperatorCalls(operators.select(nesting.order), nesting, device_self, operator_of, unattributed)


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
