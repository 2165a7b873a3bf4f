from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from tb_aiperf.records import TraceRecording
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.event_file import scan
from tb_aiperf.storage.new_runs import NewRuns, NotWrittenError, group_ranks, run_name
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FileSink
from tests.unit.storage.recordings import assert_same_timeline, calls, profile, recording, step, timeline
from tests.unit.storage.series import attempt, noisy, write_run


def write(logdir: Path, *recordings: TraceRecording) -> list[tuple[str, tuple[str, ...]]]:
    with NewRuns(str(logdir)) as runs:
        for each in recordings:
            runs.add(each)
        return [(run.name, run.traces) for run in runs.publish()]


def tree(folder: Path) -> list[str]:
    """Every folder and file below, event files by a short name."""
    return sorted(
        "events"
        if path.name.startswith("events.out.tfevents.") and path.parent == folder
        else str(path.relative_to(folder).parent / "events")
        if "tfevents" in path.name
        else str(path.relative_to(folder))
        for path in folder.rglob("*")
    )


def test_ranks_of_one_run_become_a_group(tmp_path: Path) -> None:
    given = [
        recording(path=f"/t/rank{rank}.pt.trace.json.gz", rank=rank, world_size=8, of_calls=calls([rank], [1]))
        for rank in (3, 1, 6)
    ]
    alone = recording(path="/t/alone.json")
    logdir = tmp_path / "new" / "logs"
    assert write(logdir, given[0], alone, *given[1:]) == [
        ("rank1", tuple(f"/t/rank{rank}.pt.trace.json.gz" for rank in (1, 3, 6))),
        ("alone", ("/t/alone.json",)),
    ]
    assert tree(logdir) == [
        "alone",
        "alone/events",
        "rank1",
        "rank1/events",
        "rank1/rank_3",
        "rank1/rank_3/events",
        "rank1/rank_6",
        "rank1/rank_6/events",
    ]
    reader = RunReader(DirectorySource(str(logdir)))
    windows = {index.run: index.windows for index in reader.indexes()}
    assert {run: (w.attempt.rank, w.attempt.world_size, w.number) for run, (w,) in windows.items()} == {
        "alone": (0, 1, 0),
        "rank1": (1, 8, 0),
        "rank1/rank_3": (3, 8, 0),
        "rank1/rank_6": (6, 8, 0),
    }
    # The same attempt everywhere, so that the ranks' windows are the same window.
    (identifier,) = {w.attempt.id for of_run in windows.values() for w in of_run}
    assert reader.window("rank1/rank_3", identifier, 0).profile == given[0].profile
    assert reader.collective_calls("rank1/rank_6", identifier, 0) == calls([6], [1])
    assert_same_timeline(reader.timeline("rank1", identifier, 1), timeline(8))


def test_a_trace_keeps_where_it_lies_and_when_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").touch()
    os.utime("run.json", ns=(5, 1_790_000_000_123_456_789))
    assert write(Path("logs"), recording(path="run.json")) == [("run", ("run.json",))]
    reader = RunReader(DirectorySource("logs"))
    (window,) = reader.indexes()[0].windows
    assert reader.window("run", window.attempt.id, 0).profile.path == str(tmp_path / "run.json")
    assert window.listed.recorded == 1_790_000_000_123_456_789


def test_a_run_that_exists_is_not_written_to(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(5)))
    (tmp_path / "run_3").write_text("a file")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    names = [write(tmp_path, recording(path="/t/run.json"))[0][0] for _ in range(2)]
    assert names == ["run_2", "run_4"]
    # Two files of one name in one call, too.
    both = write(tmp_path, recording(path="/a/x.json"), recording(path="/b/x.json.gz"))
    assert both == [("x", ("/a/x.json",)), ("x_2", ("/b/x.json.gz",))]
    assert {path: path.read_bytes() for path in before} == before


def test_without_publishing_nothing_is_left(tmp_path: Path) -> None:
    with NewRuns(str(tmp_path / "a" / "b")) as runs:
        runs.add(recording())
        # Nothing there is an event file to TensorBoard.
        assert DirectorySource(str(tmp_path)).runs == []
    assert list(tmp_path.iterdir()) == []

    def interrupted() -> None:
        with NewRuns(str(tmp_path)) as runs:
            runs.add(recording())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def full_after(monkeypatch: pytest.MonkeyPatch, summaries: int) -> None:
    add, seen = FileSink.add, []

    def fail(self: FileSink, *arguments: object) -> None:
        seen.append(arguments)
        if len(seen) > summaries:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        add(self, *arguments)

    monkeypatch.setattr(FileSink, "add", fail)


@pytest.mark.parametrize("summaries", range(6))
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, summaries: int) -> None:
    full_after(monkeypatch, summaries)
    logdir = tmp_path / "logs"
    with pytest.raises(NotWrittenError) as caught:
        write(logdir, recording(path="/t/a.json"), recording(path="/t/b.json"))
    assert str(caught.value) == (
        f"nothing was written to {logdir} (No space left on device); check its permissions and the space left, or give "
        "another folder"
    )
    assert not logdir.exists()


@pytest.mark.parametrize("moves", range(3))
def test_a_failure_to_publish_takes_back_what_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    rename, seen = os.rename, []

    def fail(old: str, new: str) -> None:
        seen.append(new)
        if len(seen) > moves:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        rename(old, new)

    write_run(tmp_path / "other", (attempt(), noisy(5)))
    monkeypatch.setattr(os, "rename", fail)
    ranks = [recording(path=f"/t/{rank}.json", rank=rank, world_size=2) for rank in (0, 1)]
    with pytest.raises(NotWrittenError, match=r"nothing was written to .* \(Permission denied\)"):
        write(tmp_path, *ranks, recording(path="/t/c.json"))
    assert tree(tmp_path) == ["other", "other/events"]


