"""``torch.nn.Module``s: calls, host time and device time, where the profiler recorded them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups, sums
from tb_aiperf.trace.launches import Launches
from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.table import IntArray, Trace


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


def summarise_modules(trace: Trace, launches: Launches) -> ModuleTable | None:
    """The modules, None where the profiler recorded none (it needs ``with_stack`` and ``with_modules``)."""
    modules = trace.python.select(trace.python.module >= 0)
    if not len(modules):
        return None
    nesting = nest(modules)
    calls = modules.select(nesting.order)
    first, label = label_groups(calls.name, calls.module)
    outermost = ~nesting.is_recursive(label)
    known = np.flatnonzero(launches.known)
    call = launches.call[known]
    place = nesting.innermost(trace.runtime.thread[call], trace.runtime.start[call])
    duration = trace.device.end[known] - trace.device.start[known]
    device = sums(place[place >= 0], duration[place >= 0], len(calls))
    count = np.bincount(label).astype(np.int64)
    host_self, host_total, device_total = (
        sums(label, values, len(first))
        for values in (
            nesting.self_time(),
            np.where(outermost, nesting.end - nesting.start, 0),
            np.where(outermost, nesting.subtree_sum(device), 0),
        )
    )
    name, module = calls.name[first].astype(np.int64), calls.module[first]
    order = np.lexsort((module, name, -host_total))
    row_of = np.empty(len(order), np.int64)
    row_of[order] = np.arange(len(order))
    outer = nesting.parent[first]
    parent = np.where(outer >= 0, row_of[label[outer]], -1)
    columns = (name, module, parent, count, host_self, host_total, device_total)
    return ModuleTable(*(column[order] for column in columns))
