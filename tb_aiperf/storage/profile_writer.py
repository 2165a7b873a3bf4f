"""Writing windows of torch.profiler as summaries."""

from __future__ import annotations

import msgspec

from tb_aiperf.records import (
    Attempt,
    CollectiveCalls,
    ProfileWindow,
    StepTimeline,
    TimelinePlace,
    TraceProfile,
    TraceRecording,
)
from tb_aiperf.storage.formats import describe_attempt
from tb_aiperf.storage.profiles import encode_timeline, encode_window, without_events
from tb_aiperf.storage.sink import SummarySink
from tb_aiperf.storage.tags import PROFILE, TIMELINE, chunk_tag


class WindowSummaries(msgspec.Struct, frozen=True):
    """A window as another process has read it, to be written as it is.

    path: of the trace file, compressed. events: how many it holds. profile: payload of the window's summary. timelines:
    how many there are. summaries: (tag, payload, content, step) of all.
    """

    path: str
    events: int
    profile: bytes
    timelines: int
    summaries: list[tuple[str, bytes, bytes, int]]


class ProfileWriter:
    """Writes the windows of one attempt. Not thread-safe: call it from one thread.

    windows, timelines: how many of each the attempt has already; both are numbered from 0. Each step's timeline is a
    summary of its own, so that showing one step reads one step; the window comes last, so that what it refers to is
    there when it is listed. What the sink raises passes through.
    """

    def __init__(self, sink: SummarySink, attempt: Attempt, windows: int = 0, timelines: int = 0) -> None:
        self._sink = sink
        self._attempt = attempt
        self._windows = windows
        self._timelines = timelines

    def write(self, recording: TraceRecording, recorded_unix_ns: int) -> int:
        """Write the next window and flush the sink; returns the window's number.

        recorded_unix_ns: when it was recorded. A timeline too large to be read again is stored without its events, and
        collectives that are too many are left out, which a warning of the profile tells. Raises ValueError for a
        profile that is too large even so.
        """
        places = [self._write_timeline(timeline) for timeline in recording.timelines]
        number, profile = self._windows, recording.profile
        payload = self._encode(profile, recording.calls, places)
        steps = [step.step for step in profile.steps if step.step is not None]
        index = describe_attempt(
            self._attempt,
            rows=len(profile.steps),
            steps=len(steps),
            first=min(steps, default=None),
            last=max(steps, default=None),
            recorded=recorded_unix_ns,
        )
        self._add(PROFILE, number, payload, msgspec.json.encode(index))
        self._windows += 1
        self._sink.flush()
        return number

    def _write_timeline(self, timeline: StepTimeline) -> TimelinePlace:
        number = self._timelines
        try:
            payload = encode_timeline(timeline, self._attempt.id, number)
        except ValueError:
            timeline = without_events(timeline)
            payload = encode_timeline(timeline, self._attempt.id, number)
        step = timeline.step
        index = describe_attempt(
            self._attempt, rows=len(timeline), steps=0 if step is None else 1, first=step, last=step
        )
        self._add(TIMELINE, number, payload, msgspec.json.encode(index))
        self._timelines += 1
        return TimelinePlace(step=step, chunk=number, events=len(timeline), left_out=timeline.left_out)

    def _encode(self, profile: TraceProfile, calls: CollectiveCalls | None, places: list[TimelinePlace]) -> bytes:
        try:
            return self._encode_window(profile, calls, places)
        except ValueError:
            if calls is None:
                raise
        told = f"{len(calls.operation):,} collectives are too many to be stored; ranks cannot be compared"
        profile = msgspec.structs.replace(profile, warnings=[*profile.warnings, told])
        return self._encode_window(profile, None, places)

    def _encode_window(
        self, profile: TraceProfile, calls: CollectiveCalls | None, places: list[TimelinePlace]
    ) -> bytes:
        window = ProfileWindow(profile=profile, calls=calls, timelines=places)
        return encode_window(window, self._attempt.id, self._windows)

    def _add(self, series: str, number: int, payload: bytes, content: bytes) -> None:
        # Step 0: a run resumed from before the window (`purge_step`) still shows what was recorded.
        self._sink.add(chunk_tag(series, self._attempt.id, number), payload, content, 0)
