from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pytest

from tb_aiperf.records import StepTable
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.event_file import scan
from tb_aiperf.storage.formats import quantise
from tb_aiperf.storage.reader import LoadedSteps, RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter, write_report
from tests.unit.storage.series import (
    START_NS,
    assert_same_rows,
    attempt,
    event_file,
    noisy,
    read_run,
    table,
    write_run,
)


class Recording(DirectorySource):
    """A directory that notes which tags are read."""

    def __init__(self, logdir: Path) -> None:
        super().__init__(str(logdir))
        self.reads: list[str] = []

    def read(self, tags: Mapping[str, Collection[str]]) -> dict:
        self.reads += [
            tag.removeprefix(f"tb_aiperf/steps/{attempt().id}/") for of_run in tags.values() for tag in of_run
        ]
        return super().read(tags)


def test_a_resume_by_hand(tmp_path: Path) -> None:
    stages = {"data_wait": [9, 1, 2, 3, 4], "forward": [0, 10, 20, 30, 40]}
    first = table(stages, step=[0, 0, 1, 2, 3], segment=[1, 0, 0, 0, 0])
    second = table({"forward": [7, 300, 400, 500]}, step=[2, 2, 3, 4], segment=[1, 0, 0, 0], start=5)
    write_run(tmp_path / "run", (attempt(1), first), (attempt(2), second))
    loaded = read_run(tmp_path)
    # Steps 2 and 3 of the first attempt were run again; the second attempt's start-up sorts before its step 2.
    assert loaded.table.step.tolist() == [0, 0, 1, 2, 2, 3, 4]
    assert loaded.table.segment.tolist() == [1, 0, 0, 1, 0, 0, 0]
    assert loaded.origin.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert loaded.table.stages == ("data_wait", "forward")
    assert loaded.table.durations.tolist() == [[9, 1, 2, 0, 0, 0, 0], [0, 10, 20, 7, 300, 400, 500]]
    assert loaded.wall.tolist() == [9, 11, 22, 7, 300, 400, 500]
    assert loaded.superseded == 2
    starts = [START_NS // 1000 + 3_600_000_000 * number for number in (1, 2)]
    assert loaded.unix_us.tolist() == [
        *(starts[0] + at for at in (0, 9, 20)),
        *(starts[1] + at for at in (5, 12, 312, 712)),
    ]
    described = [(a.attempt.id, a.steps, a.first_step, a.last_step) for a in loaded.attempts]
    assert described == [(attempt(1).id, 4, 0, 3), (attempt(2).id, 3, 2, 4)]
    # One attempt alone is shown whole.
    alone = read_run(tmp_path, attempt_id=attempt(1).id)
    assert_same_rows(alone.table, first)
    assert alone.superseded == 0


def test_steps_that_the_resume_has_not_reached_yet_stay_in_order(tmp_path: Path) -> None:
    first, second = table({"a": [1, 2, 3, 4]}), table({"a": [50]}, step=[1])
    write_run(tmp_path / "run", (attempt(1), first), (attempt(2), second))
    loaded = read_run(tmp_path)
    assert loaded.table.step.tolist() == [0, 1, 2, 3]
    assert loaded.wall.tolist() == [1, 50, 3, 4]
    assert loaded.origin.tolist() == [0, 1, 0, 0]


def test_loops_do_not_supersede_each_other(tmp_path: Path) -> None:
    rows = table({"a": [1, 2]})
    write_run(tmp_path / "run", (attempt(1), rows), (attempt(2, loop="test"), rows))
    assert len(read_run(tmp_path).table) == 2
    assert len(read_run(tmp_path, loop="test").table) == 2
    with pytest.raises(KeyError):
        read_run(tmp_path, attempt_id=attempt(2).id)


def test_a_refresh_reads_only_what_is_new(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=100)
    rows = noisy(330)
    cache, expected = BuildCache(1 << 30), quantise(rows)

    def refresh() -> tuple[list[str], LoadedSteps]:
        source = Recording(tmp_path)
        reader = RunReader(source, cache)
        index = reader.index("run")
        assert index is not None
        return source.reads, reader.load_steps(index, "train")

    def grow(first: int, last: int) -> None:
        writer.append(rows.select(slice(first, last)))
        writer.flush()

    grow(0, 210)
    reads, loaded = refresh()
    assert reads == ["000000", "000001", "tail/0"]
    assert_same_rows(loaded.table, expected.select(slice(0, 210)))
    # Nothing new: nothing is read, and the very same rows are answered.
    reads, again = refresh()
    assert (reads, again is loaded) == ([], True)
    grow(210, 225)
    reads, loaded = refresh()
    assert reads == ["tail/0", "tail/1"]
    assert_same_rows(loaded.table, expected.select(slice(0, 225)))
    grow(225, 330)
    reads, loaded = refresh()
    # Slot 1 holds rows that chunk 2 has meanwhile: the listing alone tells that it need not be read.
    assert reads == ["000002", "tail/0"]
    assert_same_rows(loaded.table, expected)


def corrupt(path: Path, tag: str) -> None:
    """Flip a bit in the payload of a tag's last event, which makes up most of it."""
    content = bytearray(path.read_bytes())
    (*_, record) = [record for record in scan(bytes(content), []) if record.tag.endswith(tag)]
    content[record.offset + record.size // 2] ^= 0x10
    path.write_bytes(bytes(content))


def test_a_damaged_chunk_is_skipped_counted_and_named(tmp_path: Path) -> None:
    rows = noisy(350)
    write_run(tmp_path / "run", (attempt(), rows), chunk_rows=100)
    corrupt(event_file(tmp_path / "run"), "/000001")
    loaded = read_run(tmp_path)
    assert len(loaded.damage) == 1
    assert loaded.damage[0].startswith(f"tb_aiperf/steps/{attempt().id}/000001 of run 'run': checksum or compression")
    expected = quantise(rows).select(np.r_[0:100, 200:350])
    assert_same_rows(loaded.table, expected)


def test_the_tail_stands_in_for_a_damaged_last_chunk(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=100)
    rows = noisy(130)
    for first, last in ((0, 110), (110, 120), (120, 127)):
        writer.append(rows.select(slice(first, last)))
        writer.flush()
    writer.append(rows.select(slice(127, 130)))
    writer.close()
    corrupt(event_file(tmp_path / "run"), "/000001")
    loaded = read_run(tmp_path)
    assert len(loaded.damage) == 1
    assert_same_rows(loaded.table, quantise(rows).select(slice(0, 127)))


def test_a_damaged_tail_slot_costs_its_rows_and_those_after(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=100)
    rows = noisy(30)
    for first in (0, 10, 20):
        writer.append(rows.select(slice(first, first + 10)))
        writer.flush()
    corrupt(event_file(tmp_path / "run"), "tail/1")
    loaded = read_run(tmp_path)
    assert len(loaded.damage) == 1
    assert "tail/1 of run 'run'" in loaded.damage[0]
    assert_same_rows(loaded.table, quantise(rows).select(slice(0, 10)))


def test_a_chunk_that_is_not_there_is_named(tmp_path: Path) -> None:
    rows = noisy(300)
    write_run(tmp_path / "run", (attempt(), rows), chunk_rows=100)
    path = event_file(tmp_path / "run")
    content = path.read_bytes()
    record = next(record for record in scan(content, []) if record.tag.endswith("/000001"))
    path.write_bytes(content[: record.offset - 12] + content[record.offset + record.size + 4 :])
    loaded = read_run(tmp_path)
    assert loaded.damage == (f"tb_aiperf/steps/{attempt().id}/000001 of run 'run': missing from the file",)
    assert len(loaded.table) == 200


def test_a_chunk_under_another_ones_tag_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(300)), chunk_rows=100)
    path = event_file(tmp_path / "run")
    path.write_bytes(path.read_bytes().replace(b"/000001", b"/000007"))
    loaded = read_run(tmp_path)
    assert f"tb_aiperf/steps/{attempt().id}/000007 of run 'run': holds chunk 1" in loaded.damage[-1]
    assert len(loaded.table) == 200


