from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tb_aiperf.records import StepTable
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.codec import Chunk, DamagedChunkError, _join, _split, decode_object, encode_object
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.event_file import scan
from tb_aiperf.storage.formats import STEP_FORMAT, Place, describe_attempt, quantise
from tb_aiperf.storage.reader import LoadedSteps, RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.tags import Tag, chunk_tag, parse_tag
from tb_aiperf.storage.writer import StepSeriesWriter, write_report
from tests.unit.storage.series import (
    START_NS,
    assert_same_rows,
    attempt,
    event_file,
    noisy,
    read_run,
    rewrite,
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
    rows = tail_of_three_slots(tmp_path / "run")
    corrupt(event_file(tmp_path / "run"), "tail/1")
    loaded = read_run(tmp_path)
    assert len(loaded.damage) == 1
    assert "tail/1 of run 'run'" in loaded.damage[0]
    assert_same_rows(loaded.table, rows.select(slice(0, 10)))


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
    rewrite(event_file(tmp_path / "run"), b"/000001", b"/000007")
    loaded = read_run(tmp_path)
    assert f"tb_aiperf/steps/{attempt().id}/000007 of run 'run': holds chunk 1" in loaded.damage[-1]
    assert len(loaded.table) == 200


def test_missing_chunks_are_named_as_one_range(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(300)), chunk_rows=100)
    sink = FolderSink(str(tmp_path / "run"))
    place = Place(attempt=attempt().id, loop="train", started_unix_ns=attempt().started_unix_ns, chunk=10**9)
    rows = quantise(noisy(4, first_step=300))
    content = msgspec.json.encode(STEP_FORMAT.index(rows, attempt(), sealed=True))
    sink.add(chunk_tag("steps", attempt().id, 10**9), STEP_FORMAT.encode(rows, place), content, 300)
    sink.close()
    loaded = read_run(tmp_path)
    assert loaded.damage == (f"tb_aiperf/steps/{attempt().id}/000003 to 999999999 of run 'run': missing from the file",)
    assert loaded.damaged_chunks == 10**9 - 3
    assert_same_rows(loaded.table, StepTable.concatenate([quantise(noisy(300)), rows]))


def tail_of_three_slots(folder: Path) -> StepTable:
    """30 rows in the slots 0 to 2."""
    sink = FolderSink(str(folder))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=100)
    rows = noisy(30)
    for first in (0, 10, 20):
        writer.append(rows.select(slice(first, first + 10)))
        writer.flush()
    return quantise(rows)


def test_a_tail_slot_of_another_attempt_is_refused(tmp_path: Path) -> None:
    rows = tail_of_three_slots(tmp_path / "run")
    other = attempt().id.replace("2026113", "2026114")
    tag = f"tb_aiperf/steps/{attempt().id}/tail/2"
    rewrite(event_file(tmp_path / "run"), tag.encode(), tag.replace(attempt().id, other).encode())
    assert_same_rows(read_run(tmp_path, attempt_id=attempt().id).table, rows.select(slice(0, 20)))
    loaded = read_run(tmp_path)
    assert loaded.damage == (f"tb_aiperf/steps/{other}/tail/2 of run 'run': holds rows of attempt {attempt().id!r}",)
    assert_same_rows(loaded.table, rows.select(slice(0, 20)))


def test_a_tail_slot_under_another_ones_tag_is_refused(tmp_path: Path) -> None:
    rows = tail_of_three_slots(tmp_path / "run")
    rewrite(event_file(tmp_path / "run"), b"/tail/0", b"/tail/4")
    loaded = read_run(tmp_path)
    assert loaded.damage == (
        f"tb_aiperf/steps/{attempt().id}/tail/4 of run 'run': holds rows from 0 on, as another slot does",
    )
    assert (len(rows), len(loaded.table)) == (30, 0)


def test_a_hole_in_the_tail_is_named(tmp_path: Path) -> None:
    rows = tail_of_three_slots(tmp_path / "run")
    rewrite(event_file(tmp_path / "run"), b"/tail/1", b"/tall/1")
    loaded = read_run(tmp_path)
    assert loaded.damage == (
        f"tb_aiperf/steps/{attempt().id}/tail/2 of run 'run': rows 10 to 19 before it are missing from the file",
    )
    assert_same_rows(loaded.table, rows.select(slice(0, 10)))


def test_no_flipped_bit_changes_anything_in_silence(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(1), noisy(9)), (attempt(2), noisy(5, first_step=6)), chunk_rows=4)
    path, expected = event_file(tmp_path / "run"), read_run(tmp_path)
    content = path.read_bytes()
    first = next(iter(scan(content, []))).offset - 12
    for position in range(first * 8, len(content) * 8, 5):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(bytes(damaged))
        reader = RunReader(DirectorySource(str(tmp_path)))
        index = reader.index("run")
        assert index is not None
        loaded = reader.load_steps(index, "train")
        if not (loaded.damage or reader.file_problems("run")):
            # Bits that deflate leaves unused.
            assert_same_rows(loaded.table, expected.table)


def add_chunk(folder: Path, *, meta: object = None, header: Mapping[str, object] | None = None) -> None:
    """A run of two chunks, of which the second is crafted: its checksums hold. header: fields to put into it."""
    write_run(folder, (attempt(), noisy(4)))
    rows = quantise(noisy(4, first_step=4))
    place = Place(attempt=attempt().id, loop="train", started_unix_ns=attempt().started_unix_ns, chunk=1)
    fields = json.loads(_split(STEP_FORMAT.encode(rows, place))[0])
    fields["planes"] = [0] * len(fields["planes"])
    fields |= header or {}
    fields["meta"] |= meta or {}
    sink = FolderSink(str(folder))
    content = msgspec.json.encode(STEP_FORMAT.index(rows, attempt(), sealed=True))
    sink.add(chunk_tag("steps", attempt().id, 1), _join(json.dumps(fields).encode(), []), content, 4)
    sink.close()


