from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tb_aiperf.analysis.statistics import Distribution, distributions

values = hnp.arrays(
    st.sampled_from([np.uint32, np.int64]), st.integers(1, 60), elements=st.integers(0, 2**31) | st.integers(0, 50)
)


@given(values, st.floats(0, 100))
def test_statistics_are_numpys(column: np.ndarray, percent: float) -> None:
    described = Distribution(column)
    assert described.n == len(column)
    assert described.total == int(column.astype(object).sum())
    assert described.nonzero == np.count_nonzero(column)
    assert (described.min, described.max) == (column.min(), column.max())
    assert described.mean == pytest.approx(column.mean(), rel=1e-12)
    assert described.percentile(percent) == pytest.approx(np.percentile(column, percent), rel=1e-9, abs=1e-9)


def test_percentiles_by_hand() -> None:
    # Ranks 0, 1, 2, 3: the 25th percentile lies at rank 0.75, the 95th at 2.85.
    described = Distribution(np.array([40, 10, 30, 20]))
    assert [described.percentile(p) for p in (0, 25, 50, 95, 100)] == [10, 17.5, 25, pytest.approx(38.5), 40]


def test_no_values_have_no_statistics() -> None:
    nothing = Distribution(np.zeros(0, np.uint32))
    assert (nothing.n, nothing.total, nothing.nonzero) == (0, 0, 0)
    assert [nothing.mean, nothing.min, nothing.max, nothing.percentile(50), nothing.histogram()] == [None] * 5


@given(values)
def test_histograms_count_each_value_once(column: np.ndarray) -> None:
    histogram = Distribution(column).histogram()
    assert histogram is not None
    assert len(histogram.counts) == len(histogram.edges) - 1 <= 40
    assert histogram.counts.sum() + histogram.below + histogram.above == len(column)
    inside = column[(column >= histogram.edges[0]) & (column <= histogram.edges[-1])]
    np.testing.assert_array_equal(histogram.counts, np.histogram(inside, histogram.edges)[0])
    assert histogram.below == (column < histogram.edges[0]).sum()
    assert histogram.above == (column > histogram.edges[-1]).sum()


def test_a_histogram_by_hand() -> None:
    # 0.5 % of 0..1000 is 5, 99.5 % is 995: 40 bins of 24.75, of 24 or 25 whole numbers each; the last holds its edge.
    histogram = Distribution(np.arange(1001)).histogram()
    assert histogram is not None
    assert (histogram.edges[0], histogram.edges[-1], histogram.below, histogram.above) == (5, 995, 5, 5)
    assert histogram.counts.tolist() == [25, 25, 25, 24] * 9 + [25, 25, 25, 25]


def test_far_outliers_leave_the_bulk_its_bins() -> None:
    # Quartiles 25 and 75 and two values of a million: the bins end at 75 + 6 * 50 = 375, not at a million.
    histogram = Distribution(np.append(np.arange(99), [1_000_000] * 2)).histogram()
    assert histogram is not None
    assert (histogram.edges[-1], histogram.above) == (375, 2)
    assert np.count_nonzero(histogram.counts) == 11


def test_equal_values_make_one_bin() -> None:
    histogram = Distribution(np.full(7, 42)).histogram()
    assert histogram is not None
    assert (histogram.edges.tolist(), histogram.counts.tolist(), histogram.below, histogram.above) == (
        [42, 43],
        [7],
        0,
        0,
    )


def test_many_columns() -> None:
    columns = [np.arange(5), np.zeros(0, np.int64), np.arange(3) * 2]
    assert [described.total for described in distributions(columns)] == [10, 0, 6]
