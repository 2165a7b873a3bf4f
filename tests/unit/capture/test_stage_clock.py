"""`StageClock`: rows are contiguous and their stages sum to them, whatever is pushed and popped."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.capture.stage_clock import RowBlock, StageClock, table_of
from tb_aiperf.records import STAGE_KEYS, StepTable


class Ticks:
    """A clock that advances by given amounts, one per reading, then by 1."""

    def __init__(self, advances: list[int]) -> None:
        self.now = 0
        self.advances = iter(advances)

    def __call__(self) -> int:
        self.now += next(self.advances, 1)
        return self.now


def rows_of(blocks: list[RowBlock], clock: StageClock) -> StepTable:
    rows = [block.rows() for block in blocks if block is not clock.block]
    return table_of(np.concatenate([*rows, clock.block.rows()]), clock.stages)


@given(
    actions=st.lists(st.one_of(st.integers(0, len(STAGE_KEYS) - 1), st.sampled_from(["pop", "cut"])), max_size=200),
    advances=st.lists(st.integers(0, 10**12), max_size=200),
    block_rows=st.integers(1, 7),
)
def test_stages_sum_exactly_under_any_sequence(actions: list[Any], advances: list[int], block_rows: int) -> None:
    """Against a slow reference: replay the readings and charge each to the stage on top."""
    blocks: list[RowBlock] = []
    ticks = Ticks(advances)
    clock = StageClock(on_block=blocks.append, block_rows=block_rows, timer=ticks)
    clock.begin()
    stack: list[int] = []
    expected = [[0] * len(STAGE_KEYS)]
    starts = [0]
    last = origin = ticks.now

    def charge() -> None:
        nonlocal last
        expected[-1][stack[-1] if stack else clock.base] += ticks.now - last
        last = ticks.now

    for number, action in enumerate(actions):
        if action == "cut":
            clock.cut(number, 0, 0, 0)
            charge()
            stack.clear()
            expected.append([0] * len(STAGE_KEYS))
            starts.append(ticks.now - origin)
        elif action == "pop":
            clock.pop()
            charge()
            if stack:
                stack.pop()
        else:
            clock.push(action)
            charge()
            stack.append(action)
    clock.end()
    charge()
    table = rows_of(blocks, clock)
    assert table.durations.T.tolist() == expected
    assert table.start.tolist() == starts
    assert int(table.wall.sum()) == ticks.now - origin


def test_nested_stages_are_exclusive_by_hand() -> None:
    """forward 10, of which backward inside 4: forward is 6."""
    clock = StageClock(timer=Ticks([100, 5, 3, 4, 3, 7]))
    clock.begin(step=9)
    with clock.stage("forward"), clock.stage("backward"):
        pass
    clock.end()
    table = rows_of([], clock)
    spent = dict(zip(table.stages, table.durations[:, 0].tolist(), strict=True))
    assert {key: value for key, value in spent.items() if value} == {"other": 5 + 7, "forward": 3 + 3, "backward": 4}
    assert table.step.tolist() == [9]


def test_a_stage_left_open_ends_at_the_cut() -> None:
    clock = StageClock(timer=Ticks([0, 2, 3, 4]))
    clock.begin()
    clock.push(clock.index["backward"])
    clock.cut(1, 1, 1, 0)
    clock.end()
    table = rows_of([], clock)
    assert table.durations[clock.index["backward"]].tolist() == [3, 0]
    assert table.durations[clock.base].tolist() == [2, 4]


def test_other_threads_are_ignored() -> None:
    clock = StageClock(timer=Ticks([0, 5]))
    clock.begin()

    def intrude() -> None:
        clock.push(0)
        with clock.stage("forward"):
            pass

    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()
    clock.end()
    assert rows_of([], clock).durations.T.tolist() == [[0] * (len(STAGE_KEYS) - 1) + [5]]


def test_full_blocks_are_handed_over_once_each() -> None:
    blocks: list[RowBlock] = []
    clock = StageClock(on_block=blocks.append, block_rows=3)
    clock.begin()
    for step in range(1, 8):
        clock.cut(step, step, step, 0)
    clock.end()
    assert [block.count for block in blocks] == [3, 3]
    assert rows_of(blocks, clock).step.tolist() == list(range(8))


def test_without_a_taker_memory_stays_bounded() -> None:
    clock = StageClock(block_rows=4)
    clock.begin()
    for step in range(1, 12):
        clock.cut(step, 0, 0, 0)
    assert clock.block.count <= 4


@pytest.mark.parametrize("stages", [(), ("a", "a")])
def test_stages_must_be_distinct(stages: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="distinct"):
        StageClock(stages)
