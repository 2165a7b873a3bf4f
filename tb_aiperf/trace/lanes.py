"""Lanes of a timeline: threads of the host, their Python frames, and streams of devices, in order and with titles."""

from __future__ import annotations

import numpy as np

from tb_aiperf.trace.table import SmallArray, Trace
from tb_aiperf.trace.totals import Integers

#: What of a thread a lane shows.
HOST, PYTHON, DEVICE = range(3)

Label = int | str


class Lanes:
    """Numbers the lanes of a trace. The main thread comes first, then the others as they come in the file.

    trace: tells what is known of the whole file.
    """

    def __init__(self, trace: Trace) -> None:
        self._threads = trace.threads
        count = len(trace.threads)
        host = sorted(range(count), key=lambda thread: not _is_main(*trace.threads[thread]))
        device = sorted(range(count), key=lambda thread: tuple(map(_by_label, trace.threads[thread])))
        #: Threads in the order of their lanes, and the place of each thread in it.
        self._order = np.array(host, np.int64), np.array(device, np.int64)
        self._place = np.argsort(self._order[0]), np.argsort(self._order[1])
        #: Threads of the host that have events, and those on which autograd runs backward calls.
        self._used = np.zeros(count, np.bool_)
        self._backward = np.zeros(count, np.bool_)

    def add(self, trace: Trace) -> None:
        """Look at a part of the trace, for titles."""
        for table in (trace.operators, trace.annotations, trace.runtime, trace.python):
            self._used[table.thread] = True
        operators = trace.operators
        self._backward[operators.thread[operators.forward_thread > 0]] = True

    def number(self, thread: Integers, part: Integers) -> tuple[list[tuple[str, str]], SmallArray]:
        """Kind and title of each lane that events have, in order, and [n] the lane of each event.

        thread: [n] index into `Trace.threads`. part: [n] HOST, PYTHON or DEVICE.
        """
        host, device = self._place
        behind = 2 * len(self._threads)
        key = np.where(part == DEVICE, behind + device[thread], 2 * host[thread] + part)
        keys, lane = np.unique(key, return_inverse=True)
        processes = {self._threads[used][0] for used in np.flatnonzero(self._used).tolist()}
        return [self._name(key, len(processes) > 1) for key in keys.tolist()], lane.astype(np.int32)

    def _name(self, key: int, several: bool) -> tuple[str, str]:
        """Kind and title of a lane. several: whether the host has several processes."""
        behind = 2 * len(self._threads)
        if key >= behind:
            device, stream = self._threads[self._order[1][key - behind]]
            named = isinstance(stream, str) and stream.lower().startswith("stream")
            return "device", f"GPU {device} {stream if named else f'stream {stream}'}"
        number = self._order[0][key // 2]
        process, thread = self._threads[number]
        title = f"thread {thread}"
        if several:
            title = f"process {process} {title}"
        if key % 2 == PYTHON:
            return "python", f"{title}, Python"
        if _is_main(process, thread):
            title += " (main)"
        elif self._backward[number]:
            title += " (backward)"
        return "host", title


def _is_main(process: Label, thread: Label) -> bool:
    """Whether a thread is the first of its process: on Linux, both have the same number."""
    return process == thread


def _by_label(label: Label) -> tuple[bool, Label]:
    """Sorts numbers before texts."""
    return isinstance(label, str), label
