"""`analyze`: trace files as a `TraceAnalysis`; `record_trace`: one as all that is kept of it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tb_aiperf.records import TraceAnalysis, TraceRecording
from tb_aiperf.trace.profile import TraceReading
from tb_aiperf.trace.ranks import match_profiles
from tb_aiperf.trace.reader import open_trace


def analyze(paths: Iterable[str | os.PathLike[str]]) -> TraceAnalysis:
    """Read trace files, one per rank of the same run where there are several; one at a time is in memory.

    Raises `TraceError` for a file of which nothing can be used.
    """
    recordings = [_read(path, timelines=False) for path in paths]
    profiles = [recording.profile for recording in recordings]
    collectives = match_profiles(profiles, [recording.calls for recording in recordings])
    return TraceAnalysis(traces=profiles, collectives=collectives)


def record_trace(path: str | os.PathLike[str]) -> TraceRecording:
    """Read a trace file of any size; what does not fit in memory is kept in temporary files meanwhile.

    Raises `TraceError` if nothing of it can be used.
    """
    return _read(path, timelines=True)


def _read(path: str | os.PathLike[str], *, timelines: bool) -> TraceRecording:
    with open_trace(path) as source:
        reading = TraceReading(source, timelines=timelines)
        return TraceRecording(profile=reading.profile(), calls=reading.calls(), timelines=reading.timelines())
