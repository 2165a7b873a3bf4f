"""From where in the program each operator was called, by the Python frames that the profiler recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import CallSite
from tb_aiperf.trace.frames import tell_place
from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.limits import MAX_CALL_SITES, left_out
from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.operator_totals import OperatorTable
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.stacks import EMPTY, Stacks, nearest
from tb_aiperf.trace.table import BoolArray, IntArray
from tb_aiperf.trace.totals import Totals

#: Nothing is known of calls from before the first frame.
_UNKNOWN = [EMPTY, EMPTY, False]
#: Forward calls that are remembered for their backward calls: more than a step has. 24 MB.
_MAX_FORWARD = 1 << 20


@dataclass(frozen=True, slots=True)
class _Forward:
    """k forward calls by autograd's number of the call, then start. stack: [k] where they were called."""

    sequence: IntArray
    start: IntArray
    stack: IntArray


class CallSites:
    """Adds up the calls of each operator from each stack of Python frames.

    The stack of a call is that of the frames open at its start on its thread, those that tell no place left out (see
    `frames`). A backward call, and what runs inside it, has the stack of its forward call, the last one before it with
    autograd's number, unless Python was called inside the backward call: then that is the place.
    """

    def __init__(self) -> None:
        self._stacks = Stacks()
        #: By operator, stack and direction: calls, host time of their own and device time.
        self._totals = Totals(3, (np.add, np.add, np.add))
        self._names: tuple[str, ...] = ()
        self._tells: BoolArray = np.zeros(0, np.bool_)
        self._any_frames = False
        nothing = np.zeros(0, np.int64)
        self._forward = _Forward(nothing, nothing, nothing)
        #: Of calls that are open at the end of the last segment, and those that they lie in: the stack of the forward
        #: call, their own, and whether they are part of a backward pass.
        self._open: dict[tuple[int, ...], list[int]] = {}

    def add(self, segment: Segment) -> None:
        """Take the next segment."""
        trace = segment.trace
        self._any_frames |= len(trace.python) > 0
        if not self._any_frames:
            # Nothing is known of any place so far, as in most traces: `result` adds these calls up.
            return
        if len(self._names) != len(trace.names):
            self._names, self._tells = trace.names, tell_place(trace.names)
        calls, nesting = segment.operators.calls, segment.operators.nesting
        own, since = self._own_stacks(segment)
        link = self._forward_stacks(segment, own, segment.begins(calls.start))
        # Of calls that began before the segment, what was found then.
        rows = np.flatnonzero(calls.start < segment.low)
        before = np.array([self._open.get(call, _UNKNOWN) for call in _identify(segment, rows)], np.int64).reshape(
            -1, 3
        )
        link[rows] = before[:, 0]
        # A call belongs to the innermost backward call that it lies in and of whose forward call the place is known.
        outer = nearest(link != EMPTY, nesting.parent)
        backward = (outer >= 0) & (since <= np.append(calls.start, 0)[outer])
        stack = np.where(backward, np.append(link, EMPTY)[outer], own)
        stack[rows], backward[rows] = before[:, 1], before[:, 2] > 0
        self._add(segment, stack, backward)
        self._keep_open(segment, np.stack([link, stack, backward], axis=1))

    def _add(self, segment: Segment, stack: IntArray, backward: BoolArray) -> None:
        """Add up the calls of a segment, of which the stacks and directions are known."""
        calls, nesting = segment.operators.calls, segment.operators.nesting
        columns = (
            segment.begins(calls.start).astype(np.int64),
            segment.clip_nesting(nesting).self_time(),
            segment.operators.device_self,
        )
        first, label = label_groups(calls.name, stack, backward.astype(np.int8))
        keys = (calls.name[first], stack[first], backward[first].astype(np.int8))
        self._totals.add(*keys, *(sums(label, column, len(first)) for column in columns))

    def result(self, operators: OperatorTable) -> tuple[list[CallSite] | None, list[str]]:
        """The call sites with the most time, largest first, and warnings; None if no Python frames were recorded.

        operators: all operators of the trace.
        """
        if not self._any_frames:
            return None, []
        self._add_rest(operators)
        name, stack, backward, calls, host, device = self._totals.columns()
        time = host + device
        # Of those that are equal here, the names decide, which do not depend on where the trace was cut.
        least = np.partition(time, -MAX_CALL_SITES)[-MAX_CALL_SITES] if len(time) > MAX_CALL_SITES else -1
        sites = [
            CallSite(
                operator=self._names[name[row]],
                frames=[self._names[frame] for frame in self._stacks.names(int(stack[row]))],
                backward=bool(backward[row]),
                calls=int(calls[row]),
                host_self_us=int(host[row]) / 1000,
                device_us=int(device[row]) / 1000,
            )
            for row in np.flatnonzero(time >= least).tolist()
        ]
        sites.sort(key=lambda site: (-site.host_self_us - site.device_us, site.operator, site.frames, site.backward))
        kept = sites[:MAX_CALL_SITES]
        spent = sum(site.host_self_us + site.device_us for site in kept)
        rest = 1 - spent / (int(time.sum()) / 1000 or 1)
        return kept, left_out("call sites", len(time) - len(kept), rest)

    def _add_rest(self, operators: OperatorTable) -> None:
        """Add what was called before the first frame: from no known place."""
        name, _, _, *columns = self._totals.columns()
        count = len(self._names)
        total = zip((operators.calls, operators.host_self, operators.device_self), columns, strict=True)
        rest = [sums(operators.name, whole, count) - sums(name, added, count) for whole, added in total]
        rows = np.flatnonzero(rest[0] | rest[1] | rest[2])
        none = np.zeros(len(rows), np.int8)
        self._totals.add(rows.astype(np.int32), np.full(len(rows), EMPTY), none, *(column[rows] for column in rest))

    def _own_stacks(self, segment: Segment) -> tuple[IntArray, IntArray]:
        """[n] stack of the frames open at the start of each call, and when the innermost of them began."""
        calls, python = segment.operators.calls, segment.trace.python
        frames = python.select(self._tells[python.name])
        nesting = nest(frames)
        stack = self._stacks.number(nesting, frames.name[nesting.order].astype(np.int64))
        place = nesting.innermost(calls.thread, calls.start)
        return np.append(stack, EMPTY)[place], np.append(nesting.start, np.iinfo(np.int64).min)[place]

    def _forward_stacks(self, segment: Segment, own: IntArray, begins: BoolArray) -> IntArray:
        """[n] stack of the forward call of each backward call, EMPTY for other calls and where it is not known."""
        calls = segment.operators.calls
        numbered = begins & (calls.sequence >= 0)
        rows = np.flatnonzero(numbered & (calls.forward_thread <= 0))
        known = self._forward
        sequence = np.concatenate([known.sequence, calls.sequence[rows]])
        start = np.concatenate([known.start, calls.start[rows]])
        stack = np.concatenate([known.stack, own[rows]])
        order = np.lexsort((start, sequence))
        known = _Forward(sequence[order], start[order], stack[order])
        link = np.full(len(calls), EMPTY)
        backward = np.flatnonzero(numbered & (calls.forward_thread > 0))
        place = _last_before(known, calls.sequence[backward], calls.start[backward])
        link[backward] = np.append(known.stack, EMPTY)[place]
        last = np.append(np.diff(known.sequence) != 0, True)[: len(known.sequence)]
        kept = np.flatnonzero(last)
        if len(kept) > _MAX_FORWARD:
            kept = np.sort(kept[np.argsort(known.start[kept], kind="stable")[-_MAX_FORWARD:]])
        self._forward = _Forward(known.sequence[kept], known.start[kept], known.stack[kept])
        return link

    def _keep_open(self, segment: Segment, found: IntArray) -> None:
        """Remember what was found of the calls that are open at the end of a segment."""
        parent = segment.operators.nesting.parent
        kept = segment.operators.calls.end >= segment.high
        rows = np.flatnonzero(kept)
        while len(rows):
            rows = parent[rows]
            rows = np.unique(rows[rows >= 0])
            rows = rows[~kept[rows]]
            kept[rows] = True
        rows = np.flatnonzero(kept)
        self._open = dict(zip(_identify(segment, rows), found[rows].tolist(), strict=True))


def _last_before(forward: _Forward, sequence: IntArray, start: IntArray) -> IntArray:
    """[n] the last forward call with each number that began no later, -1 for none."""
    count = len(forward.start)
    numbers = np.concatenate([forward.sequence, sequence])
    # Both together in order of number and start, a forward call before a backward call of the same start.
    order = np.lexsort((np.concatenate([forward.start, start]), numbers))
    last = np.maximum.accumulate(np.where(order < count, order, -1))
    place = np.full(len(sequence), -1)
    wanted = order >= count
    place[order[wanted] - count] = last[wanted]
    return np.where(np.append(forward.sequence, -1)[place] == sequence, place, -1)


def _identify(segment: Segment, rows: IntArray) -> list[tuple[int, ...]]:
    """What tells calls apart. Calls that agree in all of it have the same stack."""
    calls = segment.operators.calls
    columns = (calls.thread, calls.start, calls.end, calls.name, calls.sequence, calls.forward_thread)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))
