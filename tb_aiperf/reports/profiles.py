"""Answers: a window of steps that torch.profiler recorded, and the timeline of one of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean, median
from typing import Any

import msgspec
import numpy as np

from tb_aiperf.analysis.dilation import dilation, neighbours
from tb_aiperf.records import CATEGORIES, CollectiveCalls, CollectivesProfile, ProfileWindow, StepProfile, TraceProfile
from tb_aiperf.reports.headline import Part, sentence, within_sentence
from tb_aiperf.reports.selection import NotFoundError, find_run, group_of_run
from tb_aiperf.storage.codec import DamagedChunkError
from tb_aiperf.storage.index import RunIndex, WindowIndex
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.tags import STEPS
from tb_aiperf.trace.ranks import match_calls

#: Of a rank in a `CollectivesProfile`, about.
_MATCHED_BYTES = 1000


def profile(reader: RunReader, run: str, attempt: str | None = None, window: int | None = None) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/profile`. Raises NotFoundError."""
    index = find_run(reader, run)
    chosen = _choose(index, attempt, window)
    read = _read(reader, run, chosen)
    ranks, collectives, damage = _across_ranks(reader, index, chosen)
    return {
        "run": run,
        "attempt": chosen.attempt.id,
        "window": chosen.number,
        "loop": chosen.attempt.loop,
        "rank": chosen.attempt.rank,
        "world_size": chosen.attempt.world_size,
        "recorded_unix_s": recorded_unix_s(chosen),
        "step_time_us": _step_times(read.profile),
        "dilation": _dilation(reader, index, chosen),
        "headline": profile_headline(read.profile),
        "profile": msgspec.to_builtins(read.profile),
        "collectives": msgspec.to_builtins(collectives),
        "ranks": ranks,
        "timelines": [
            {"index": place, "step": of_step.step, "events": of_step.events, "left_out": of_step.left_out}
            for place, of_step in enumerate(read.timelines)
        ],
        "damage": damage,
    }