def test_a_damaged_report_is_passed_over(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    noted = attempt(notes=("note",))
    write_report(sink, "attempt", noted, noted)
    sink.close()
    corrupt(event_file(tmp_path / "run"), noted.id)
    reader = RunReader(DirectorySource(str(tmp_path)))
    index = reader.index("run")
    assert index is not None
    assert reader.attempt_record("run", index.attempts[0]) == attempt()


def test_unreadable_listings_are_named(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    sink.add("tb_aiperf/steps/a/000000", b"", b'{"v":2,"loop":"train","started":0}', 0)
    sink.add("tb_aiperf/steps/a/000001", b"", b"nonsense", 0)
    sink.add("tb_aiperf/steps/a/000002", b"", b'{"v":1,"loop":"knit","started":0}', 0)
    sink.add("tb_aiperf/some/new/kind/of/tag", b"", b"{}", 0)
    sink.close()
    index = RunReader(DirectorySource(str(tmp_path))).index("run")
    assert index is not None
    assert index.attempts == []
    assert index.problems == [
        "tb_aiperf/steps/a/000000: stored in format 2; this version reads up to 1",
        "tb_aiperf/steps/a/000001: unreadable index",
        "tb_aiperf/steps/a/000002: unknown loop 'knit'",
        "tb_aiperf/some/new/kind/of/tag: not a name this version knows",
    ]


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


def test_no_rows_at_all() -> None:
    empty = StepTable.empty(("a",))
    assert len(quantise(empty)) == 0


def test_a_chunk_that_is_listed_late_is_put_in_its_place(tmp_path: Path) -> None:
    rows = noisy(300)
    write_run(tmp_path / "run", (attempt(), rows), chunk_rows=100)
    cache, late = BuildCache(1 << 30), f"tb_aiperf/steps/{attempt().id}/000001"

    class Partial(DirectorySource):
        def listing(self, run: str | None = None) -> dict:
            return {
                name: {tag: e for tag, e in tags.items() if tag != late} for name, tags in super().listing(run).items()
            }

    seen = []
    for kind in (Partial, DirectorySource):
        reader = RunReader(kind(str(tmp_path)), cache)
        index = reader.index("run")
        assert index is not None
        seen.append(reader.load_steps(index, "train"))
    assert [len(loaded.damage) for loaded in seen] == [1, 0]
    assert_same_rows(seen[0].table, quantise(rows).select(np.r_[0:100, 200:300]))
    assert_same_rows(seen[1].table, quantise(rows))


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
