"""Rows of tables in temporary files: written in batches, read back by ranges of a key."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any, BinaryIO, Generic, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.table import IntArray, Table

#: One of so many keys of a sorted batch is kept in memory, to find ranges by.
SAMPLE_ROWS = 256

Rows = TypeVar("Rows", bound=Table)
_GREATEST = np.iinfo(np.int64).max


class Scratch:
    """Temporary files of one reading, in the folder that TMPDIR names. They have no name, so nothing can be left.

    path: the trace that they belong to, for messages.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._files = ExitStack()
        self._bytes = 0

    def file(self) -> BinaryIO:
        """A new file, open until `close`."""
        try:
            # Unbuffered: batches are large, and a buffer would write once more when it is closed.
            return self._files.enter_context(tempfile.TemporaryFile(prefix="aiperf-", buffering=0))
        except OSError as error:
            self._fail(error)

    def write(self, file: BinaryIO, data: npt.NDArray[Any]) -> None:
        """Append to a file. Raises `TraceError` if the disk is full."""
        rest = data.view(np.uint8).data
        try:
            file.seek(0, os.SEEK_END)
            while rest:
                written = file.write(rest)
                self._bytes += written
                rest = rest[written:]
        except OSError as error:
            self._fail(error)

    def read(self, file: BinaryIO, offset: int, into: npt.NDArray[Any]) -> None:
        """Fill an array from what was written at `offset`."""
        rest = into.view(np.uint8).data
        try:
            file.seek(offset)
            while rest:
                count = file.readinto(rest)  # type: ignore[attr-defined]
                if not count:
                    raise OSError("a temporary file was cut")
                rest = rest[count:]
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Delete all files."""
        self._files.close()

    def _fail(self, error: OSError) -> NoReturn:
        raise TraceError(
            self._path,
            f"is larger than memory may hold, and its temporary files failed: {error.strerror or error}",
            f"{self._bytes / 1e6:.0f} MB written to {tempfile.gettempdir()}",
            "Free space there, or set TMPDIR to a folder on a larger disk; a quarter of the JSON's size is usual.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows in order of their key. offset: their place in the file. samples: the key of every `SAMPLE_ROWS`th."""

    offset: int
    count: int
    samples: IntArray


class Runs(Generic[Rows]):
    """Rows of one kind on disk as runs, each in order of a key column."""

    def __init__(self, scratch: Scratch, key: str) -> None:
        self._scratch = scratch
        self._key = key
        self._file = scratch.file()
        self._runs: list[_Run] = []
        self._end = 0
        self._kind: type[Rows] | None = None
        self._type: np.dtype[Any] = np.dtype([])

    def __len__(self) -> int:
        return sum(run.count for run in self._runs)

    def write(self, rows: Rows) -> None:
        """Add a batch, which becomes a run; rows of equal key stay in order. An empty one tells the columns' types."""
        columns = [(field.name, getattr(rows, field.name)) for field in fields(rows)]
        if self._kind is None:
            self._kind = type(rows)
            self._type = np.dtype([(name, column.dtype) for name, column in columns])
        if not len(rows):
            return
        key = getattr(rows, self._key)
        order: Any = slice(None)
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
        records = np.empty(len(rows), self._type)
        for name, column in columns:
            records[name] = column[order]
        self._scratch.write(self._file, records)
        self._runs.append(_Run(self._end, len(rows), records[self._key][::SAMPLE_ROWS].copy()))
        self._end += records.nbytes

    def close(self) -> None:
        """Delete the rows."""
        self._file.close()

    def weights(self) -> tuple[IntArray, IntArray]:
        """[n] keys, and the bytes of the rows that each stands for: those from it to the next of its run."""
        keys = [run.samples for run in self._runs]
        rows = [np.minimum(run.count - np.arange(len(run.samples)) * SAMPLE_ROWS, SAMPLE_ROWS) for run in self._runs]
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *keys]), np.concatenate([empty, *rows]) * self._type.itemsize

    def read(self, low: int, high: int) -> Rows:
        """Rows with low <= key < high, run by run, so that those of equal key are in the order of writing."""
        parts = [part for run in self._runs if len(part := self._read(run, low, high))]
        records = np.concatenate(parts) if parts else np.empty(0, self._type)
        assert self._kind is not None, "rows were written"
        return self._kind(*(np.ascontiguousarray(records[name]) for name in self._type.names or ()))

    def _read(self, run: _Run, low: int, high: int) -> npt.NDArray[Any]:
        # The block before the first sample that is not below may hold some that are not, too.
        first = max(int(np.searchsorted(run.samples, low, side="left")) - 1, 0) * SAMPLE_ROWS
        stop = min(int(np.searchsorted(run.samples, high, side="left")) * SAMPLE_ROWS, run.count)
        records = np.empty(max(stop - first, 0), self._type)
        if len(records):
            self._scratch.read(self._file, run.offset + first * self._type.itemsize, records)
            key = records[self._key]
            records = records[np.searchsorted(key, low, side="left") : np.searchsorted(key, high, side="left")]
        return records


def cut(runs: Iterable[Runs[Any]], size: int) -> list[tuple[int, int]]:
    """Ranges low <= key < high, in order, that hold all keys of all runs; the rows of each take about `size` bytes."""
    weights = [run.weights() for run in runs]
    keys, sizes = (np.concatenate(columns) for columns in zip(*weights, strict=True))
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    keys, before = keys[order], np.cumsum(sizes[order]) - sizes[order]
    share = before // max(size, 1)
    edges = np.unique(np.append(keys[:1], keys[1:][np.diff(share) != 0])).tolist()
    return list(zip(edges, [*edges[1:], int(_GREATEST)], strict=True))
