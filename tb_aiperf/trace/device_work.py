"""Device work by name and by the operator that launched it, copies and memory sets included."""

from __future__ import annotations

import numpy as np

from tb_aiperf.records import DeviceWorkTimes
from tb_aiperf.trace.kinds import COLLECTIVE_KERNEL, name_mask
from tb_aiperf.trace.limits import MAX_ROWS, keep_largest
from tb_aiperf.trace.segments import Segment
from tb_aiperf.trace.table import KERNEL, MEMCPY, MEMSET, DeviceSpans, IntArray
from tb_aiperf.trace.totals import Totals

_KINDS = {KERNEL: "kernel", MEMCPY: "memcpy", MEMSET: "memset"}
_NO_OPERATOR = -1


class DeviceWork:
    """Adds up device work, segment by segment."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        #: By name, category and operator: pieces, nanoseconds, the shortest and the longest.
        self._totals = Totals(3, (np.add, np.add, np.minimum, np.maximum))

    def add(self, segment: Segment) -> None:
        """Take what was launched in a segment, and what was begun in it and has no launch in the trace."""
        self._names = segment.trace.names
        operator = np.append(segment.operators.calls.name, _NO_OPERATOR)[segment.operators.operator_of]
        self._add(segment.launched.device, operator)
        device = segment.trace.device
        unknown = device.select(~segment.launches.known & segment.begins(device.start))
        self._add(unknown, np.full(len(unknown), _NO_OPERATOR))

    def _add(self, work: DeviceSpans, operator: IntArray) -> None:
        duration = work.end - work.start
        ones = np.ones(len(work), np.int64)
        self._totals.add(work.name, work.category, operator, ones, duration, duration, duration)

    def result(self) -> tuple[list[DeviceWorkTimes], list[str]]:
        """The rows with the most time, largest first, and warnings."""
        columns = self._totals.columns()
        name, category, operator, calls, total, low, high = columns
        names = self._names
        # Names have numbers in order of appearance in the file, so this order does not depend on where it was cut.
        order = np.lexsort((operator, category, name, -total))
        collective = name_mask(names, COLLECTIVE_KERNEL, anywhere=True)
        rows = [
            DeviceWorkTimes(
                name=names[name],
                kind="communication" if category == KERNEL and collective[name] else _KINDS[category],
                operator=names[operator] if operator != _NO_OPERATOR else None,
                calls=calls,
                total_us=total / 1000,
                min_us=low / 1000,
                max_us=high / 1000,
            )
            for name, category, operator, calls, total, low, high in zip(
                *(column[order].tolist() for column in (name, category, operator, calls, total, low, high)), strict=True
            )
        ]
        return keep_largest(rows, lambda row: row.total_us, "device work by operator", MAX_ROWS)
