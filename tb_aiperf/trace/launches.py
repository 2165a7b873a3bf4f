"""Which runtime call launched which device work, by the correlation id that the profiler gives to both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_aiperf.trace.kinds import name_mask
from tb_aiperf.trace.table import BoolArray, DeviceSpans, IntArray, RuntimeSpans, SmallArray, Trace

_KERNEL_LAUNCH = re.compile(r"Launch\w*Kernel")
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class LaunchedWork:
    """m pieces of device work with their launches.

    device  their columns
    start   [m] nanoseconds: when the launching call began
    thread  [m] index into `Trace.threads`: where it ran
    """

    device: DeviceSpans
    start: IntArray
    thread: SmallArray

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> IntArray:
        """[m] nanoseconds of the work itself."""
        return self.device.end - self.device.start

    def last_end(self, start: IntArray, end: IntArray) -> IntArray:
        """[k] end of the last device work launched by a call that begins inside each window; least int64 if none."""
        order = np.argsort(self.start, kind="stable")
        launched, ends = self.start[order], self.device.end[order]
        first = np.searchsorted(launched, start, side="left")
        stop = np.searchsorted(launched, end, side="left")
        last = np.full(len(start), _NEVER)
        for window in np.flatnonzero(first < stop).tolist():
            last[window] = ends[first[window] : stop[window]].max()
        return last


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of n pieces of device work.

    device   the device work; runtime: the calls
    known    [n] whether the launch is in the trace
    start    [n] nanoseconds: when the launching call began; undefined where not known
    thread   [n] index into `Trace.threads`: where it ran; undefined where not known
    call     [n] index into `runtime`, -1 where the launch is not known or, in a segment, not among its calls
    missing  [calls] launches of kernels whose kernel is not in the trace
    """

    device: DeviceSpans
    runtime: RuntimeSpans
    known: BoolArray
    start: IntArray
    thread: SmallArray
    call: IntArray
    missing: BoolArray

    def launched(self) -> LaunchedWork:
        """The device work whose launch is in the trace."""
        known = self.known
        return LaunchedWork(self.device.select(known), self.start[known], self.thread[known])


def find_launches(trace: Trace) -> Launches:
    """Match device work with runtime and driver calls. Of several calls with one id, the first counts.

    The profiler counts from 1; where it knows no id, it writes 0 or none.
    """
    runtime, device = trace.runtime, trace.device
    call = first_calls(runtime.correlation, runtime.start, device.correlation)
    missing = launches_kernel(trace.names, runtime.name)
    missing &= (runtime.correlation > 0) & ~np.isin(runtime.correlation, device.correlation)
    start, thread = np.append(runtime.start, 0)[call], np.append(runtime.thread, np.int32(0))[call]
    return Launches(device, runtime, call >= 0, start, thread, call, missing)


def launches_kernel(names: Sequence[str], name: SmallArray) -> BoolArray:
    """[n] whether calls of these names launch kernels."""
    result: BoolArray = name_mask(names, _KERNEL_LAUNCH, anywhere=True)[name]
    return result


def first_calls(correlation: IntArray, start: IntArray, wanted: IntArray) -> IntArray:
    """[n] place of the first call with each wanted correlation id; -1 where no call has it, or it is none (below 1)."""
    numbered = np.flatnonzero(correlation > 0)
    order = numbered[np.lexsort((start[numbered], correlation[numbered]))]
    ids = correlation[order]
    at = np.searchsorted(ids, wanted, side="left")
    found = np.append(ids, -1)[at] == wanted
    return np.where(found & (wanted > 0), np.append(order, -1)[at], -1)
