from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tb_aiperf.analysis.binning import bin_percentiles, bin_rows, bin_starts


@given(st.integers(0, 300), st.integers(1, 50))
def test_bins_cover_all_rows_evenly(rows: int, bins: int) -> None:
    starts = bin_starts(rows, bins)
    assert len(starts) == min(rows, bins)
    sizes = np.diff(starts, append=rows)
    assert sizes.sum() == rows
    if rows:
        assert sizes.min() >= 1
        assert sizes.max() - sizes.min() <= 1


def test_bins_by_hand() -> None:
    starts = bin_starts(5, 2)
    assert starts.tolist() == [0, 2]
    binned = bin_rows(np.array([[1, 2, 3, 4, 8], [0, 0, 9, 0, 0]]), starts)
    assert binned.count.tolist() == [2, 3]
    assert binned.total.tolist() == [[3, 15], [0, 9]]
    assert binned.low.tolist() == [[1, 3], [0, 0]]
    assert binned.high.tolist() == [[2, 8], [0, 9]]
    # Bins [1, 2] and [3, 4, 8]: the 25th percentile of the second lies half-way from 3 to 4.
    found = bin_percentiles(np.array([2, 1, 3, 8, 4]), starts, (25, 50, 100))
    assert found.tolist() == [[1.25, 3.5], [1.5, 4], [2, 8]]


def test_no_rows_make_no_bins() -> None:
    binned = bin_rows(np.zeros((3, 0), np.uint32), bin_starts(0, 10))
    assert [part.shape for part in (binned.total, binned.low, binned.high)] == [(3, 0)] * 3
    assert len(binned.count) == bin_percentiles(np.zeros(0), bin_starts(0, 10), (50,)).size == 0


@pytest.mark.parametrize("largest", [100, 2**32 - 1])
@given(data=st.data())
def test_sums_and_extremes_are_exact(largest: int, data: st.DataObject) -> None:
    values = data.draw(hnp.arrays(np.uint32, (2, data.draw(st.integers(1, 40))), elements=st.integers(0, largest)))
    starts = bin_starts(values.shape[1], data.draw(st.integers(1, 6)))
    binned = bin_rows(values, starts)
    for column, part in enumerate(np.split(values, starts[1:], axis=1)):
        assert binned.total[:, column].tolist() == [sum(row) for row in part.tolist()]
        assert binned.low[:, column].tolist() == [min(row) for row in part.tolist()]
        assert binned.high[:, column].tolist() == [max(row) for row in part.tolist()]
