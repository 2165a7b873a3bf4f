"""`StepTotals` against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.capture.totals import StepTotals
from tb_aiperf.records import StepTable


def table(walls: list[int], segments: list[int] | None = None) -> StepTable:
    count = len(walls)
    column = np.arange(count)
    halves = np.array([[wall // 4 for wall in walls], [wall - wall // 4 for wall in walls]])
    return StepTable(
        stages=("a", "b"),
        durations=halves,
        start=column,
        step=column,
        global_step=column,
        batch=column,
        epoch=column,
        segment=np.array(segments or [0] * count, np.uint8),
    )


@given(st.lists(st.integers(100, 10**11), min_size=1, max_size=300), st.floats(0, 1))
def test_quantiles_are_right_within_half_a_percent(walls: list[int], share: float) -> None:
    totals = StepTotals(("a", "b"))
    totals.update(table(walls))
    ranked = sorted(walls)
    exact = ranked[int(share * (len(walls) - 1))]
    found = totals.quantile_ns(share)
    assert found is not None
    assert found == pytest.approx(exact, rel=0.0051, abs=2)


def test_shares_and_counts_by_hand() -> None:
    totals = StepTotals(("a", "b"))
    totals.update(table([400, 400], [0, 0]))
    totals.update(table([4000, 800], [1, 0]))  # the first row is a segment
    assert totals.steps == 3
    assert totals.segment_ns == 4000
    assert totals.shares() == {"b": 0.75, "a": 0.25}


def test_nothing_measured_is_none() -> None:
    totals = StepTotals(("a", "b"))
    assert totals.quantile_ns(0.5) is None
    assert totals.shares() == {}
