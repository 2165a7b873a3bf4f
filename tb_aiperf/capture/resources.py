"""`ResourceSampler`: what process and machine do beside the steps, one sample per call.

A *source* measures a few quantities together. A source that raises gives NaN for that sample; one that cannot measure
on this machine, or fails three times in a row, is switched off with a note. A quantity is absent, not zero, where
nothing measures it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from tb_aiperf.capture.gpus import GpuSource, VisibleGpus
from tb_aiperf.capture.machine import CpuSource, DiskSource, MemorySource, NetworkSource
from tb_aiperf.capture.process_tree import ProcessSource
from tb_aiperf.capture.rates import Unavailable
from tb_aiperf.records import QUANTITIES, ResourceTable

#: Failures in a row after which a source is switched off.
FAILURES_ALLOWED = 3
#: Samples kept until they are taken: an hour at one per second.
CAPACITY = 3600

_QUANTITY_KEYS = tuple(quantity.key for quantity in QUANTITIES)


class Source(Protocol):
    """Measures `keys` together. name: what its notes say."""

    name: str
    keys: tuple[str, ...]

    def read(self, now_ns: int) -> Mapping[str, float]:
        """Values at `now_ns` (`time.perf_counter_ns`), in the units of `QUANTITIES`.

        A rate is NaN at the first call. Raises `Unavailable` where this machine cannot tell, anything else where one
        reading failed.
        """
        ...


def standard_sources(gpu_ordinals: Sequence[int] | None = None) -> list[Source]:
    """Sources for every quantity. gpu_ordinals: see `ResourceSampler`."""
    gpus = VisibleGpus(gpu_ordinals)
    return [
        ProcessSource(),
        CpuSource(),
        MemorySource(),
        DiskSource(),
        NetworkSource(),
        GpuSource("gpu_utilisation_share", gpus),
        GpuSource("gpu_memory_bytes", gpus),
        GpuSource("gpu_power_watts", gpus),
    ]


class ResourceSampler:
    """Collects samples of `QUANTITIES` into a bounded buffer. Never raises.

    origin_ns: `time.perf_counter_ns` at row time 0. gpu_ordinals: CUDA ordinals that this process computes on, such as
    its own one of the eight that each rank can see; None means all visible ones. capacity: samples kept until taken;
    beyond it the oldest are dropped. sources, clock: for tests.

    The sources open their files and NVML at the first sample, so all samples belong in one thread. `take` may be called
    from another. In a forked child, `sample` does nothing.
    """

    def __init__(
        self,
        origin_ns: int,
        gpu_ordinals: Sequence[int] | None = None,
        capacity: int = CAPACITY,
        sources: Sequence[Source] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._origin_ns = origin_ns
        self._sources: list[Source] = list(standard_sources(gpu_ordinals) if sources is None else sources)
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._rows: deque[tuple[int, Mapping[str, float]]] = deque(maxlen=capacity)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._dropped = 0
        self._notes: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not measured and why, and how many samples were dropped."""
        dropped = (f"{self._dropped} resource samples dropped: not taken in time",) if self._dropped else ()
        return (*self._notes, *dropped)

    def sample(self) -> dict[str, float]:
        """Measure once, keep the sample for `take` and return it: quantity key -> value, NaN where a reading failed.

        The first call gives NaN for every rate: it reads the counters that the second is compared with.
        """
        if os.getpid() != self._pid:
            return {}
        time_us = (self._clock() - self._origin_ns) // 1000
        values: dict[str, float] = {}
        for source in tuple(self._sources):
            values.update(self._read(source))
        with self._lock:
            self._dropped += len(self._rows) == self._rows.maxlen
            self._rows.append((time_us, values))
        return values

    def take(self) -> ResourceTable:
        """The samples since the last call, oldest first. A quantity without any value among them has no key."""
        with self._lock:
            rows = list(self._rows)
            self._rows.clear()
        time_us = np.array([time for time, _ in rows], np.int64)
        columns: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
        for key in _QUANTITY_KEYS:
            column = np.array([values.get(key, math.nan) for _, values in rows], np.float64)
            if not np.isnan(column).all():
                columns[key] = column
        return ResourceTable(time_us=time_us, values=columns)

    def _read(self, source: Source) -> Mapping[str, float]:
        try:
            values = dict(source.read(self._clock()))
        except Unavailable as reason:
            self._switch_off(source, str(reason))
            return {}
        except Exception as error:  # noqa: BLE001  nothing here may harm the training
            self._failures[source.name] = failures = self._failures.get(source.name, 0) + 1
            if failures >= FAILURES_ALLOWED:
                self._switch_off(source, f"failed {failures} times in a row: {type(error).__name__}: {error}")
            return dict.fromkeys(source.keys, math.nan)
        self._failures[source.name] = 0
        return values

    def _switch_off(self, source: Source, reason: str) -> None:
        self._sources.remove(source)
        self._notes.append(f"{source.name} not measured: {reason}")
