"""`Attempt`: one call of fit, validate, test or predict (or one run of a pipeline), on one rank."""

from __future__ import annotations

import datetime
import os
import time

import msgspec

from tb_aiperf.records.stages import LOOPS


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Identity and clock of an attempt. A resume is a new attempt.

    id: sortable by start time, the same on every rank. loop: one of `LOOPS`. started_unix_ns: wall-clock at row time 0.
    notes: caveats of this attempt's measurement, shown wherever its numbers are.
    """

    id: str
    loop: str
    started_unix_ns: int
    rank: int = 0
    world_size: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.loop not in LOOPS:
            raise ValueError(f"loop {self.loop!r} is not one of {LOOPS}")
        if "/" in self.id or not self.id:
            raise ValueError(f"attempt id {self.id!r} must be one non-empty path component")


_latest_us = 0


def new_attempt_id() -> str:
    """An id that sorts by time, in UTC with microseconds: ``20261130T214150.123456Z-9f3a``.

    Unique: it rises within a process though the clock may stand or go back, and ends in chance for other processes.
    """
    global _latest_us
    _latest_us = max(time.time_ns() // 1000, _latest_us + 1)
    moment = datetime.datetime.fromtimestamp(_latest_us // 1_000_000, tz=datetime.timezone.utc)
    return f"{moment:%Y%m%dT%H%M%S}.{_latest_us % 1_000_000:06d}Z-{os.urandom(2).hex()}"
