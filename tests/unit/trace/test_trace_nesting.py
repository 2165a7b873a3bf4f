from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.trace import nesting as nesting_module
from tb_aiperf.trace.grouping import label_groups, stable_order
from tb_aiperf.trace.nesting import nest
from tb_aiperf.trace.table import Spans

RANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 2)), max_size=30)
MOMENTS = st.lists(st.tuples(st.integers(-1, 45), st.integers(0, 3)), max_size=30)


def spans(ranges: list[tuple[int, int, int]]) -> Spans:
    """Of (start, length, thread)."""
    start, length, thread = (np.array([values[index] for values in ranges], np.int64) for index in range(3))
    return Spans(np.zeros(len(ranges), np.int32), start, start + length, thread.astype(np.int32))


@pytest.mark.parametrize("usual_depth", [0, 1, 100])
@given(RANGES, MOMENTS)
@settings(deadline=None)
def test_the_innermost_range_open_at_a_moment(
    usual_depth: int, ranges: list[tuple[int, int, int]], moments: list[tuple[int, int]]
) -> None:
    nesting = nest(spans(ranges))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting_module, "_USUAL_DEPTH", usual_depth)
        thread = np.array([thread for _, thread in moments], np.int32)
        found = nesting.innermost(thread, np.array([moment for moment, _ in moments], np.int64))
    for place, (moment, number) in zip(found.tolist(), moments, strict=True):
        begun = np.flatnonzero((nesting.thread == number) & (nesting.start <= moment)).tolist()
        expected = begun[-1] if begun else -1
        while expected >= 0 and nesting.end[expected] <= moment:
            expected = int(nesting.parent[expected])
        assert place == expected


def test_a_moment_at_the_bottom_of_a_deep_nesting() -> None:
    depth = 1000
    nesting = nest(spans([(index, 3 * depth - 2 * index, 0) for index in range(depth)]))
    moments = np.array([depth, 2 * depth, 3 * depth - 1, 3 * depth])
    # Range i is open until 3 * depth - i.
    assert nesting.innermost(np.zeros(4, np.int32), moments).tolist() == [depth - 1, depth - 1, 0, -1]


COLUMNS = st.integers(0, 30).flatmap(
    lambda count: st.lists(
        st.lists(
            st.one_of(st.integers(-2, 3), st.integers(-(2**62), 2**62), st.sampled_from([-(2**63), 2**63 - 1])),
            min_size=count,
            max_size=count,
        ),
        min_size=1,
        max_size=4,
    )
)


@given(COLUMNS)
@settings(deadline=None)
def test_groups_are_in_order_of_their_values(columns: list[list[int]]) -> None:
    first, label = label_groups(*(np.array(column, np.int64) for column in columns))
    rows = list(zip(*columns, strict=True))
    groups = sorted(set(rows))
    assert label.tolist() == [groups.index(row) for row in rows]
    assert first.tolist() == [rows.index(group) for group in groups]


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(-(2**15) - 2, 2**15 + 2))))
@settings(deadline=None)
def test_equal_values_stay_in_order(values: list[int]) -> None:
    assert stable_order(np.array(values, np.int64)).tolist() == sorted(range(len(values)), key=values.__getitem__)


def test_a_table_of_which_all_is_picked_is_not_copied() -> None:
    table = spans([(3, 1, 0), (1, 1, 0)])
    assert table.select(np.array([True, True])) is table
    assert table.select(np.array([0, 1])) is table
    assert table.select(np.array([1, 0])).start.tolist() == [1, 3]
    assert table.select(np.array([True, False])).start.tolist() == [3]
    assert table.select(slice(1, 2)).start.tolist() == [1]
