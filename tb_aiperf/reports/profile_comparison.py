"""Answer: two profiles compared, category by category and operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_aiperf.analysis.compare import Change, compare
from tb_aiperf.records import CATEGORIES, TraceProfile
from tb_aiperf.reports.headline import duration, within_sentence
from tb_aiperf.reports.profiles import find_window, judged_places, judged_steps
from tb_aiperf.storage.index import WindowIndex
from tb_aiperf.storage.reader import RunReader

#: Operators that are compared: a person looks at the first few.
_MOST_OPERATORS = 200


class WindowChoice(NamedTuple):
    """Which window is meant; its run's newest where the rest is None."""

    run: str
    attempt: str | None = None
    window: int | None = None


def compare_profiles(reader: RunReader, baseline: WindowChoice, other: WindowChoice) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/profile-comparison`. Raises NotFoundError."""
    sides = [(choice, *find_window(reader, *choice)) for choice in (baseline, other)]
    profiles = [profile for _, _, profile in sides]
    places = [judged_places(profile) for profile in profiles]
    steps = [judged_steps(profile) for profile in profiles]
    times = [np.array([[step.duration_us for step in side]]) for side in steps]
    parts = [
        np.array([[getattr(step.categories_us, key.key) for step in side] for key in CATEGORIES]) for side in steps
    ]
    measured = all(steps)
    step_time = compare(*times) if measured else None
    categories = compare(*parts) if measured else None
    return {
        "baseline": _side(sides[0][0].run, sides[0][1], len(steps[0])),
        "other": _side(sides[1][0].run, sides[1][1], len(steps[1])),
        "headline": _headline(step_time, categories),
        "step_time_us": None if step_time is None else _rows(step_time)[0],
        "categories": []
        if categories is None
        else [{"key": part.key, **row} for part, row in zip(CATEGORIES, _rows(categories), strict=True)],
        "operators": _operators(profiles, places) if measured else None,
    }


def _side(run: str, window: WindowIndex, steps: int) -> dict[str, Any]:
    return {
        "run": run,
        "attempt": window.attempt.id,
        "window": window.number,
        "first_step": window.listed.first,
        "last_step": window.listed.last,
        "n": steps,
    }


def _rows(change: Change) -> list[dict[str, Any]]:
    """One row per quantity, in microseconds per step."""
    clear = change.clear
    return [
        {
            "baseline_us": float(change.baseline[place]),
            "other_us": float(change.other[place]),
            "difference_us": float(change.difference[place]),
            "low_us": None if change.low is None else float(change.low[place]),
            "high_us": None if change.high is None else float(change.high[place]),
            "clear": None if clear is None else bool(clear[place]),
        }
        for place in range(len(change.difference))
    ]


def _operators(profiles: Sequence[TraceProfile], judged: Sequence[Sequence[int]]) -> list[dict[str, Any]] | None:
    """Operators by the size of their change; None where a profile does not tell them step by step."""
    tables = [_by_name(profile, places) for profile, places in zip(profiles, judged, strict=True)]
    if any(table is None for table in tables):
        return None
    first, second = (table or {} for table in tables)
    names = list(dict.fromkeys([*first, *second]))
    if not names:
        return []
    stacked = [
        np.array([table.get(name, np.zeros((3, len(places)))) for name in names])
        for table, places in zip((first, second), judged, strict=True)
    ]
    calls, host, device = (compare(stacked[0][:, row], stacked[1][:, row]) for row in range(3))
    times: list[dict[str, Any]] = [
        {
            "name": name,
            "calls": {"baseline": float(calls.baseline[place]), "other": float(calls.other[place])},
            "host_self": host_row,
            "device": device_row,
        }
        for place, (name, host_row, device_row) in enumerate(zip(names, _rows(host), _rows(device), strict=True))
    ]
    times.sort(key=lambda row: -abs(row["host_self"]["difference_us"]) - abs(row["device"]["difference_us"]))
    return times[:_MOST_OPERATORS]


def _by_name(profile: TraceProfile, places: Sequence[int]) -> dict[str, npt.NDArray[np.float64]] | None:
    """Operator -> [3, n] calls, host self and device time in each of the steps that are compared."""
    if profile.operators_by_step is None:
        return None
    chosen = list(places)
    return {
        row.name: np.array([row.calls, row.host_self_us, row.device_us], np.float64)[:, chosen]
        for row in profile.operators_by_step
    }


def _headline(step_time: Change | None, categories: Change | None) -> str:
    if step_time is None or categories is None:
        return "One of the two profiles holds no step"
    before, change = float(step_time.baseline[0]), float(step_time.difference[0])
    clear = step_time.clear
    if not change:
        return f"The step times are equal: a mean of {duration(before)}"
    if clear is None:
        certain = " (one step on a side: no interval)"
    elif clear[0]:
        certain = ""
    else:
        low, high = (_signed(float(end[0])) for end in (step_time.low, step_time.high) if end is not None)
        return f"The step times are not distinguishable: {low} to {high} on a mean of {duration(before)}"
    top = int(np.abs(categories.difference).argmax())
    more = "longer" if change > 0 else "shorter"
    share = f" ({100 * abs(change) / before:.0f} %)" if before else ""
    part = f"{within_sentence(CATEGORIES[top].title)}: {_signed(float(categories.difference[top]))}"
    return (
        f"A step takes {duration(abs(change))}{share} {more} than the mean of {duration(before)} before{certain}; "
        f"most of it is {part}"
    )


def _signed(us: float) -> str:
    return ("+" if us >= 0 else "−") + duration(abs(us))
