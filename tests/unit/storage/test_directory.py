from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from tb_aiperf import reports
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.formats import quantise
from tb_aiperf.storage.reader import RunReader
from tests.unit.storage.series import assert_same_rows, attempt, event_file, noisy, read_run, table, write_run


def test_runs_are_named_as_tensorboard_names_them(tmp_path: Path) -> None:
    rows = table({"a": [1]})
    for folder in (".", "digits/version_0", "digits/version_0/rank_1"):
        write_run(tmp_path / folder, (attempt(), rows))
    reader = RunReader(DirectorySource(str(tmp_path)))
    assert [index.run for index in reader.indexes()] == [".", "digits/version_0", "digits/version_0/rank_1"]
    assert reader.index("digits") is None


def test_several_event_files_make_one_run(tmp_path: Path) -> None:
    for number in (1, 2):
        write_run(tmp_path / "run", (attempt(number), table({"a": [number]}, step=[number])))
    assert read_run(tmp_path).table.step.tolist() == [1, 2]


def test_a_folder_on_another_file_system(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    write_run(tmp_path / "run", (attempt(), noisy(700)))
    path = event_file(tmp_path / "run")
    fsspec.filesystem("memory").pipe(f"/logs/exp/{path.name}", path.read_bytes())
    reader = RunReader(DirectorySource("memory://logs"))
    index = reader.index("exp")
    assert index is not None
    assert_same_rows(reader.load_steps(index, "train").table, quantise(noisy(700)))


def test_an_empty_event_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.out.tfevents.1.host").touch()
    source = DirectorySource(str(tmp_path))
    assert (source.runs, source.listing(), source.problems("run"), source.problems("none")) == (["run"], {}, [], [])


def write_one(folder: Path) -> None:
    write_run(folder, (attempt(), table({"a": [1]})))


def test_each_real_folder_is_read_once_under_its_own_name(tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    write_one(logs / "b" / "run")
    write_one(elsewhere / "linked")
    (logs / "b" / "run" / "up").symlink_to("../..")
    (logs / "a_latest").symlink_to("b/run")
    (logs / "other").symlink_to(elsewhere)
    (logs / "self").symlink_to("self")
    assert DirectorySource(str(logs)).runs == ["b/run", "other/linked"]


def forbid(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Folders of these names cannot be listed: permissions do not bind the administrator."""
    scandir = os.scandir

    def refuse(path: str) -> object:
        if os.path.basename(path) in names:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)


def test_a_folder_that_cannot_be_listed_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b/deep", "c"):
        write_one(tmp_path / name)
    forbid(monkeypatch, "b")
    source = DirectorySource(str(tmp_path))
    assert source.runs == ["a", "c"]
    assert source.unreadable == [f"{tmp_path}/b cannot be read (Permission denied); check its permissions"]


def test_a_log_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(monkeypatch, tmp_path.name)
    with pytest.raises(OSError, match=r"cannot be read \(Permission denied\); check its permissions$"):
        DirectorySource(str(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_are_escaped(tmp_path: Path) -> None:
    for name in (b"bad\xff", b"bad\\xff", "gü".encode()):
        write_one(tmp_path / "new")
        (tmp_path / "new").rename(tmp_path / os.fsdecode(name))
    (tmp_path / os.fsdecode(b"bad\xff") / "tfevents.2").write_bytes(b"x" * 20)
    source = DirectorySource(str(tmp_path))
    assert source.runs == ["bad\\xff", "bad\\xff_", "gü"]
    reader = RunReader(source)
    overviews = [run["overview"] for run in reports.at_a_glance(reader)]
    assert [run["steps"] for run in overviews] == [1, 1, 1]
    answer = msgspec.json.decode(msgspec.json.encode(overviews))
    assert sum(run["damaged_chunks"] for run in answer) == 1
    assert any("/bad\\xff/tfevents.2: bytes 0 to 20" in sentence for run in answer for sentence in run["damage"])


@pytest.mark.parametrize(
    ("logdir", "kind", "message"),
    [
        ("", FileNotFoundError, "the folder's name is empty"),
        ("/none", FileNotFoundError, "/none does not exist"),
        (__file__, NotADirectoryError, f"{__file__} is not a folder"),
        ("memory://none", FileNotFoundError, "memory://none does not exist"),
        ("nonsense://x", OSError, "nonsense://x cannot be read: "),
    ],
)
def test_what_is_no_folder(logdir: str, kind: type[OSError], message: str) -> None:
    if "://" in logdir:
        pytest.importorskip("fsspec")
    with pytest.raises(kind) as caught:
        DirectorySource(logdir)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("error", [ImportError("Install s3fs to access S3"), KeyError("odd"), RuntimeError()])
def test_whatever_a_remote_file_system_raises_is_one_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(_: str) -> bool:
        raise error

    monkeypatch.setattr("tensorboard.compat.tf.io.gfile.exists", fail)
    with pytest.raises(OSError, match=r"^s3://bucket/x cannot be read: ") as caught:
        DirectorySource("s3://bucket/x")
    assert str(caught.value).endswith(str(error) or "RuntimeError")
