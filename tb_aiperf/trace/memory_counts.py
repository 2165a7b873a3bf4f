"""What must be known of memory events before they can be looked at in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.grouping import label_groups
from tb_aiperf.trace.table import MemoryEvents


@dataclass(frozen=True, slots=True)
class MemoryCount:
    """What must be known of a device's events before they are looked at: their number, and which totals they hold."""

    events: int
    allocated: bool
    reserved: bool


#: By torch's numbers of the device's type and of the device.
DeviceKey = tuple[int, int]
MemoryCounts = dict[DeviceKey, MemoryCount]


def count_memory(events: MemoryEvents, counts: Mapping[DeviceKey, MemoryCount] | None = None) -> MemoryCounts:
    """Counts of each device: those given, with more events."""
    found = dict(counts or {})
    first, label = label_groups(events.device_type, events.device)
    allocated, reserved = (np.zeros(len(first), np.int64) for _ in range(2))
    np.maximum.at(allocated, label, events.allocated)
    np.maximum.at(reserved, label, events.reserved)
    number = np.bincount(label, minlength=len(first))
    for row, place in enumerate(first.tolist()):
        key = int(events.device_type[place]), int(events.device[place])
        before = found.get(key, MemoryCount(0, allocated=False, reserved=False))
        found[key] = MemoryCount(
            before.events + int(number[row]),
            allocated=before.allocated or bool(allocated[row] > 0),
            reserved=before.reserved or bool(reserved[row] > 0),
        )
    return found