WIDE = 2006
BASES = [0] * 19


@pytest.mark.parametrize(
    ("crafted", "reason"),
    [
        ({"meta": {"start": "x"}}, "unreadable header: Expected `int`, got `str`"),
        ({"meta": {"start": 10**30}}, "unreadable header: "),
        ({"meta": {"chunk": -1}}, "unreadable header: "),
        ({"header": {"firsts": [10**25] * 19}}, "unreadable header: "),
        ({"header": {"bases": [*BASES[:14], -3, 0, 0, 0, 0]}}, "unknown segment -3"),
        ({"header": {"bases": [*BASES[:14], 9, 0, 0, 0, 0]}}, "unknown segment 9"),
        ({"header": {"firsts": [*[None] * 14, 0, 0, 0, 0, 0]}}, "unknown segment"),
        (
            {
                "header": {
                    "rows": 1 << 20,
                    "names": [f"stage:{k}" for k in range(WIDE)],
                    "kinds": ["i"] * WIDE,
                    "firsts": [None] * WIDE,
                    "bases": [0] * WIDE,
                    "planes": [0] * WIDE,
                }
            },
            "impossible header: 1048576 rows of 2006 columns",
        ),
    ],
)
def test_a_crafted_chunk_is_named_and_costs_itself_only(tmp_path: Path, crafted: dict, reason: str) -> None:
    add_chunk(tmp_path / "run", **crafted)
    loaded = read_run(tmp_path)
    assert len(loaded.damage) == 1
    assert f"/000001 of run 'run': {reason}" in loaded.damage[0]
    assert_same_rows(loaded.table, quantise(noisy(4)))


@pytest.mark.parametrize("error", [ValueError("odd"), OverflowError("odd"), RecursionError("odd"), MemoryError("odd")])
def test_a_chunk_that_cannot_be_joined_costs_itself_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(300)), chunk_rows=100)
    join = STEP_FORMAT.join

    def fail(chunks: Sequence[Chunk]) -> StepTable:
        if any(chunk.meta["chunk"] == 1 for chunk in chunks):
            raise error
        return join(chunks)

    monkeypatch.setattr(STEP_FORMAT, "join", fail)
    loaded = read_run(tmp_path)
    assert loaded.damage == (
        f"tb_aiperf/steps/{attempt().id}/000001 of run 'run': not usable ({type(error).__name__}: odd)",
    )
    assert_same_rows(loaded.table, quantise(noisy(300)).select(np.r_[0:100, 200:300]))


def test_values_nested_too_deep_are_damaged(tmp_path: Path) -> None:
    for depth in (65, 100_000):
        with pytest.raises(DamagedChunkError, match="unreadable value"):
            decode_object(_join(b"[" * depth + b"]" * depth, []))
    assert decode_object(_join(b"[" * 64 + b"]" * 64, [])) is not None
    sink = FolderSink(str(tmp_path / "run"))
    deep = b'{"v":1,"loop":"train","started":0,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    sink.add("tb_aiperf/steps/a/000000", b"", deep, 0)
    sink.add("tb_aiperf/steps/a/000001", b"", b'{"v":1,"loop":"train","started":%d}' % 10**30, 0)
    sink.add("tb_aiperf/steps/a/000002", b"", b'{"v":1,"loop":"train","started":0,"first":%d}' % 2**64, 0)
    sink.add("tb_aiperf/steps/b/000000", b"", b'{"v":1,"loop":"train","started":0}', 0)
    sink.add("tb_aiperf/steps/b/000001", b"", b'{"v":1,"loop":"test","started":0}', 0)
    sink.close()
    index = RunReader(DirectorySource(str(tmp_path))).index("run")
    assert index is not None
    assert index.problems == [
        *(f"tb_aiperf/steps/a/00000{chunk}: unreadable index" for chunk in range(3)),
        "tb_aiperf/steps/b/000001: of loop 'test', but its attempt is of 'train'",
    ]


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("tb_aiperf/steps/a/000012", Tag("steps", "a", chunk=12)),
        ("tb_aiperf/steps/a/1234567", Tag("steps", "a", chunk=1_234_567)),
        ("tb_aiperf/steps/a/tail/3", Tag("steps", "a", slot=3)),
        ("tb_aiperf/attempt/a", Tag("attempt", "a")),
        ("tb_aiperf/steps/a/12", None),
        ("tb_aiperf/steps/a/0000012", None),
        ("tb_aiperf/steps/a/00001２", None),
        ("tb_aiperf/steps/a/" + "9" * 5000, None),
        ("tb_aiperf/steps/a/tail/" + "9" * 5000, None),
        ("tb_aiperf/steps/a/tail/03", None),
        ("tb_aiperf/steps//000000", None),
        ("tb_aiperf/attempt/", None),
        ("tb_aiperf", None),
        ("other/steps/a/000000", None),
    ],
)
def test_names_of_summaries(name: str, tag: Tag | None) -> None:
    assert parse_tag(name) == tag


def test_an_attempt_record_of_another_attempt_is_passed_over(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    sink.add(
        f"tb_aiperf/attempt/{attempt().id}",
        encode_object({"id": attempt().id, "loop": "train", "started_unix_ns": 10**30, "notes": ["x"]}),
        msgspec.json.encode(describe_attempt(attempt())),
        0,
    )
    sink.close()
    reader = RunReader(DirectorySource(str(tmp_path)))
    index = reader.index("run")
    assert index is not None
    assert reader.attempt_record("run", index.attempts[0]) == attempt()


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
