"""What a run holds, read from its listing alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from tb_aiperf.records import LOOPS
from tb_aiperf.storage.source import Entry
from tb_aiperf.storage.tags import INDEX_VERSION, PROFILE, ChunkIndex, chunk_tag, parse_tag


@dataclass
class SeriesIndex:
    """One series of one attempt. sealed: chunk number -> its index; tail: tag -> entry of a tail slot's last event."""

    sealed: dict[int, ChunkIndex] = field(default_factory=dict)
    tail: dict[str, Entry] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two listings exactly when nothing was written in between."""
        slots = sorted((tag, entry.step, entry.wall_time) for tag, entry in self.tail.items())
        return (len(self.sealed), max(self.sealed, default=-1), *slots)

    @property
    def live_tail(self) -> list[str]:
        """Tail tags that may hold rows no sealed chunk has: only they have to be read."""
        last = self.sealed[max(self.sealed)].last if self.sealed else None
        return [tag for tag, entry in self.tail.items() if last is None or entry.step >= last]


@dataclass
class AttemptIndex:
    """One attempt. reports: kind -> wall time of the report."""

    id: str
    loop: str
    started_unix_ns: int
    rank: int
    world_size: int
    series: dict[str, SeriesIndex] = field(default_factory=dict)
    reports: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WindowIndex:
    """A window of the profiler. number: within its attempt."""

    attempt: AttemptIndex
    number: int
    listed: ChunkIndex


@dataclass
class RunIndex:
    """One run. attempts: oldest first. problems: what in the listing could not be used, one sentence each."""

    run: str
    attempts: list[AttemptIndex]
    last_update_unix_s: float
    problems: list[str]
    #: Stages that the program named, in order of appearance.
    named_stages: list[str]

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two listings exactly when nothing was written in between."""
        return tuple(
            (
                attempt.id,
                tuple((name, series.identity) for name, series in sorted(attempt.series.items())),
                tuple(sorted(attempt.reports.items())),
            )
            for attempt in self.attempts
        )

    def loops(self, series: str) -> dict[str, list[AttemptIndex]]:
        """Loop -> its attempts that hold `series`, loops in the order of `LOOPS`."""
        found = {loop: [a for a in self.attempts if a.loop == loop and series in a.series] for loop in LOOPS}
        return {loop: attempts for loop, attempts in found.items() if attempts}

    @property
    def windows(self) -> list[WindowIndex]:
        """The windows of the profiler, oldest first."""
        return [
            WindowIndex(attempt, number, listed)
            for attempt in self.attempts
            if PROFILE in attempt.series
            for number, listed in sorted(attempt.series[PROFILE].sealed.items())
        ]


def read_index(run: str, listing: Mapping[str, Entry]) -> RunIndex:
    """The index of one run from its tags. Never raises: what is unusable is named in `problems`."""
    attempts: dict[str, AttemptIndex] = {}
    problems: list[str] = []
    named: dict[str, None] = {}
    newest = 0.0
    for name, entry in listing.items():
        newest = max(newest, entry.wall_time)
        tag = parse_tag(name)
        if tag is None:
            problems.append(f"{name}: not a name this version knows")
            continue
        try:
            index = msgspec.json.decode(entry.content, type=ChunkIndex)
        except (msgspec.DecodeError, RecursionError):
            problems.append(f"{name}: unreadable index")
            continue
        if index.v > INDEX_VERSION:
            problems.append(f"{name}: stored in format {index.v}; this version reads up to {INDEX_VERSION}")
            continue
        if index.loop not in LOOPS:
            problems.append(f"{name}: unknown loop {index.loop!r}")
            continue
        named.update(dict.fromkeys(index.named))
        attempt = attempts.get(tag.attempt)
        if attempt is None:
            attempt = attempts[tag.attempt] = AttemptIndex(
                tag.attempt, index.loop, index.started, index.rank, index.world
            )
        elif index.loop != attempt.loop:
            problems.append(f"{name}: of loop {index.loop!r}, but its attempt is of {attempt.loop!r}")
            continue
        if tag.chunk is None and tag.slot is None:
            attempt.reports[tag.series] = entry.wall_time
            continue
        series = attempt.series.setdefault(tag.series, SeriesIndex())
        if tag.chunk is None:
            series.tail[name] = entry
        else:
            series.sealed[tag.chunk] = index
    ordered = sorted(attempts.values(), key=lambda attempt: (attempt.started_unix_ns, attempt.id))
    return RunIndex(run, ordered, newest, problems, list(named))


def sealed_tags(series: str, attempt: AttemptIndex, chunks: list[int]) -> dict[str, int]:
    """Tag -> chunk number."""
    return {chunk_tag(series, attempt.id, chunk): chunk for chunk in chunks}


def gaps(numbers: Iterable[int], end: int) -> list[range]:
    """Ranges of the whole numbers from 0 up to `end`, left out, that are not among `numbers`."""
    found, expected = [], 0
    for number in [*sorted(number for number in numbers if number < end), end]:
        if number > expected:
            found.append(range(expected, number))
        expected = number + 1
    return found
