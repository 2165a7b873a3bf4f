"""Rates from counters."""

from __future__ import annotations

import math
from collections.abc import Mapping


class Unavailable(Exception):  # noqa: N818  a state of the machine rather than an error
    """This machine or installation cannot measure a quantity; trying again is no use."""


class CounterRate:
    """Rate of a sum of counters, one per device, from one reading to the next.

    A device adds to the rate from its second reading on; a counter that went back (it wrapped, or the device was
    replaced) adds nothing for that interval.
    """

    def __init__(self) -> None:
        self._time_ns = 0
        self._counters: Mapping[str, float] | None = None

    def update(self, now_ns: int, counters: Mapping[str, float]) -> float:
        """Units per second since the last call; NaN at the first."""
        before, elapsed_s = self._counters, (now_ns - self._time_ns) / 1e9
        self._time_ns, self._counters = now_ns, dict(counters)
        if before is None or elapsed_s <= 0:
            return math.nan
        return sum(max(0.0, value - before[name]) for name, value in counters.items() if name in before) / elapsed_s