def timeline(reader: RunReader, run: str, attempt: str, window: int, index: int) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/timeline`. Raises NotFoundError."""
    chosen = _choose(find_run(reader, run), attempt, window)
    places = _read(reader, run, chosen).timelines
    if not 0 <= index < len(places):
        known = f"0 to {len(places) - 1}" if places else "none"
        raise NotFoundError(f"window {window} of attempt {attempt!r} has no timeline {index}, only {known}")
    try:
        read = reader.timeline(run, chosen.attempt.id, places[index].chunk)
    except DamagedChunkError as error:
        raise NotFoundError(f"{error}; analyse its trace again") from None
    return {
        "run": run,
        "attempt": attempt,
        "window": window,
        "index": index,
        "step": read.step,
        "step_duration_ns": read.step_duration_ns,
        "left_out": read.left_out,
        "left_out_ns": read.left_out_ns,
        "lanes": msgspec.to_builtins(list(read.lanes)),
        "names": list(read.names),
        "shapes": list(read.shapes),
        "lane": read.lane.tolist(),
        "row": read.row.tolist(),
        "kind": read.kind.tolist(),
        "name": read.name.tolist(),
        "shape": read.shape.tolist(),
        "start_ns": read.start.tolist(),
        "duration_ns": read.duration.tolist(),
        "launch": read.launch.tolist(),
    }


def find_window(
    reader: RunReader, run: str, attempt: str | None, window: int | None
) -> tuple[WindowIndex, TraceProfile]:
    """The window that is meant and its profile. Raises NotFoundError."""
    chosen = _choose(find_run(reader, run), attempt, window)
    return chosen, _read(reader, run, chosen).profile


def listed_profiles(index: RunIndex) -> list[dict[str, Any]]:
    """The windows of a run as `api/v1/runs` lists them, oldest first. No payload is read."""
    return [
        {
            "attempt": window.attempt.id,
            "window": window.number,
            "loop": window.attempt.loop,
            "recorded_unix_s": recorded_unix_s(window),
            "steps": window.listed.steps or None,
            "first_step": window.listed.first,
            "last_step": window.listed.last,
        }
        for window in index.windows
    ]


def read_profiles(reader: RunReader, index: RunIndex) -> tuple[list[dict[str, Any]], list[str]]:
    """The profiles of a run that can be read, oldest first, and one sentence for each that cannot."""
    profiles, damage = [], []
    for window in index.windows:
        try:
            read = reader.window(index.run, window.attempt.id, window.number).profile
        except DamagedChunkError as error:
            damage.append(str(error))
        else:
            profile = msgspec.to_builtins(read)
            profiles.append({"attempt": window.attempt.id, "window": window.number, "profile": profile})
    return profiles, damage


def profile_identity(reader: RunReader, run: str) -> object:
    """Equal for two readers exactly when the answers about a run's profiles are."""
    index = reader.index(run)
    if index is None:
        return None
    # The steps around a window tell how much profiling slowed it down, and some come after it.
    return index.identity, *(
        (other.run, *((window.attempt.id, window.number) for window in other.windows))
        for other in group_of_run(reader, index)
    )


def profile_headline(profile: TraceProfile) -> str:
    """One sentence: the categories that take most of the time, over the steps that are whole if any is."""
    steps = judged_steps(profile)
    if not sum(step.duration_us for step in steps):
        return "The profile holds no step that took any time"
    parts = [
        _part(within_sentence(category.title), [getattr(step.categories_us, category.key) for step in steps])
        for category in CATEGORIES
    ]
    whole = _part("step time" if profile.marked else "recorded time", [step.duration_us for step in steps])
    return sentence(whole, parts, typical=len(steps) > 1)


def judged_steps(profile: TraceProfile) -> list[StepProfile]:
    """The steps by which a profile is judged: those that are not partial, or all if every one is."""
    return [profile.steps[place] for place in judged_places(profile)]


def judged_places(profile: TraceProfile) -> list[int]:
    """Places of the `judged_steps` among the profile's steps."""
    whole = [place for place, step in enumerate(profile.steps) if not step.partial]
    return whole or list(range(len(profile.steps)))


def recorded_unix_s(window: WindowIndex) -> float | None:
    """When a window was recorded."""
    return None if window.listed.recorded is None else window.listed.recorded / 1e9


def _dilation(reader: RunReader, index: RunIndex, chosen: WindowIndex) -> dict[str, Any] | None:
    """Profiled steps against unprofiled ones of the same attempt, the profiler's own stage left out of both.

    None where the run holds no such steps, as one that was made from trace files.
    """
    listed, attempt = chosen.listed, chosen.attempt
    if listed.first is None or listed.last is None or STEPS not in attempt.series:
        return None
    table = reader.load_steps(index, attempt.loop, attempt.id).table.steps_only()
    own = table.wall.astype(np.int64)
    cost = np.zeros(len(table), np.int64)
    if "profiler" in table.stages:
        cost = table.durations[table.stages.index("profiler")].astype(np.int64)
    inside = (table.step >= listed.first) & (table.step <= listed.last)
    # Steps before a window are being prepared for, and the one behind it stops the profiler: none is like the others.
    touched = cost > 0
    for window in index.windows:
        if window.attempt.id == attempt.id and window.listed.first is not None and window.listed.last is not None:
            touched |= (table.step >= window.listed.first) & (table.step <= window.listed.last)
    around = neighbours(table.step, listed.first, listed.last, touched)
    found = dilation((own - cost)[inside], (own - cost)[around])
    return None if found is None else asdict(found)


def _read(reader: RunReader, run: str, chosen: WindowIndex) -> ProfileWindow:
    try:
        return reader.window(run, chosen.attempt.id, chosen.number)
    except DamagedChunkError as error:
        raise NotFoundError(f"{error}; analyse its trace again") from None


def _part(name: str, times: Sequence[float]) -> Part:
    return Part(name, sum(times), median(times), fmean(times))


def _step_times(profile: TraceProfile) -> dict[str, Any]:
    times = [step.duration_us for step in judged_steps(profile)]
    return {
        "n": len(times),
        "mean": fmean(times) if times else None,
        "median": median(times) if times else None,
        "min": min(times, default=None),
        "max": max(times, default=None),
    }


def _choose(index: RunIndex, attempt: str | None, window: int | None) -> WindowIndex:
    """The newest window that is meant. Raises NotFoundError."""
    windows = index.windows
    if not windows:
        raise NotFoundError(f"run {index.run!r} holds no profile; aiperf analyze TRACE --logdir DIR makes a run of one")
    of_attempt = [each for each in windows if attempt in (None, each.attempt.id)]
    if not of_attempt:
        known = ", ".join(dict.fromkeys(each.attempt.id for each in windows))
        raise NotFoundError(f"run {index.run!r} has no profile of attempt {attempt!r}, only of {known}")
    newest = of_attempt[-1].attempt.id
    fitting = [each for each in of_attempt if each.attempt.id == newest and window in (None, each.number)]
    if not fitting:
        known = ", ".join(str(each.number) for each in of_attempt if each.attempt.id == newest)
        raise NotFoundError(f"attempt {newest!r} of run {index.run!r} has no window {window}, only {known}")
    return fitting[-1]


def _across_ranks(
    reader: RunReader, index: RunIndex, chosen: WindowIndex
) -> tuple[list[dict[str, Any]], CollectivesProfile | None, list[str]]:
    """The runs of the group that hold the same window, their collectives matched, and what could not be read."""
    runs: dict[int, str] = {}
    for other in group_of_run(reader, index):
        for window in other.windows:
            if (window.attempt.id, window.number) == (chosen.attempt.id, chosen.number):
                runs.setdefault(window.attempt.rank, other.run)
    runs[chosen.attempt.rank] = index.run
    ranks = tuple(sorted(runs.items()))
    listed = [{"rank": rank, "run": run} for rank, run in ranks]
    if len(ranks) < 2:
        return listed, None, []
    # The same for each of them, and slow for a hundred.
    key = (chosen.attempt.id, chosen.number, ranks)
    collectives, damage = reader.derived(key, None, lambda: _match(reader, chosen, ranks), _MATCHED_BYTES * len(ranks))
    return listed, collectives, damage


def _match(
    reader: RunReader, chosen: WindowIndex, ranks: Sequence[tuple[int, str]]
) -> tuple[CollectivesProfile | None, list[str]]:
    calls: dict[int, CollectiveCalls] = {}
    damage = []
    for rank, run in ranks:
        try:
            found = reader.collective_calls(run, chosen.attempt.id, chosen.number)
        except DamagedChunkError as error:
            damage.append(str(error))
        else:
            if found is not None:
                calls[rank] = found
    return match_calls(list(calls), list(calls.values())), damage
