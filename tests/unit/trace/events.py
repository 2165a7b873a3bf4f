"""Small traces by hand: times in microseconds, one host thread, one device with one stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_aiperf.trace import Trace, read_trace

Event = dict[str, Any]


def span(name: str, ts: float, dur: float, cat: str = "cpu_op", tid: int | str = 1, pid: int = 1, **args: Any) -> Event:
    """A complete event; args may hold keys with blanks through ``**{...}``."""
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def mark(number: int, ts: float, dur: float) -> Event:
    """A step mark."""
    return span(f"ProfilerStep#{number}", ts, dur, "user_annotation")


def marks_after(gaps: list[tuple[float, float]]) -> list[Event]:
    """Step marks from 0, each given by the gap before it and its length."""
    marks, at = [], 0.0
    for number, (gap, length) in enumerate(gaps):
        marks.append(mark(number, at + gap, length))
        at += gap + length
    return marks


def launch(correlation: int, ts: float, dur: float, tid: int = 1, name: str = "cudaLaunchKernel") -> Event:
    """A runtime call."""
    return span(name, ts, dur, "cuda_runtime", tid, correlation=correlation)


def kernel(
    correlation: int, ts: float, dur: float, name: str = "gemm", cat: str = "kernel", stream: int = 7, **args: Any
) -> Event:
    """Device work."""
    return span(name, ts, dur, cat, stream, 0, correlation=correlation, **args)


def loading(ts: float, dur: float) -> Event:
    """The program waits in its data loader."""
    return span("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ts, dur, "user_annotation")


def document(events: list[Event], **metadata: Any) -> bytes:
    """A trace file's text."""
    return json.dumps({"schemaVersion": 1, **metadata, "traceEvents": events}).encode()


def write(path: Path, events: list[Event], **metadata: Any) -> Path:
    """A trace file."""
    path.write_bytes(document(events, **metadata))
    return path


def read(directory: Path, events: list[Event], **metadata: Any) -> Trace:
    """The columns of a trace of these events."""
    return read_trace(write(directory / "trace.json", events, **metadata))
