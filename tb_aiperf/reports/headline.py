"""The sentence that says what takes most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: The sentence goes on to other parts while they take at least this share, and names at most so many.
_SHARE = 0.1
_PARTS = 3


class Part(NamedTuple):
    """A part of the steps, or the whole of them; times in microseconds. name: within a sentence."""

    name: str
    total: float
    median: float
    mean: float


def sentence(whole: Part, parts: Sequence[Part], *, typical: bool = True) -> str:
    """``52 % of the step time is data wait (median 41 ms of 79 ms), 30 % forward``; the whole must take some time.

    typical: whether to say what is usual; else the totals are given.
    """
    top, *others = sorted(parts, key=lambda part: -part.total)[:_PARTS]
    if not typical:
        times = f"{duration(top.total)} of {duration(whole.total)}"
    elif top.median:
        times = f"median {duration(top.median)} of {duration(whole.median)}"
    else:
        times = f"mean {duration(top.mean)} of {duration(whole.mean)}, none in most steps"
    words = [f"{_percent(top, whole)} of the {whole.name} is {top.name} ({times})"]
    words += [f"{_percent(part, whole)} {part.name}" for part in others if part.total >= _SHARE * whole.total]
    return ", ".join(words)


def within_sentence(title: str) -> str:
    """A title without its capital, abbreviations aside."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def duration(us: float) -> str:
    """Microseconds with two to three digits and a fitting unit."""
    for limit, scale, unit in ((1e3, 1.0, "µs"), (1e6, 1e3, "ms")):
        if us < limit * 0.9995:
            return f"{_digits(us / scale)} {unit}"
    return f"{_digits(us / 1e6)} s"


def _percent(part: Part, whole: Part) -> str:
    share = 100 * part.total / whole.total
    return f"{share:.0f} %" if share >= 1 else "Under 1 %"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"
