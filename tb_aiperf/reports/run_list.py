"""Answer: what runs there are."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tb_aiperf import __version__
from tb_aiperf.records import (
    CATEGORIES,
    EVENT_KINDS,
    IDLE_CAUSES,
    SEGMENTS,
    STAGE_KEYS,
    STEP_ROW,
    StepTable,
    describe_stages,
)
from tb_aiperf.records.step_table import IntArray
from tb_aiperf.reports.definitions import DEFINITIONS
from tb_aiperf.reports.profiles import listed_profiles
from tb_aiperf.reports.selection import group_of, reason_without_steps
from tb_aiperf.storage.index import AttemptIndex, RunIndex
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.tags import STEPS

Tails = dict[tuple[str, str], StepTable]


def runs(reader: RunReader) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/runs`. Counts are of what was recorded, damaged chunks included."""
    indexes = reader.indexes()
    tails = reader.tail_steps(indexes)
    listed = []
    named: dict[str, None] = {}
    for index in indexes:
        named.update(dict.fromkeys(index.named_stages))
        loops = [_loop(reader, index, loop, attempts, tails) for loop, attempts in index.loops(STEPS).items()]
        profiles = listed_profiles(index)
        if not loops and not profiles:
            continue
        newest = index.attempts[-1]
        listed.append(
            {
                "run": index.run,
                "group": group_of(index.run, newest.rank),
                "rank": newest.rank,
                "world_size": newest.world_size,
                "last_update_unix_s": index.last_update_unix_s,
                "profiles": profiles,
                "loops": loops,
            }
        )
    return {
        "version": __version__,
        "stages": msgspec.to_builtins(describe_stages([*STAGE_KEYS, *named])),
        "segments": msgspec.to_builtins(list(SEGMENTS)),
        "categories": msgspec.to_builtins(list(CATEGORIES)),
        "idle_causes": msgspec.to_builtins(list(IDLE_CAUSES)),
        "event_kinds": msgspec.to_builtins(list(EVENT_KINDS)),
        "definitions": DEFINITIONS,
        "runs": listed,
        "skipped": skipped(reader),
    }


def skipped(reader: RunReader) -> list[dict[str, str]]:
    """Runs that hold summaries of ours but neither steps nor profiles, each with its reason. No payload is read."""
    return [
        {"run": index.run, "reason": reason_without_steps(index, reader.file_problems(index.run))}
        for index in reader.indexes()
        if not index.loops(STEPS) and not index.windows
    ]


def _loop(reader: RunReader, index: RunIndex, loop: str, attempts: list[AttemptIndex], tails: Tails) -> dict[str, Any]:
    described = [_attempt(attempt, tails.get((index.run, attempt.id))) for attempt in attempts]
    # A damaged index may know one end only.
    ranges = [(a["first_step"], a["last_step"]) for a in described if a["steps"]]
    ranges = [ends for ends in ranges if None not in ends]
    return {
        "loop": loop,
        "steps": _merged_steps(reader, index.run, attempts, tails),
        "first_step": min((first for first, _ in ranges), default=None),
        "last_step": max((last for _, last in ranges), default=None),
        "attempts": described,
    }


def _attempt(attempt: AttemptIndex, tail: StepTable | None) -> dict[str, Any]:
    chunks = list(attempt.series[STEPS].sealed.values())
    firsts = [chunk.first for chunk in chunks if chunk.first is not None]
    lasts = [chunk.last for chunk in chunks if chunk.last is not None]
    steps = sum(chunk.steps for chunk in chunks)
    if tail is not None:
        unsealed = tail.step[tail.segment == STEP_ROW]
        if len(unsealed):
            steps += len(unsealed)
            firsts.append(int(unsealed.min()))
            lasts.append(int(unsealed.max()))
    return {
        "attempt": attempt.id,
        "started_unix_s": attempt.started_unix_ns / 1e9,
        "steps": steps,
        "first_step": min(firsts, default=None),
        "last_step": max(lasts, default=None),
    }


def _merged_steps(reader: RunReader, run: str, attempts: list[AttemptIndex], tails: Tails) -> int:
    """Step rows that count once each step belongs to the newest attempt that ran it.

    Decided by the chunks' first and last steps; only a chunk that newer attempts cover in part is decoded.
    """
    total = 0
    newer: list[tuple[int, int]] = []
    for attempt in reversed(attempts):
        own: list[tuple[int, int]] = []
        for number, chunk in attempt.series[STEPS].sealed.items():
            if chunk.first is None or chunk.last is None:
                continue
            own.append((chunk.first, chunk.last))
            touching = [r for r in newer if r[0] <= chunk.last and chunk.first <= r[1]]
            if not touching:
                total += chunk.steps
            elif not any(first <= chunk.first and chunk.last <= last for first, last in touching):
                table = reader.chunk_steps(run, attempt, number)
                if table is not None:
                    total += _uncovered(table.step[table.segment == STEP_ROW], newer)
        tail = tails.get((run, attempt.id))
        if tail is not None:
            unsealed = tail.step[tail.segment == STEP_ROW]
            total += _uncovered(unsealed, newer)
            own += [(int(unsealed.min()), int(unsealed.max()))] if len(unsealed) else []
        newer = _union(newer + own)
    return total


def _uncovered(steps: IntArray, ranges: list[tuple[int, int]]) -> int:
    """How many of `steps` lie in none of the ranges."""
    covered = np.zeros(len(steps), np.bool_)
    for first, last in ranges:
        covered |= (steps >= first) & (steps <= last)
    return len(steps) - int(np.count_nonzero(covered))


def _union(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of whole numbers joined where they touch."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
