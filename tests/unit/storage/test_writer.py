from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.records import STAGE_KEYS, ResourceTable, StepTable
from tb_aiperf.storage.codec import decode_object
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.formats import STEP_FORMAT, quantise
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import ResourceSeriesWriter, StepSeriesWriter, write_report
from tests.unit.storage.series import assert_same_rows, attempt, event_file, noisy, read_run, table, write_run


class MemorySink:
    """Keeps what is added."""

    def __init__(self) -> None:
        self.added: list[tuple[str, bytes, dict[str, object], int]] = []
        self.flushes = 0

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        self.added.append((tag.removeprefix(f"tb_aiperf/steps/{attempt().id}/"), payload, json.loads(content), step))

    def flush(self) -> None:
        self.flushes += 1

    @property
    def tags(self) -> list[str]:
        return [tag for tag, *_ in self.added]


def part(rows: StepTable, first: int, last: int) -> StepTable:
    return rows.select(slice(first, last))


def test_full_chunks_are_sealed_under_their_own_tags() -> None:
    sink = MemorySink()
    writer = StepSeriesWriter(sink, attempt(world_size=4, rank=2), chunk_rows=10)
    rows = table({"data_wait": range(27), "mine": range(27)}, step=[0, *range(26)], segment=[1] + [0] * 26)
    writer.append(part(rows, 0, 4))
    assert sink.added == []
    writer.append(part(rows, 4, 27))
    writer.close()
    assert sink.tags == ["000000", "000001", "000002"]
    # The event's step is the first row's; the index counts steps, not segments.
    assert [step for *_, step in sink.added] == [0, 9, 19]
    assert [index for *_, index, _ in sink.added] == [
        {
            "v": 1,
            "loop": "train",
            "started": attempt().started_unix_ns,
            "rank": 2,
            "world": 4,
            "named": ["mine"],
            "rows": count,
            "steps": steps,
            "first": first,
            "last": last,
        }
        for count, steps, first, last in ((10, 9, 0, 8), (10, 10, 9, 18), (7, 7, 19, 25))
    ]
    assert sink.flushes == 1


def test_each_flush_writes_only_new_rows_into_the_next_slot() -> None:
    sink = MemorySink()
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=100)
    rows = table({"a": range(200)})
    for first, last in ((0, 3), (3, 10), (10, 10), (10, 49)):
        writer.append(part(rows, first, last))
        writer.flush()
    assert sink.tags == ["tail/0", "tail/1", "tail/2"]
    places = [STEP_FORMAT.open(payload)[0] for _, payload, *_ in sink.added]
    assert [(place.chunk, place.offset) for place in places] == [(0, 0), (0, 3), (0, 10)]
    # Half full: sealed whole, and slots begin anew.
    writer.append(part(rows, 49, 60))
    writer.flush()
    writer.append(part(rows, 60, 61))
    writer.flush()
    assert sink.tags[3:] == ["000000", "tail/0"]
    place, chunk = STEP_FORMAT.open(sink.added[-1][1])
    assert (place.chunk, place.offset, len(chunk)) == (1, 0, 1)
    assert sink.flushes == 6


def test_a_chunk_is_sealed_after_the_last_slot() -> None:
    sink = MemorySink()
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=1000, max_tail_slots=2)
    rows = table({"a": range(8)})
    for first in range(8):
        writer.append(part(rows, first, first + 1))
        writer.flush()
    assert sink.tags == ["tail/0", "tail/1", "000000", "tail/0", "tail/1", "000001", "tail/0", "tail/1"]


@pytest.mark.parametrize("arguments", [{"chunk_rows": 0}, {"chunk_rows": 2**21}, {"max_tail_slots": 0}])
def test_impossible_sizes_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="chunk_rows must lie in"):
        StepSeriesWriter(MemorySink(), attempt(), **arguments)


