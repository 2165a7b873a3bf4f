"""Reads one window's trace in a process of its own: ``python -m tb_aiperf.window_reader TRACE WINDOW TIMELINES``.

It compresses the file, analyses it and prints the summaries to be written, so that nothing of this takes time from the
training. TRACE is the exported file, WINDOW its number in the attempt, TIMELINES how many timelines the attempt has
already; the attempt itself comes as JSON on standard input. Standard output is `WindowSummaries` as MessagePack.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
from isal import igzip

from tb_aiperf.records import Attempt
from tb_aiperf.storage.profile_writer import ProfileWriter, WindowSummaries
from tb_aiperf.storage.tags import PROFILE, chunk_tag
from tb_aiperf.trace import TraceError
from tb_aiperf.trace.analysis import record_trace

_BLOCK_BYTES = 1 << 20
#: Begins every event that has a duration or a moment.
_EVENT = b'"ph":'


class _Collected:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.summaries: list[tuple[str, bytes, bytes, int]] = []

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        self.summaries.append((tag, payload, content, step))

    def flush(self) -> None:
        pass


def compress(path: str) -> tuple[str, int]:
    """Replace a file by its gzipped self; its new path, and how many events it holds. Raises OSError."""
    target, events = f"{path}.gz", 0
    part = f"{target}.part"
    try:
        # Untyped in isal's stub.
        gzip_file: Any = igzip.IGzipFile
        with open(path, "rb") as source, gzip_file(part, "wb", compresslevel=2) as packed:
            rest = b""
            while block := source.read(_BLOCK_BYTES):
                events += (rest + block).count(_EVENT)
                rest = block[1 - len(_EVENT) :]
                packed.write(block)
        os.replace(part, target)
    except OSError:
        if os.path.exists(part):
            os.remove(part)
        raise
    os.remove(path)
    return target, events


def read_window(path: str, attempt: Attempt, window: int, timelines: int) -> WindowSummaries:
    """Compress and read a window's trace. Raises `TraceError`, OSError."""
    recorded = os.stat(path).st_mtime_ns
    packed, events = compress(path)
    recording = record_trace(packed)
    sink = _Collected()
    writer = ProfileWriter(sink, attempt, window, timelines)
    number = writer.write(recording, recorded)
    tag = chunk_tag(PROFILE, attempt.id, number)
    payload = next(summary[1] for summary in sink.summaries if summary[0] == tag)
    return WindowSummaries(packed, events, payload, len(recording.timelines), sink.summaries)


def lower_priority() -> None:
    """Give way to everything else on the machine."""
    if hasattr(os, "nice"):
        os.nice(10)
        return
    import psutil

    psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)


def main(arguments: list[str]) -> int:
    """Entry point; 1 with one line on standard error if the file cannot be read."""
    lower_priority()
    path, window, timelines = arguments[0], int(arguments[1]), int(arguments[2])
    attempt = msgspec.json.decode(sys.stdin.buffer.read(), type=Attempt)
    try:
        analysis = read_window(path, attempt, window, timelines)
    except (TraceError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(msgspec.msgpack.encode(analysis))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
