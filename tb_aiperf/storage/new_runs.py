"""`NewRuns`: trace files as new runs below a log directory, all of them or none."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import msgspec

from tb_aiperf.records import Attempt, TraceProfile, TraceRecording, new_attempt_id
from tb_aiperf.storage.directory import readable
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.sink import FileSink

#: A run is called as its trace file, without this and not longer than that.
_ENDING = re.compile(r"(\.pt\.trace)?(\.json)?(\.gz)?$", re.IGNORECASE)
_LONGEST_NAME = 100
#: No trace tells in which loop its program was; most are of training.
_LOOP = "train"


class NotWrittenError(OSError):
    """The runs could not be written. The message is one sentence: where, why, what to do."""


@dataclass(frozen=True)
class NewRun:
    """A run that was written. name: below the log directory. traces: the files in it, one per rank, lowest first."""

    name: str
    traces: tuple[str, ...]


@dataclass(frozen=True)
class _Staged:
    path: str
    profile: TraceProfile


class NewRuns:
    """Writes trace recordings as runs; ranks of one training become one group, rank k in ``<run>/rank_<k>``.

    Use it as a context: files are written where no viewer looks, and `publish` moves them to their places, under names
    that are free. Without it, or if it fails, the log directory is left as it was. A run that exists is never written
    to: a second event file in a folder in use loses data. Raises NotWrittenError throughout.
    """

    def __init__(self, logdir: str) -> None:
        self._logdir = os.path.expanduser(logdir)
        self._attempt = Attempt(id=new_attempt_id(), loop=_LOOP, started_unix_ns=time.time_ns())
        self._staged: list[_Staged] = []
        self._staging = ""
        self._made: list[str] = []
        self.notes: list[str] = []
        """Why traces of one number of ranks were not taken for ranks of one run, one sentence each."""

    def __enter__(self) -> NewRuns:
        if not self._logdir:
            raise NotWrittenError("the folder's name is empty; give the folder that TensorBoard would be given")
        if "://" in self._logdir:
            raise NotWrittenError(f"{self._logdir} is no folder of this machine; give one, and copy it to there")
        if os.path.exists(self._logdir) and not os.path.isdir(self._logdir):
            raise NotWrittenError(f"{self._logdir} is not a folder; give the folder that TensorBoard would be given")
        try:
            with self._one_sentence():
                for folder in _missing_folders(self._logdir):
                    os.mkdir(folder)
                    self._made.append(folder)
                self._staging = tempfile.mkdtemp(prefix=".tb_aiperf-", dir=self._logdir)
        except NotWrittenError:
            self._clean_up()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clean_up()

    def add(self, recording: TraceRecording) -> None:
        """Write one recording; it is not needed afterwards."""
        profile = recording.profile
        rank, world_size = _rank_of(profile)
        attempt = msgspec.structs.replace(self._attempt, rank=rank or 0, world_size=world_size or 1)
        path = os.path.join(self._staging, f"{len(self._staged)}.part")
        # The panels are looked at from elsewhere.
        kept = msgspec.structs.replace(profile, path=readable(os.path.abspath(profile.path)))
        try:
            with self._one_sentence():
                sink = FileSink(path)
                try:
                    ProfileWriter(sink, attempt).write(
                        replace(recording, profile=kept), _modified_unix_ns(profile.path)
                    )
                finally:
                    sink.close()
        except ValueError as error:
            raise NotWrittenError(f"{profile.path} holds too much to be stored ({error}); record fewer steps") from None
        self._staged.append(_Staged(path, profile))

    def publish(self) -> list[NewRun]:
        """Move everything to its place."""
        groups, self.notes = group_ranks([staged.profile for staged in self._staged])
        written: list[NewRun] = []
        roots: list[str] = []
        try:
            with self._one_sentence():
                for group in groups:
                    traces = [self._staged[place].profile.path for place in group]
                    roots.append(root := self._new_folder(run_name(traces[0])))
                    for place in group:
                        self._move(self._staged[place], root, is_lowest=place == group[0])
                    written.append(NewRun(os.path.basename(root), tuple(traces)))
        except BaseException:
            for root in roots:
                shutil.rmtree(root, ignore_errors=True)
            raise
        self._made = []
        return written

    def _new_folder(self, name: str) -> str:
        for number in itertools.count(1):
            folder = os.path.join(self._logdir, name if number == 1 else f"{name}_{number}")
            with suppress(FileExistsError):
                os.mkdir(folder)
                return folder
        raise AssertionError("unreachable")

    def _move(self, staged: _Staged, folder: str, *, is_lowest: bool) -> None:
        if not is_lowest:
            folder = os.path.join(folder, f"rank_{staged.profile.rank}")
            os.mkdir(folder)
        name = f"events.out.tfevents.{int(time.time()):010}.{socket.gethostname()}.{os.getpid()}.0"
        os.rename(staged.path, os.path.join(folder, name))

    def _clean_up(self) -> None:
        if self._staging:
            shutil.rmtree(self._staging, ignore_errors=True)
        for folder in reversed(self._made):
            with suppress(OSError):  # something has come into it meanwhile
                os.rmdir(folder)

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise NotWrittenError(
                f"nothing was written to {self._logdir} ({error.strerror or error}); "
                "check its permissions and the space left, or give another folder"
            ) from error


def group_ranks(profiles: Sequence[TraceProfile]) -> tuple[list[list[int]], list[str]]:
    """Places of the profiles that are ranks of one run, lowest rank first, in order of appearance; all others alone.

    Ranks of one run say the same number of ranks and are different ones. Where a rank is there twice, which of them
    belong together is not told: all of that number are left alone, and a sentence says so.
    """
    members: dict[int, list[int]] = {}
    ranks = [_rank_of(profile) for profile in profiles]
    for place, (rank, world_size) in enumerate(ranks):
        if rank is not None and world_size is not None and world_size > 1:
            members.setdefault(world_size, []).append(place)
    groups: dict[int, list[int]] = {}
    notes = []
    for world_size, places in members.items():
        ordered = sorted(places, key=lambda place: ranks[place][0] or 0)
        twice = next(((a, b) for a, b in itertools.pairwise(ordered) if ranks[a] == ranks[b]), None)
        if twice is None:
            groups[places[0]] = ordered
            continue
        first, second = (profiles[place].path for place in twice)
        notes.append(
            f"rank {ranks[twice[0]][0]} of {world_size} is there twice ({first} and {second}), so these ranks are not "
            "compared; give those of one recording at a time"
        )
    others = {place for group in groups.values() for place in group} - groups.keys()
    return [groups.get(place, [place]) for place in range(len(profiles)) if place not in others], notes


def run_name(path: str) -> str:
    """What the run of a trace file is called."""
    stem = _ENDING.sub("", os.path.basename(path))
    stem = "".join(c if c.isprintable() else "_" for c in readable(stem))[:_LONGEST_NAME]
    if not stem.strip("."):
        return "trace"
    # As a whole name it would make the log directory itself the group.
    return f"trace_{stem}" if re.fullmatch(r"rank_\d+", stem) else stem


def _rank_of(profile: TraceProfile) -> tuple[int | None, int | None]:
    """Rank and number of ranks, as far as the trace says possible ones."""
    rank, world_size = profile.rank, profile.world_size
    rank = rank if rank is not None and 0 <= rank < 1 << 31 else None
    return rank, world_size if world_size is not None and (rank or 0) < world_size < 1 << 31 else None


def _modified_unix_ns(path: str) -> int:
    """When the profiler wrote the file: no trace of every version tells when it was recorded."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return time.time_ns()


def _missing_folders(path: str) -> list[str]:
    """A folder and those above it that are not there, outermost first."""
    folder = Path(path).absolute()
    return [str(each) for each in reversed([folder, *folder.parents]) if not each.exists()]