@given(st.lists(st.tuples(st.integers(0, 25), st.sampled_from(["append", "flush", "close"])), max_size=25))
def test_any_sequence_of_calls_stores_every_row_once(calls: list[tuple[int, str]]) -> None:
    sink = MemorySink()
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=20, max_tail_slots=3)
    rows = noisy(sum(count for count, _ in calls))
    at = 0
    for count, call in calls:
        writer.append(part(rows, at, at + count))
        at += count
        if call != "append":
            getattr(writer, call)()
    writer.close()
    sealed = [STEP_FORMAT.open(payload)[1] for tag, payload, *_ in sink.added if "tail" not in tag]
    if at:
        assert_same_rows(STEP_FORMAT.join(sealed), quantise(rows))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_kill_at_any_byte_loses_nothing_that_was_flushed(tmp_path_factory, data: st.DataObject) -> None:
    logdir = tmp_path_factory.mktemp("killed")
    sink = FolderSink(str(logdir / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=24, max_tail_slots=3)
    rows, at = noisy(150), 0
    stored = quantise(rows)
    path = event_file(logdir / "run")
    flushed = [(path.stat().st_size, 0)]
    while at < 150:
        last = min(150, at + data.draw(st.integers(1, 30)))
        writer.append(part(rows, at, last))
        at = last
        if data.draw(st.booleans()):
            writer.flush()
            flushed.append((path.stat().st_size, at))
    sink.close()
    content = path.read_bytes()
    for _ in range(5):
        size = data.draw(st.integers(flushed[0][0], len(content)))
        path.write_bytes(content[:size])
        reader = RunReader(DirectorySource(str(logdir)))
        index = reader.index("run")
        survived = max(count for at_size, count in flushed if at_size <= size)
        if index is None:
            assert survived == 0
            continue
        loaded = reader.load_steps(index, "train")
        # At least what was flushed, whole, in order and without a hole.
        assert len(loaded.table) >= survived
        assert_same_rows(loaded.table, part(stored, 0, len(loaded.table)))
        assert loaded.damage == ()


@pytest.mark.parametrize(("all_stages", "most"), [(False, 12.0), (True, 17.5)])
def test_bytes_per_step(tmp_path: Path, all_stages: bool, most: float) -> None:
    rows = noisy(20_480, all_stages=all_stages)
    assert len(rows.stages) == len(STAGE_KEYS) == 13
    write_run(tmp_path / "run", (attempt(), rows))
    assert event_file(tmp_path / "run").stat().st_size / len(rows) <= most


@pytest.mark.parametrize(("rows_per_flush", "most"), [(400, 13.0), (250, 18.0), (100, 23.0)])
def test_bytes_per_step_with_flushes(tmp_path: Path, rows_per_flush: int, most: float) -> None:
    sink = FolderSink(str(tmp_path))
    writer = StepSeriesWriter(sink, attempt())
    rows = noisy(10_000)
    for first in range(0, len(rows), rows_per_flush):
        writer.append(part(rows, first, first + rows_per_flush))
        writer.flush()
    writer.close()
    sink.close()
    assert event_file(tmp_path).stat().st_size / len(rows) <= most


def test_resources_and_reports_come_back(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    one, two = attempt(1, notes=("manual optimisation",)), attempt(2)
    for of_attempt, offset in ((one, 0.0), (two, 10.0)):
        writer = ResourceSeriesWriter(sink, of_attempt, chunk_rows=4)
        for second in range(7):
            values = {"process_cpu_cores": np.array([offset + second])}
            writer.append(ResourceTable(time_us=np.array([second * 1_000_000]), values=values))
            writer.flush()
        write_report(sink, "environment", of_attempt, {"attempt": of_attempt.id})
    write_report(sink, "attempt", one, one)
    write_report(sink, "environment", one, {"replaced": True})
    sink.flush()
    reader = RunReader(DirectorySource(str(tmp_path)))
    index = reader.index("run")
    assert index is not None
    tables = reader.load_resources(index, [one.id, two.id])
    assert [t.values["process_cpu_cores"].tolist() for t in tables] == [
        [0, 1, 2, 3, 4, 5, 6],
        [10, 11, 12, 13, 14, 15, 16],
    ]
    assert [t.time_us.tolist() for t in tables] == [[k * 1_000_000 for k in range(7)]] * 2
    first, second = index.attempts
    assert reader.report("run", "environment", first) == {"replaced": True}
    assert reader.report("run", "environment", second) == {"attempt": two.id}
    assert reader.report("run", "profile", second) is None
    assert reader.attempt_record("run", first) == one
    # Without a record of its own an attempt is known from the index, but for its notes.
    assert reader.attempt_record("run", second) == two


def test_a_report_is_compressed_json() -> None:
    sink = MemorySink()
    write_report(sink, "environment", attempt(), {"x": [1] * 1000})
    ((tag, payload, _, step),) = sink.added
    assert (tag, step) == (f"tb_aiperf/environment/{attempt().id}", 0)
    assert len(payload) < 100
    assert decode_object(payload) == {"x": [1] * 1000}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    rows = noisy(1300)
    write_run(tmp_path / "run", (attempt(), rows))
    loaded = read_run(tmp_path)
    assert_same_rows(loaded.table, quantise(rows))
    np.testing.assert_array_equal(loaded.wall, quantise(rows).wall)
    np.testing.assert_array_equal(loaded.unix_us, attempt().started_unix_ns // 1000 + loaded.table.start)
