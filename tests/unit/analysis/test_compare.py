"""Two samples of steps compared."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.analysis.compare import compare


def test_means_and_a_clear_difference() -> None:
    change = compare(np.array([[10.0, 12.0, 14.0], [5.0, 5.0, 5.0]]), np.array([[20.0, 22.0], [5.0, 5.0]]))
    assert change.baseline.tolist() == [12.0, 5.0]
    assert change.other.tolist() == [21.0, 5.0]
    assert change.difference.tolist() == [9.0, 0.0]
    assert change.low is not None
    assert change.high is not None
    assert change.clear is not None
    assert change.low[0] >= 20 - 14
    assert change.high[0] <= 22 - 10
    assert change.clear.tolist() == [True, False]


def test_one_step_gives_no_interval() -> None:
    change = compare(np.array([[10.0]]), np.array([[20.0, 22.0]]))
    assert change.difference.tolist() == [11.0]
    assert (change.low, change.high, change.clear) == (None, None, None)


def test_the_interval_covers_the_true_difference() -> None:
    """Nominally 95 % of the time; with 20 steps a percentile bootstrap reaches some 92 %."""
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        change = compare(random.normal(10, 1, (1, 20)), random.normal(11, 2, (1, 20)))
        assert change.low is not None
        assert change.high is not None
        covered += bool(change.low[0] <= 1 <= change.high[0])
    assert covered >= 265


samples = st.lists(st.floats(0, 1e6), min_size=2, max_size=12)


@given(samples, samples)
def test_the_other_way_round_the_signs_change(first: list[float], second: list[float]) -> None:
    a, b = np.array([first]), np.array([second])
    there, back = compare(a, b), compare(b, a)
    np.testing.assert_array_equal(there.difference, -back.difference)
    if first != second:
        assert back.low is not None
        assert back.high is not None
        np.testing.assert_allclose([back.low, back.high], [-there.high, -there.low], rtol=1e-9, atol=1e-9)
    assert there.low is not None
    assert there.high is not None
    tolerance = 1e-6 * (1 + max(first + second))
    assert min(second) - max(first) - tolerance <= there.low[0] <= there.high[0]
    assert there.high[0] <= max(second) - min(first) + tolerance
