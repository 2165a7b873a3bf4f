"""Rows that share values, and sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_aiperf.trace.table import IntArray


def label_groups(*columns: npt.NDArray[np.integer[Any]]) -> tuple[IntArray, IntArray]:
    """[k] the first row of each distinct combination of values, and [n] the combination of each row."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        key = key * len(values) + place
    _, first, label = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), label.astype(np.int64)


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
