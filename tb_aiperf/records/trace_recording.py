"""`TraceRecording`: all that is kept of a trace file, and `ProfileWindow`: how a run holds it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tb_aiperf.records.step_timeline import StepTimeline
from tb_aiperf.records.trace_profile import CollectiveCalls, TraceProfile


@dataclass(frozen=True)
class TraceRecording:
    """One trace file of one rank. calls: None without collectives. timelines: one per step of the profile, in order."""

    profile: TraceProfile
    calls: CollectiveCalls | None
    timelines: tuple[StepTimeline, ...]


class TimelinePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the timeline of a step is stored.

    step: its number, None without marks. chunk: number of the summary. events, left_out: as in `StepTimeline`.
    """

    step: int | None
    chunk: int
    events: int
    left_out: int


class ProfileWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded window of one rank, as a run holds it. timelines: one per step of the profile, in order."""

    profile: TraceProfile
    calls: CollectiveCalls | None
    timelines: list[TimelinePlace]
