"""``torch.nn.Module``s: calls, host time and device time, where the profiler recorded them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.launches import LaunchedWork, Launches
from tb_aiperf.trace.nesting import Nesting, nest
from tb_aiperf.trace.table import BoolArray, IntArray, PythonSpans, Trace
from tb_aiperf.trace.totals import Totals

if TYPE_CHECKING:
    from tb_aiperf.trace.segments import Segment

#: Name and number of a module.
_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ModuleTable:
    """k modules, most host time first.

    name, module, parent  [k] index into `Trace.names`, the profiler's number of the instance, and the row of the
                          module that called it first, -1 for the outermost
    calls                 [k]
    host_self, host_total [k] nanoseconds outside and including the modules inside
    device_total          [k] nanoseconds of device work launched during the module's calls on the same thread, so in
                          its forward pass; backward runs on autograd's own thread
    """

    name: IntArray
    module: IntArray
    parent: IntArray
    calls: IntArray
    host_self: IntArray
    host_total: IntArray
    device_total: IntArray

    def __len__(self) -> int:
        return len(self.name)


class ModuleTotals:
    """The modules of a trace, added up segment by segment."""

    def __init__(self) -> None:
        self._totals = Totals(2, (np.add,) * 4)
        #: Of each module, by name and number: thread of its first call, and the module around that call.
        self._first: dict[_Key, tuple[int, _Key | None]] = {}

    def add(self, segment: Segment) -> None:
        """Take the modules of a segment: calls and totals where they begin, other times where they are spent."""
        modules = _modules(segment.trace)
        if len(modules):
            nesting = nest(modules)
            begins = segment.begins(nesting.start)
            self._add(modules.select(nesting.order), nesting, segment.clip_nesting(nesting), begins, segment.launched)

    def add_all(self, trace: Trace, launches: Launches) -> None:
        """Take all modules of a trace."""
        modules = _modules(trace)
        nesting = nest(modules)
        begins = np.ones(len(modules), np.bool_)
        self._add(modules.select(nesting.order), nesting, nesting, begins, launches.launched())

    def _add(
        self, calls: PythonSpans, nesting: Nesting, inside: Nesting, begins: BoolArray, launched: LaunchedWork
    ) -> None:
        """Take calls in the order of `nesting`; inside: the part of them in the window; begins: which begin in it."""
        first, label = label_groups(calls.name, calls.module)
        outermost = ~nesting.is_recursive(label)
        place = nesting.innermost(launched.thread, launched.start)
        device = sums(place[place >= 0], launched.duration[place >= 0], len(calls))
        values = (
            begins.astype(np.int64),
            inside.self_time(),
            np.where(outermost & begins, nesting.end - nesting.start, 0),
            np.where(outermost, nesting.subtree_sum(device), 0),
        )
        columns = (sums(label, column, len(first)) for column in values)
        self._totals.add(calls.name[first], calls.module[first], *columns)
        counted = np.flatnonzero(begins)
        _, first_of = np.unique(label[counted], return_index=True)
        rows = counted[first_of]
        outer = nesting.parent[rows]
        keys = zip(calls.name[rows].tolist(), calls.module[rows].tolist(), strict=True)
        outer_keys = zip(calls.name[outer].tolist(), calls.module[outer].tolist(), strict=True)
        for key, parent, has_parent, thread in zip(
            keys, outer_keys, (outer >= 0).tolist(), nesting.thread[rows].tolist(), strict=True
        ):
            # Of two threads the first counts, of two calls on one the earlier.
            if key not in self._first or thread < self._first[key][0]:
                self._first[key] = thread, parent if has_parent else None

    def table(self) -> ModuleTable | None:
        """All modules so far; None where the profiler recorded none."""
        columns = self._totals.columns()
        name, module, count, host_self, host_total, device_total = columns
        if not len(name):
            return None
        order = np.lexsort((module, name, -host_total))
        keys = list(zip(name[order].tolist(), module[order].tolist(), strict=True))
        row_of = {key: row for row, key in enumerate(keys)}
        outer = (self._first[key][1] for key in keys)
        parent = np.array([-1 if key is None else row_of[key] for key in outer], np.int64)
        times = (column[order] for column in (count, host_self, host_total, device_total))
        return ModuleTable(name[order], module[order], parent, *times)


def summarise_modules(trace: Trace, launches: Launches) -> ModuleTable | None:
    """The modules, None where the profiler recorded none (it needs ``with_stack`` and ``with_modules``)."""
    totals = ModuleTotals()
    totals.add_all(trace, launches)
    return totals.table()


def _modules(trace: Trace) -> PythonSpans:
    return trace.python.select(trace.python.module >= 0)
