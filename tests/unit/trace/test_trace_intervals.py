from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.trace.intervals import Intervals, difference, intersection, join, sweep, union

END = 24
pairs = st.lists(st.tuples(st.integers(-END, END), st.integers(-END, END)), max_size=8)


def interval_set(spans: list[tuple[int, int]]) -> Intervals:
    return union(*(np.array([span[i] for span in spans], np.int64) for i in (0, 1)))


def moments(spans: list[tuple[int, int]]) -> set[int]:
    """The slow reference: every moment by itself."""
    return {t for start, end in spans for t in range(start, end)}


def of(intervals: Intervals) -> set[int]:
    return moments(list(zip(intervals.start.tolist(), intervals.end.tolist(), strict=True)))


def test_union_by_hand() -> None:
    found = interval_set([(5, 9), (0, 3), (2, 5), (20, 20), (12, 14)])
    assert found.start.tolist() == [0, 12]
    assert found.end.tolist() == [9, 14]
    assert found.measure == 11


def test_sweep_by_hand() -> None:
    first, second = interval_set([(0, 10)]), interval_set([(5, 20), (30, 31)])
    assert sweep([first, second], np.array([0, 8]), np.array([40, 12])).tolist() == [[10, 2], [11, 2], [19, 0]]


@given(pairs)
def test_union_is_every_moment_once_in_one_form(spans: list[tuple[int, int]]) -> None:
    found = interval_set(spans)
    assert of(found) == moments(spans)
    assert found.measure == len(moments(spans))
    assert (found.end > found.start).all()
    assert (found.start[1:] > found.end[:-1]).all()


@given(pairs, pairs)
def test_set_algebra(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    first, second = interval_set(a), interval_set(b)
    assert of(join([first, second])) == moments(a) | moments(b)
    assert of(difference(first, second)) == moments(a) - moments(b)
    assert of(intersection(first, second)) == moments(a) & moments(b)


@given(pairs, pairs)
def test_parts_of_windows(spans: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    low, high = (np.array([window[i] for window in windows], np.int64) for i in (0, 1))
    expected = [len(moments(spans) & set(range(start, end))) for start, end in windows]
    assert interval_set(spans).within(low, high).tolist() == expected


@given(pairs, st.lists(st.integers(-END - 1, END + 1), max_size=8))
def test_contains(spans: list[tuple[int, int]], wanted: list[int]) -> None:
    inside = interval_set(spans).contains(np.array(wanted, np.int64))
    assert inside.tolist() == [moment in moments(spans) for moment in wanted]


@given(st.lists(pairs, max_size=4), pairs)
def test_sweep_gives_each_moment_to_the_first_layer(
    layers: list[list[tuple[int, int]]], windows: list[tuple[int, int]]
) -> None:
    low, high = (np.array([window[i] for window in windows], np.int64) for i in (0, 1))
    found = sweep([interval_set(layer) for layer in layers], low, high)
    for column, (start, end) in enumerate(windows):
        left = set(range(start, end))
        for row, layer in enumerate(layers):
            assert found[row, column] == len(left & moments(layer))
            left -= moments(layer)
        assert found[-1, column] == len(left)
    assert (found.sum(axis=0) == np.maximum(high - low, 0)).all()
