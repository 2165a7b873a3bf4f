"""Dilation: profiled steps against their unprofiled neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.analysis.dilation import dilation, neighbours


def test_a_ratio_of_medians() -> None:
    found = dilation(np.array([150, 160, 900]), np.array([100] * 20))
    assert found is not None
    assert found.factor == 1.6
    assert (found.low, found.high) == (1.5, 9.0)
    assert (found.profiled, found.unprofiled) == (3, 20)


def test_too_little_to_compare() -> None:
    assert dilation(np.array([]), np.array([100] * 20)) is None
    assert dilation(np.array([100]), np.array([100] * 4)) is None
    assert dilation(np.array([100]), np.array([0] * 20)) is None


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.lists(st.integers(1, 1000), min_size=5, max_size=50))
def test_the_interval_lies_within_what_was_seen(profiled: list[int], unprofiled: list[int]) -> None:
    found = dilation(np.array(profiled), np.array(unprofiled))
    assert found is not None
    assert min(profiled) / max(unprofiled) <= found.low <= found.high <= max(profiled) / min(unprofiled)


def test_the_nearest_unprofiled_steps_are_the_neighbours() -> None:
    steps = np.arange(300)
    profiled = (steps >= 140) & (steps < 160)
    chosen = steps[neighbours(steps, 140, 149, profiled)]
    assert chosen.tolist() == [*range(90, 140), *range(160, 210)]
    assert steps[neighbours(steps, 140, 149, np.ones(300, np.bool_))].tolist() == []
