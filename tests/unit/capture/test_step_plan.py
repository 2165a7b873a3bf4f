"""`StepPlan`: every planned step is recorded, whatever the steps that come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.capture.step_plan import Action, StepPlan, StepRange, parse_steps


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("100:105", [(100, 105)]),
        (" 100 : 105 ", [(100, 105)]),
        ("7", [(7, 8)]),
        (7, [(7, 8)]),
        (range(3, 6), [(3, 6)]),
        ("200:210, 100:105", [(100, 105), (200, 210)]),
        ([[100, 105], (200, 210)], [(100, 105), (200, 210)]),
        (["100:105", 7, range(1, 3)], [(1, 3), (7, 8), (100, 105)]),
        ("1:3,3:5,4:9,20:21", [(1, 9), (20, 21)]),
        ([3, 4], [(3, 5)]),
    ],
)
def test_steps_in_every_notation(steps: Any, expected: list[tuple[int, int]]) -> None:
    assert parse_steps(steps) == expected


@pytest.mark.parametrize(
    "steps",
    ["", "a", "5:", ":5", "5:5", "6:5", "1-3", -1, "-1:3", True, 1.5, [], [[1]], [[1, 2, 3]], range(0, 9, 2), None],
)
def test_what_is_no_range_is_named(steps: Any) -> None:
    with pytest.raises(ValueError, match="is no range of steps"):
        parse_steps(steps)


def run(plan: StepPlan, steps: list[int]) -> tuple[list[int], list[int], list[StepRange]]:
    """The steps recorded, those during which the profiler was being prepared, and the ranges missed."""
    recorded, prepared, missed = [], [], []
    state = ""
    quiet = -1
    for step in steps:
        if step >= quiet:
            actions, gone = plan.due(step)
            quiet = plan.quiet_until(step)
            missed += gone
            for action in actions:
                state = {Action.PREPARE: "preparing", Action.BEGIN: "recording", Action.END: ""}[action]
        if state == "recording":
            recorded.append(step)
        elif state == "preparing":
            prepared.append(step)
    return recorded, prepared, missed


def test_a_range_is_prepared_for_and_recorded() -> None:
    assert run(StepPlan([StepRange(5, 8)], warmup=2), list(range(20))) == ([5, 6, 7], [3, 4], [])
    assert run(StepPlan([StepRange(0, 2)], warmup=2), list(range(20))) == ([0, 1], [], [])
    assert run(StepPlan([StepRange(5, 6), StepRange(6, 7)], warmup=1), list(range(20))) == ([5, 6], [4], [])


def test_multiples_are_recorded_again_and_again() -> None:
    plan = StepPlan(every_n_steps=10, active=2, warmup=1)
    assert run(plan, list(range(35))) == ([10, 11, 20, 21, 30, 31], [9, 19, 29], [])


def test_a_resume_into_and_past_ranges() -> None:
    plan = StepPlan([StepRange(2, 5), StepRange(10, 15), StepRange(20, 22)], warmup=1)
    assert run(plan, list(range(12, 30))) == ([12, 13, 14, 20, 21], [19], [(2, 5)])
    assert plan.unreached() == []
    plan = StepPlan([StepRange(100, 105)])
    run(plan, [1, 2, 3])
    assert plan.unreached() == [(100, 105)]


def test_steps_that_jump() -> None:
    assert run(StepPlan([StepRange(5, 8)], warmup=1), [0, 4, 7, 20]) == ([7], [4], [])
    assert run(StepPlan([StepRange(5, 8)], warmup=1), [0, 4, 20]) == ([], [4, 20], [(5, 8)])


def test_a_window_can_be_added_and_shortened() -> None:
    plan = StepPlan([StepRange(50, 52)], warmup=1)
    assert plan.due(3) == ([], [])
    plan.add(StepRange(10, 20))
    assert run(plan, list(range(4, 11)))[0] == [10]
    plan.shorten(12)
    assert run(plan, list(range(11, 60)))[1] == [49]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), max_size=5),
    st.integers(0, 4),
    st.integers(0, 70),
    st.none() | st.integers(7, 30),
)
def test_every_planned_step_that_comes_is_recorded_and_no_other(
    raw: list[tuple[int, int]], warmup: int, start: int, every: int | None
) -> None:
    ranges = parse_steps([[first, first + length] for first, length in raw]) if raw else []
    plan = StepPlan(ranges, every_n_steps=every, active=3, warmup=warmup)
    steps = list(range(start, 90))
    wanted = {step for first, end in ranges for step in range(first, end)}
    if every is not None:
        wanted |= {step for first in range(every, 100, every) for step in range(first, first + 3)}
    recorded, prepared, missed = run(plan, steps)
    assert set(recorded) == wanted & set(steps)
    assert missed == [each for each in ranges if each.end <= start]
    # The profiler idles for the warm-up of each window at most.
    assert len(prepared) <= warmup * (len(ranges) + (90 // every if every else 0))
