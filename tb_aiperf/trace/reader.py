"""`read_trace`: a torch.profiler trace file as a `Trace`; `open_trace`: as segments, whatever its size."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tb_aiperf.trace.columns import Columns
from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.large import LargeTrace
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.segments import TraceSource, WholeTrace
from tb_aiperf.trace.table import (
    AnnotationSpans,
    Device,
    DeviceSpans,
    MemoryEvents,
    Names,
    OperatorSpans,
    OverheadSpans,
    PythonSpans,
    RuntimeSpans,
    Trace,
)
from tb_aiperf.trace.windows import EventFile

#: Rows of a file that are kept in memory; of a larger one, all go to disk. A file just below it (about 500 MB of JSON)
#: takes 190 MB of memory in all, 290 MB with timelines; files of 1.5, 3 and 6 GB take 160, 230 and 240 MB, and 370 MB
#: with timelines.
MEMORY_BYTES = 64 << 20
#: What a row takes, on average.
_ROW_BYTES = 44
#: Of which a segment holds this part: its analysis takes several times the memory of its rows.
_SEGMENTS_IN_MEMORY = 4

#: A base of the clock beyond this is none: with a time it could leave 64 bits. It lies in the year 2116.
_MAX_BASE_NS = 1 << 62
_RANK_IN_NAME = re.compile(r"rank[-_]?(\d+)", re.IGNORECASE)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace as torch.profiler exports it: ``.json`` or ``.json.gz``, an object or a bare list of events.

    What can be salvaged from a damaged file is; `Trace.warnings` says what could not, and where. Memory holds all
    columns and one window of events. Raises `TraceError` if nothing usable is in the file.
    """
    reading = _Reading(path)
    for _ in reading.windows():
        pass
    return reading.trace()


@contextmanager
def open_trace(path: str | os.PathLike[str], memory_bytes: int = MEMORY_BYTES) -> Iterator[TraceSource]:
    """Read a trace of any size as segments, see `read_trace`.

    Above `memory_bytes` of rows they are kept in temporary files, which are gone in the end. Raises `TraceError`, also
    for a full disk.
    """
    reading = _Reading(path)
    large: LargeTrace | None = None
    try:
        for _ in reading.windows():
            if len(reading.columns) * _ROW_BYTES > memory_bytes:
                large = large or LargeTrace(os.fspath(path), memory_bytes // _SEGMENTS_IN_MEMORY)
                large.take(reading.columns)
        if large is None:
            yield WholeTrace(reading.trace())
        else:
            large.take(reading.columns)
            large.finish(reading.trace(large.is_empty))
            yield large
    finally:
        if large is not None:
            large.close()


class _Reading:
    """The reading of a file into columns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._notes = Notes()
        self._file = EventFile(path, self._notes)
        self.columns = Columns(self._notes)

    def windows(self) -> Iterator[int]:
        """Read a window; how many rows it added."""
        return self._file.read_into(self.columns)

    def trace(self, is_empty: bool | None = None) -> Trace:
        """The rows that were not taken from the columns, and all else that is known after the last window.

        is_empty: whether the file has no rows; the rows here tell if None. Raises `TraceError` if it is.
        """
        columns, metadata = self.columns, self._file.metadata
        operators, annotations = columns.take(OperatorSpans), columns.take(AnnotationSpans)
        runtime, device = columns.take(RuntimeSpans), columns.take(DeviceSpans)
        if is_empty is None:
            is_empty = not (len(operators) or len(annotations) or len(runtime) or len(device))
        if is_empty:
            raise TraceError(
                self._path,
                "records no operator, annotation or device work",
                "the whole file",
                "The profiler's schedule may have had no active step; record at least one.",
            )
        distributed = metadata.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        rank = _whole(distributed.get("rank"))
        if rank is None and (match := _RANK_IN_NAME.search(os.path.basename(self._path))):
            rank = int(match[1])
        backend, base_ns = distributed.get("backend"), _whole(metadata.get("baseTimeNanoseconds")) or 0
        for category, count in columns.unknown_categories.items():
            self._notes.add(f"events of the unknown category {category!r} were left out", count=count)
        return Trace(
            # As text that any encoding takes: a name may hold bytes that are none.
            path=os.fsencode(self._path).decode("utf-8", "replace"),
            names=Names(columns.names),
            shapes=columns.shapes,
            threads=columns.threads,
            collectives=columns.collectives,
            operators=operators,
            annotations=annotations,
            runtime=runtime,
            device=device,
            python=columns.take(PythonSpans),
            overhead=columns.take(OverheadSpans),
            memory=columns.take(MemoryEvents),
            devices=_devices(metadata.get("deviceProperties")),
            backend=backend if isinstance(backend, str) else None,
            rank=rank,
            world_size=_whole(distributed.get("world_size")),
            base_ns=base_ns if abs(base_ns) <= _MAX_BASE_NS else 0,
            warnings=tuple(self._notes.warnings()),
        )


def _devices(properties: Any) -> tuple[Device, ...]:
    if not isinstance(properties, list):
        return ()
    devices = []
    for entry in properties:
        if isinstance(entry, dict) and (number := _whole(entry.get("id"))) is not None:
            name = entry.get("name")
            devices.append(Device(number, name if isinstance(name, str) else None, _whole(entry.get("totalGlobalMem"))))
    return tuple(devices)


def _whole(value: Any) -> int | None:
    """The value if it is an integer that a record can hold."""
    return value if type(value) is int and abs(value) < 1 << 63 else None
