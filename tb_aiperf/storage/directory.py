"""`DirectorySource`: summaries straight from the event files below a folder, without a running TensorBoard."""

from __future__ import annotations

import mmap
import os
from collections import deque
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

    What a name holds that is not UTF-8 reads ``\\xff``. Files are read when first asked for, and not again. Not
    thread-safe. Raises OSError: FileNotFoundError or NotADirectoryError where `logdir` is no folder, others where it
    cannot be read.
    """

    def __init__(self, logdir: str) -> None:
        if not logdir:
            raise FileNotFoundError("the folder's name is empty")
        self.unreadable: list[str] = []
        """Folders below that could not be listed, one sentence each."""
        if _is_remote(logdir):
            with _one_line_errors(logdir):
                _check_folder(logdir, tf.io.gfile.exists(logdir), tf.io.gfile.isdir(logdir))
                folders = list(_walk_remote(logdir))
        else:
            logdir = os.path.abspath(os.path.expanduser(logdir))
            _check_folder(logdir, os.path.exists(logdir), os.path.isdir(logdir))
            folders = list(_walk(logdir, self.unreadable))
        self._files: dict[str, list[str]] = {}
        for folder, files in sorted(folders):
            name = readable(os.path.relpath(folder, logdir))
            while name in self._files:
                name += "_"
            self._files[name] = files
        self._scans: dict[str, _Scan] = {}

    @property
    def runs(self) -> list[str]:
        """Names of all runs, ours or not."""
        return list(self._files)

    def listing(self, run: str | None = None) -> Listing:
        """See `SummarySource`."""
        listing: Listing = {}
        for name in self._files if run is None else [run]:
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
        if run not in self._files:
            return _Scan({}, [])
        if run not in self._scans:
            scan = self._scans[run] = _Scan({}, [])
            for path in sorted(filter(io_wrapper.IsSummaryEventsFile, self._files[run])):
                found: list[str] = []
                try:
                    with _open(path) as data:
                        for record in event_file.scan(data, found):
                            scan.records[record.tag] = _Located(path, record)
                except OSError as error:
                    found.append(f"unreadable ({error.strerror or error})")
                scan.problems.extend(f"{readable(path)}: {problem}" for problem in found)
        return self._scans[run]


def _is_remote(path: str) -> bool:
    return "://" in path


def readable(path: str) -> str:
    """A path as text that any encoder takes: bytes that are not UTF-8 are escaped."""
    return path if _is_remote(path) else os.fsencode(path).decode("utf-8", "backslashreplace")


def _check_folder(path: str, exists: bool, is_folder: bool) -> None:
    if not exists:
        raise FileNotFoundError(f"{path} does not exist")
    if not is_folder:
        raise NotADirectoryError(f"{path} is not a folder")


def _walk(top: str, problems: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder from `top` down that holds event files, with their paths. Raises OSError for `top` alone.

    A real folder is visited once: links wait until all else has been seen, so a folder keeps its own name, and a link
    back up ends there.
    """
    folders, links, seen = [top], deque[str](), set[tuple[int, int]]()
    while folders or links:
        folder = folders.pop() if folders else links.popleft()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            problem = f"{readable(folder)} cannot be read ({error.strerror or error}); check its permissions"
            if folder == top:
                raise OSError(problem) from None
            problems.append(problem)
            continue
        files = []
        for entry in entries:
            if _is_folder(entry):
                (links if entry.is_symlink() else folders).append(entry.path)
            elif io_wrapper.IsTensorFlowEventsFile(entry.path):
                files.append(entry.path)
        if files:
            yield folder, files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _walk_remote(top: str) -> Iterator[tuple[str, list[str]]]:
    """As `_walk`."""
    for folder in io_wrapper.GetLogdirSubdirectories(top):
        yield folder, list(filter(io_wrapper.IsTensorFlowEventsFile, io_wrapper.ListDirectoryAbsolute(folder)))


@contextmanager
def _one_line_errors(path: str) -> Iterator[None]:
    """Whatever a remote file system raises as OSError: a missing library, an unknown protocol, errors of its own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{path} cannot be read: {str(error) or type(error).__name__}") from error


@contextmanager
def _open(path: str) -> Iterator[Buffer]:
    """A file's bytes: mapped where it is local, so that foreign events are not even read."""
    if _is_remote(path):
        with _one_line_errors(path), tf.io.gfile.GFile(path, "rb") as remote:
            content: bytes = remote.read()
        yield content
    elif os.path.getsize(path) == 0:
        yield b""
    else:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
