"""`StepPlan`: which steps are to be recorded, and what to do before each step so that they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

_RANGE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*)?")


class StepRange(NamedTuple):
    """Steps first to end, the end left out, as in a Python slice."""

    first: int
    end: int

    def __str__(self) -> str:
        return f"{self.first}:{self.end}"


Steps: TypeAlias = "str | int | range | Sequence[str | int | range | Sequence[int]]"


def parse_steps(steps: Steps) -> list[StepRange]:
    """The ranges of ``"100:105"``, ``"100:105, 200:210"``, ``100`` (one step), ``range(100, 105)``, or a list of such;
    ``[100, 105]`` inside a list is a range, too. Sorted; ranges that touch or overlap become one.

    Raises ValueError with the entry at fault.
    """
    ranges = sorted(_parse(steps, outermost=True))
    joined: list[StepRange] = []
    for each in ranges:
        if joined and each.first <= joined[-1].end:
            joined[-1] = StepRange(joined[-1].first, max(joined[-1].end, each.end))
        else:
            joined.append(each)
    return joined


def _parse(steps: object, *, outermost: bool) -> Iterable[StepRange]:
    if isinstance(steps, bool):
        raise _wrong(steps)
    if isinstance(steps, int):
        yield _checked(steps, steps + 1, steps)
    elif isinstance(steps, range):
        if steps.step != 1:
            raise _wrong(steps)
        yield _checked(steps.start, steps.stop, steps)
    elif isinstance(steps, str):
        for part in steps.split(","):
            match = _RANGE.fullmatch(part)
            if match is None:
                raise _wrong(steps)
            first = int(match[1])
            yield _checked(first, first + 1 if match[2] is None else int(match[2]), steps)
    elif isinstance(steps, Sequence):
        if not outermost:
            if len(steps) != 2 or not all(isinstance(each, int) and not isinstance(each, bool) for each in steps):
                raise _wrong(steps)
            yield _checked(steps[0], steps[1], steps)
            return
        if not steps:
            raise _wrong(steps)
        for each in steps:
            yield from _parse(each, outermost=False)
    else:
        raise _wrong(steps)


def _checked(first: int, end: int, source: object) -> StepRange:
    if not 0 <= first < end:
        raise _wrong(source)
    return StepRange(first, end)


def _wrong(source: object) -> ValueError:
    return ValueError(
        f"steps: {source!r} is no range of steps; write the first step and the one behind the last, such as '100:105'"
    )


class Action(Enum):
    """What is due before a step."""

    PREPARE = "prepare"
    BEGIN = "begin"
    END = "end"


class StepPlan:
    """Says for each step that comes what is due. Steps may jump: a resume may land in a range or behind it.

    ranges         to record, sorted and apart
    every_n_steps  also a window of `active` steps at each multiple of it (not at 0)
    warmup         steps before a range for which the profiler runs without recording
    """

    def __init__(
        self, ranges: Sequence[StepRange] = (), *, every_n_steps: int | None = None, active: int = 3, warmup: int = 1
    ) -> None:
        self._ranges = list(ranges)
        self._every = every_n_steps
        self._active = active
        self._warmup = warmup
        self._preparing = False
        #: The range being recorded.
        self.open: StepRange | None = None

    def add(self, window: StepRange) -> None:
        """One more range, asked for while the program runs; it may lie before others, but none may be open at it."""
        self._ranges = sorted([*self._ranges, window])

    def due(self, step: int) -> tuple[list[Action], list[StepRange]]:
        """What is due, in order, before `step` begins, and which ranges have been missed altogether."""
        actions: list[Action] = []
        missed: list[StepRange] = []
        if self.open is not None:
            if step < self.open.end:
                return actions, missed
            actions.append(Action.END)
            self.open = None
        upcoming = self._next(step, missed)
        if upcoming is None:
            return actions, missed
        if step >= upcoming.first:
            if not self._preparing:
                actions.append(Action.PREPARE)
            actions.append(Action.BEGIN)
            self._preparing = False
            self.open = self._joined(upcoming)
        elif step >= upcoming.first - self._warmup and not self._preparing:
            actions.append(Action.PREPARE)
            self._preparing = True
        return actions, missed

    def quiet_until(self, step: int) -> int:
        """No step before this one has anything due, as long as steps rise from `step`."""
        if self.open is not None:
            return self.open.end
        upcoming = self._next(step, [])
        return (1 << 62) if upcoming is None else upcoming.first - (0 if self._preparing else self._warmup)

    def shorten(self, end: int) -> None:
        """Close the open range sooner."""
        if self.open is not None:
            self.open = StepRange(self.open.first, min(self.open.end, end))

    def abandon(self) -> None:
        """The profiler could not be had: what was open or being prepared is given up."""
        self.open = None
        self._preparing = False

    def unreached(self) -> list[StepRange]:
        """Ranges that no step has come to."""
        return list(self._ranges)

    def _next(self, step: int, missed: list[StepRange]) -> StepRange | None:
        while self._ranges and self._ranges[0].end <= step:
            missed.append(self._ranges.pop(0))
        return min([*self._ranges[:1], *self._multiple(step)], default=None)

    def _multiple(self, step: int) -> list[StepRange]:
        """The first window at a multiple that has not gone by at `step`."""
        if self._every is None:
            return []
        count = max(1, -(-(step - self._active + 1) // self._every))
        return [StepRange(count * self._every, count * self._every + self._active)]

    def _joined(self, window: StepRange) -> StepRange:
        """The window together with all that it overlaps or touches, which are then no more to come."""
        first, end = window
        while True:
            before = end
            while self._ranges and self._ranges[0].first <= end:
                end = max(end, self._ranges.pop(0).end)
            end = max([end, *(each.end for each in self._multiple(end) if each.first <= end)])
            if end == before:
                return StepRange(first, end)
