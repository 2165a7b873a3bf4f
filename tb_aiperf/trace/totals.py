"""`Totals`: sums by key over any number of batches, in memory that grows with the distinct keys alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_aiperf.trace.table import IntArray

Integers = npt.NDArray[np.integer[Any]]

#: Batches of fewer rows are put off until there are as many, so that small ones cost little.
_FEW_ROWS = 1 << 14


class Totals:
    """Combines rows that share a key: each column by an operation such as ``np.add`` or ``np.minimum``, exactly."""

    def __init__(self, keys: int, operations: Sequence[np.ufunc]) -> None:
        self._keys = keys
        self._operations = operations
        self._parts: list[list[Integers]] = [[] for _ in range(keys + len(operations))]
        self._rows = 0
        #: Rows after the last combining: doing it again when they have doubled keeps the whole linear.
        self._distinct = 0

    def add(self, *columns: Integers) -> None:
        """Take n rows: the columns of their keys, then one column for each operation."""
        for parts, column in zip(self._parts, columns, strict=True):
            parts.append(column)
        self._rows += len(columns[0])
        if self._rows > 2 * self._distinct + _FEW_ROWS:
            self._combine()

    def columns(self) -> list[IntArray]:
        """Columns as they were given, with one row for each distinct key; by key, the first column before the next."""
        self._combine()
        return [parts[0].astype(np.int64) for parts in self._parts]

    def _combine(self) -> None:
        empty = np.zeros(0, np.int64)
        columns = [np.concatenate(parts) if parts else empty for parts in self._parts]
        keys = columns[: self._keys]
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        changes = np.zeros(max(len(order) - 1, 0), np.bool_)
        for key in keys:
            changes |= key[1:] != key[:-1]
        first = np.flatnonzero(np.append(np.ones(min(1, len(order)), np.bool_), changes))
        combined: list[Integers] = [key[first] for key in keys]
        for column, operation in zip(columns[self._keys :], self._operations, strict=True):
            combined.append(operation.reduceat(column[order], first) if len(first) else empty)
        self._parts = [[column] for column in combined]
        self._rows = self._distinct = len(first)
