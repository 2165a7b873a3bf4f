"""Rows that share values, and sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_aiperf.trace.table import IntArray

#: Up to this range of values a table of all is made.
_SMALL_WIDTH = 1 << 16
#: What a key of several columns may reach without overflow.
_MOST_KEYS = 1 << 62


def label_groups(*columns: npt.NDArray[np.integer[Any]]) -> tuple[IntArray, IntArray]:
    """[k] the first row of each distinct combination of values, and [n] the combination of each row.

    Combinations are in order of their values.
    """
    count = len(columns[0])
    key, size = np.zeros(count, np.int64), 1
    for column in columns:
        place, values = _places(column)
        if size * values > _MOST_KEYS:
            key, size = _places(key)
        key, size = key * values + place, size * values
    label, size = _places(key, dense=True)
    first = np.empty(size, np.int64)
    # Backwards: of several rows with a label, the one written last stays.
    first[label[::-1]] = np.arange(count - 1, -1, -1)
    return first, label


def _places(column: npt.NDArray[np.integer[Any]], dense: bool = False) -> tuple[IntArray, int]:
    """[n] numbers from 0 in the order of the values, and their limit; dense: without gaps."""
    if not len(column):
        return np.zeros(0, np.int64), 0
    low = int(column.min())
    width = int(column.max()) - low + 1
    if width > len(column) + _SMALL_WIDTH:
        values, place = np.unique(column, return_inverse=True)
        return place.astype(np.int64), len(values)
    place = column.astype(np.int64) - low
    if not dense:
        return place, width
    # Faster than sorting, as ids of names and the like are few.
    occurs = np.zeros(width, np.bool_)
    occurs[place] = True
    number = np.cumsum(occurs) - 1
    return number[place], int(number[-1]) + 1


def stable_order(values: npt.NDArray[np.integer[Any]]) -> IntArray:
    """[n] the rows by their values, else in order."""
    limits = np.iinfo(np.int16)
    if values.min(initial=0) >= limits.min and values.max(initial=0) <= limits.max:
        # Of 16 bits, numpy sorts in linear time.
        values = values.astype(np.int16)
    return np.argsort(values, kind="stable")


def sums(label: IntArray, values: IntArray, count: int) -> IntArray:
    """[count] sum of the values of each label, exact."""
    total = np.zeros(count, np.int64)
    np.add.at(total, label, values)
    return total


def extremes(label: IntArray, values: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """[count] the least and the greatest value of each label; every label has values."""
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, label, values)
    np.maximum.at(high, label, values)
    return low, high