def test_what_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for logdir, message in (
        (tmp_path / "file", f"{tmp_path}/file is not a folder; give the folder that TensorBoard would be given"),
        (tmp_path / "file" / "below", f"nothing was written to {tmp_path}/file/below (Not a directory); "),
        ("", "the folder's name is empty; give the folder that TensorBoard would be given"),
        ("s3://bucket/logs", "s3://bucket/logs is no folder of this machine; give one, and copy it to there"),
    ):
        with pytest.raises(NotWrittenError) as caught, NewRuns(str(logdir)):
            pytest.fail("entered")
        assert str(caught.value).startswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_profile_too_large_to_be_stored_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_aiperf.storage.codec.MAX_STRUCT_BYTES", 100)
    with pytest.raises(NotWrittenError, match=r"^/t/a.json holds too much to be stored \(.*\); record fewer steps$"):
        write(tmp_path, recording(path="/t/a.json"))
    assert list(tmp_path.iterdir()) == []


def grouped(*ranks: tuple[int | None, int | None]) -> tuple[list[list[int]], list[str]]:
    return group_ranks([profile(path=f"{k}.json", rank=r, world_size=w) for k, (r, w) in enumerate(ranks)])


@pytest.mark.parametrize(
    ("ranks", "groups"),
    [
        ([], []),
        ([(None, None), (None, None)], [[0], [1]]),
        ([(0, 1), (0, 1)], [[0], [1]]),
        ([(0, None), (1, None)], [[0], [1]]),
        ([(1, 2), (0, 2)], [[1, 0]]),
        ([(1, 4), (0, 2), (3, 4), (1, 2), (None, None)], [[0, 2], [1, 3], [4]]),
        # Impossible ones are not believed.
        ([(-1, 2), (0, 2), (2, 2), (1, 10**30)], [[0], [1], [2], [3]]),
    ],
)
def test_groups(ranks: Sequence[tuple[int | None, int | None]], groups: list[list[int]]) -> None:
    assert grouped(*ranks) == (groups, [])


def test_a_rank_that_is_there_twice_leaves_all_of_its_kind_alone() -> None:
    groups, (note,) = grouped((0, 2), (1, 2), (0, 3), (1, 2), (1, 3))
    assert groups == [[0], [1], [2, 4], [3]]
    assert note == (
        "rank 1 of 2 is there twice (1.json and 3.json), so these ranks are not compared; give those of one recording "
        "at a time"
    )


@given(st.lists(st.tuples(st.none() | st.integers(-1, 4), st.none() | st.integers(0, 4)), max_size=8))
def test_every_trace_is_in_one_group_and_no_rank_twice(ranks: list[tuple[int | None, int | None]]) -> None:
    groups, _ = grouped(*ranks)
    assert sorted(place for group in groups for place in group) == list(range(len(ranks)))
    for group in groups:
        of_group = [ranks[place] for place in group]
        assert len({world for _, world in of_group}) == 1
        assert len(of_group) == 1 or of_group == sorted(set(of_group))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/t/host_1.1790000000.pt.trace.json.gz", "host_1.1790000000"),
        ("run.pt.trace.json", "run"),
        ("run.json", "run"),
        ("run.JSON.GZ", "run"),
        ("a.json.json", "a.json"),
        ("run", "run"),
        (".json", "trace"),
        ("...json", "trace"),
        ("rank_3.json", "trace_rank_3"),
        ("rank_3a.json", "rank_3a"),
        ("x" * 300 + ".json", "x" * 100),
        ("a\nb\x1b.json", "a_b_"),
    ],
)
def test_names_of_runs(path: str, name: str) -> None:
    assert run_name(path) == name


def test_names_that_are_not_utf8_are_escaped(tmp_path: Path) -> None:
    odd = os.fsdecode(b"/t/bad\xff.json")
    assert write(tmp_path, recording(path=odd)) == [("bad\\xff", (odd,))]
    reader = RunReader(DirectorySource(str(tmp_path)))
    (window,) = reader.indexes()[0].windows
    assert reader.window("bad\\xff", window.attempt.id, 0).profile.path == "/t/bad\\xff.json"


def test_impossible_ranks_are_not_listed(tmp_path: Path) -> None:
    write(tmp_path, recording(rank=-5, world_size=10**30), recording(rank=7, world_size=3))
    listed = [index.windows[0].attempt for index in RunReader(DirectorySource(str(tmp_path))).indexes()]
    assert [(each.rank, each.world_size) for each in listed] == [(0, 1), (7, 1)]


def test_the_file_is_one_of_tensorboards(tmp_path: Path) -> None:
    sink = FileSink(str(tmp_path / "file"))
    payload = bytes(range(256)) * 4000
    sink.add("tag", payload, b"index", 5)
    sink.close()
    with pytest.raises(FileExistsError):
        FileSink(str(tmp_path / "file"))
    first, second = EventFileLoader(str(tmp_path / "file")).Load()  # it checks the checksums
    assert first.file_version == "brain.Event:2"
    assert (second.step, second.summary.value[0].tag) == (5, "tag")
    assert second.summary.value[0].tensor.tensor_content == payload
    problems: list[str] = []
    assert [record.tag for record in scan((tmp_path / "file").read_bytes(), problems)] == ["tag"]
    assert problems == []


def test_the_loop_is_a_known_one(tmp_path: Path) -> None:
    write(tmp_path, recording(step(None, 1.0, 1.0)))
    (index,) = RunReader(DirectorySource(str(tmp_path))).indexes()
    assert (index.problems, index.loops("steps"), index.windows[0].attempt.loop) == ([], {}, "train")
