"""`read_trace`: a torch.profiler trace file as a `Trace`."""

from __future__ import annotations

import os
import re
from typing import Any

from tb_aiperf.trace.columns import Columns
from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.table import (
    AnnotationSpans,
    Device,
    DeviceSpans,
    MemoryEvents,
    OperatorSpans,
    OverheadSpans,
    PythonSpans,
    RuntimeSpans,
    Trace,
)
from tb_aiperf.trace.windows import EventFile

_RANK_IN_NAME = re.compile(r"rank[-_]?(\d+)", re.IGNORECASE)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace as torch.profiler exports it: ``.json`` or ``.json.gz``, an object or a bare list of events.

    What can be salvaged from a damaged file is; `Trace.warnings` says what could not, and where. Memory holds the
    columns and one window of events, however large the file. Raises `TraceError` if nothing usable is in it.
    """
    notes = Notes()
    columns = Columns(notes)
    file = EventFile(path, notes)
    for events in file.windows():
        columns.add(events)
    metadata = file.metadata
    distributed = metadata.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    rank = _whole(distributed.get("rank"))
    if rank is None and (match := _RANK_IN_NAME.search(os.path.basename(path))):
        rank = int(match[1])
    operators, annotations = columns.take(OperatorSpans), columns.take(AnnotationSpans)
    runtime, device = columns.take(RuntimeSpans), columns.take(DeviceSpans)
    if not (len(operators) or len(annotations) or len(runtime) or len(device)):
        raise TraceError(
            path,
            "records no operator, annotation or device work",
            "the whole file",
            "The profiler's schedule may have had no active step; record at least one.",
        )
    backend = distributed.get("backend")
    for category, count in columns.unknown_categories.items():
        notes.add(f"events of the unknown category {category!r} were left out", count=count)
    return Trace(
        path=os.fspath(path),
        names=columns.names,
        shapes=columns.shapes,
        threads=columns.threads,
        collectives=tuple(columns.collectives),
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
        base_ns=_whole(metadata.get("baseTimeNanoseconds")) or 0,
        warnings=tuple(notes.warnings()),
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
