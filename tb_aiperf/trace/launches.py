"""Which runtime call launched which device work, by the correlation id that the profiler gives to both."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.kinds import name_mask
from tb_aiperf.trace.table import BoolArray, DeviceSpans, IntArray, RuntimeSpans, Trace

_KERNEL_LAUNCH = re.compile(r"Launch\w*Kernel")
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of n pieces of device work.

    call    [n] index into the runtime table, -1 where the launch is not in the trace
    device  the device work; runtime: the calls
    missing [calls] launches of kernels whose kernel is not in the trace
    """

    call: IntArray
    device: DeviceSpans
    runtime: RuntimeSpans
    missing: BoolArray

    @property
    def known(self) -> BoolArray:
        """[n] whether the launch is in the trace."""
        return self.call >= 0

    def last_end(self, start: IntArray, end: IntArray) -> IntArray:
        """[k] end of the last device work launched by a call that begins inside each window; least int64 if none."""
        rows = np.flatnonzero(self.known)
        launched = self.runtime.start[self.call[rows]]
        order = np.argsort(launched, kind="stable")
        launched, ends = launched[order], self.device.end[rows[order]]
        first = np.searchsorted(launched, start, side="left")
        stop = np.searchsorted(launched, end, side="left")
        return np.array(
            [ends[low:high].max(initial=_NEVER) for low, high in zip(first.tolist(), stop.tolist(), strict=True)],
            np.int64,
        )


def find_launches(trace: Trace) -> Launches:
    """Match device work with runtime and driver calls. Of several calls with one id, the first counts.

    The profiler counts from 1; where it knows no id, it writes 0 or none.
    """
    runtime, device = trace.runtime, trace.device
    numbered = np.flatnonzero(runtime.correlation > 0)
    order = numbered[np.lexsort((runtime.start[numbered], runtime.correlation[numbered]))]
    ids = runtime.correlation[order]
    at = np.searchsorted(ids, device.correlation, side="left")
    found = np.append(ids, -1)[at] == device.correlation
    call = np.where(found & (device.correlation > 0), np.append(order, -1)[at], -1)
    launches_kernel = name_mask(trace.names, _KERNEL_LAUNCH, anywhere=True)[runtime.name]
    missing = launches_kernel & (runtime.correlation > 0) & ~np.isin(runtime.correlation, device.correlation)
    return Launches(call, device, runtime, missing)
