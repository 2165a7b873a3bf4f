"""`DirectorySource`: summaries straight from the event files below a folder, without a running TensorBoard."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from tensorboard.backend.event_processing import io_wrapper
from tensorboard.compat import tf

from tb_aiperf.storage import event_file
from tb_aiperf.storage.codec import Payload
from tb_aiperf.storage.event_file import Buffer, Record
from tb_aiperf.storage.source import Entry, Listing


class _Located(NamedTuple):
    path: str
    record: Record


class _Scan(NamedTuple):
    records: dict[str, _Located]
    problems: list[str]


class DirectorySource:
    """A `SummarySource` over a folder, local or on any file system TensorBoard knows; runs are named as it names them.

    Files are read when first asked for, and not again. Not thread-safe. Raises FileNotFoundError or
    NotADirectoryError.
    """

    def __init__(self, logdir: str) -> None:
        logdir = logdir if _is_remote(logdir) else os.path.abspath(os.path.expanduser(logdir))
        if not tf.io.gfile.exists(logdir):
            raise FileNotFoundError(f"{logdir} does not exist")
        if not tf.io.gfile.isdir(logdir):
            raise NotADirectoryError(f"{logdir} is not a folder")
        self._logdir = logdir
        folders = sorted(io_wrapper.GetLogdirSubdirectories(logdir))
        self._folders = {os.path.relpath(folder, logdir): folder for folder in folders}
        self._scans: dict[str, _Scan] = {}

    @property
    def runs(self) -> list[str]:
        """Names of all runs, ours or not."""
        return list(self._folders)

    def listing(self, run: str | None = None) -> Listing:
        """See `SummarySource`."""
        listing: Listing = {}
        for name in self._folders if run is None else [run]:
            records = self._scan(name).records
            if records:
                listing[name] = {
                    tag: Entry(record.content, record.step, record.wall_time) for tag, (_, record) in records.items()
                }
        return listing

    def read(self, tags: Mapping[str, Collection[str]]) -> dict[str, dict[str, Payload]]:
        """See `SummarySource`."""
        payloads: dict[str, dict[str, Payload]] = {}
        for run, names in tags.items():
            records = self._scan(run).records
            by_path: dict[str, list[Record]] = {}
            for name in names:
                if name in records:
                    by_path.setdefault(records[name].path, []).append(records[name].record)
            payloads[run] = {}
            for path, wanted in by_path.items():
                with _open(path) as data:
                    payloads[run].update({record.tag: event_file.payload(data, record) for record in wanted})
        return payloads

    def problems(self, run: str) -> list[str]:
        """See `SummarySource`."""
        return self._scan(run).problems

    def _scan(self, run: str) -> _Scan:
        if run not in self._folders:
            return _Scan({}, [])
        if run not in self._scans:
            scan = self._scans[run] = _Scan({}, [])
            folder = self._folders[run]
            for path in sorted(filter(io_wrapper.IsSummaryEventsFile, io_wrapper.ListDirectoryAbsolute(folder))):
                found: list[str] = []
                try:
                    with _open(path) as data:
                        for record in event_file.scan(data, found):
                            scan.records[record.tag] = _Located(path, record)
                except OSError as error:
                    found.append(f"unreadable ({error.strerror or error})")
                scan.problems.extend(f"{path}: {problem}" for problem in found)
        return self._scans[run]


def _is_remote(path: str) -> bool:
    return "://" in path


@contextmanager
def _open(path: str) -> Iterator[Buffer]:
    """A file's bytes: mapped where it is local, so that foreign events are not even read."""
    if _is_remote(path):
        with tf.io.gfile.GFile(path, "rb") as remote:
            yield remote.read()
    elif os.path.getsize(path) == 0:
        yield b""
    else:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
