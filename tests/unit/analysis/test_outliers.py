from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.analysis.outliers import excess_stage, slowest


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 10))
def test_the_slowest_come_first_and_the_earlier_among_equals(wall: list[int], most: int) -> None:
    expected = sorted(range(len(wall)), key=lambda row: (-wall[row], row))[:most]
    assert slowest(np.array(wall, np.int64), most).tolist() == expected


def test_the_excess_is_over_the_stages_own_median() -> None:
    # Forward is the largest part, but data wait is what is unusual: 90 above its median of 10, forward only 20 above.
    assert excess_stage(np.array([100, 520]), np.array([10.0, 500.0])) == (0, 90.0)
