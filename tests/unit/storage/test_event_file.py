from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tb_aiperf.storage.codec import encode
from tb_aiperf.storage.event_file import _crc, _length_crc, _masked, payload, scan
from tb_aiperf.storage.sink import build_summary
from tests.unit.storage.series import event_file


@given(st.integers(0, 2**64 - 1) | st.integers(0, 2**20))
def test_the_length_check_is_tensorboards(size: int) -> None:
    assert _length_crc(size) == masked_crc32c(size.to_bytes(8, "little"))


@given(st.binary(min_size=4, max_size=1200))
def test_the_data_check_is_tensorboards(content: bytes) -> None:
    assert _masked(_crc(content)) == masked_crc32c(content)


def test_the_data_check_of_much_data() -> None:
    content = np.random.default_rng(1).bytes(300_001)
    assert _masked(_crc(content)) == masked_crc32c(content)


def test_damage_around_a_payload_is_noticed_and_damage_within_left_to_it(tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    stored = encode({"x": np.random.default_rng(1).integers(0, 999, 2000)}, {})
    writer.add_event(Event(wall_time=1.0, step=1, summary=build_summary("tb_aiperf/x/0", stored, b"index")))
    writer.close()
    content = event_file(tmp_path).read_bytes()
    (record,) = scan(content, [])
    payload_at = content.index(stored)
    for position in range(record.offset, record.offset + record.size + 4):
        damaged = bytearray(content)
        damaged[position] ^= 0x08
        problems: list[str] = []
        records = list(scan(bytes(damaged), problems))
        if payload_at <= position < payload_at + len(stored):
            # Or noticed by zlib in bits that it leaves unused: then nothing is wrong within.
            assert len(records) + len(problems) == 1
        else:
            assert (records, problems) == ([], [f"the event at byte {record.offset} is damaged and was skipped"])


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    """Ours at 0, 2, 4, ... among scalars of others."""
    writer = EventFileWriter(str(tmp_path))
    for number in range(10):
        if number % 2:
            summary = Summary(value=[Summary.Value(tag="loss", simple_value=number)])
        else:
            summary = build_summary(f"tb_aiperf/x/{number}", bytes([number]) * 50, b"index %d" % number)
        writer.add_event(Event(wall_time=100.0 + number, step=number, summary=summary))
    writer.close()
    return event_file(tmp_path).read_bytes()


def test_only_our_summaries_are_found(data: bytes) -> None:
    problems: list[str] = []
    records = list(scan(data, problems))
    assert [r.tag for r in records] == [f"tb_aiperf/x/{n}" for n in (0, 2, 4, 6, 8)]
    assert [(r.step, r.wall_time, r.content) for r in records] == [
        (n, 100.0 + n, b"index %d" % n) for n in (0, 2, 4, 6, 8)
    ]
    assert [payload(data, r) for r in records] == [bytes([n]) * 50 for n in (0, 2, 4, 6, 8)]
    assert problems == []


def test_a_file_cut_anywhere_yields_its_whole_records(data: bytes) -> None:
    whole = list(scan(data, []))
    for size in range(len(data)):
        problems: list[str] = []
        ends = [r.offset + r.size + 4 for r in whole]
        assert list(scan(data[:size], problems)) == [r for r, end in zip(whole, ends, strict=True) if end <= size]
        assert problems == []


def test_damaged_lengths_cost_one_record_each(data: bytes) -> None:
    whole = list(scan(data, []))
    damaged = bytearray(data)
    for record in (whole[1], whole[3]):
        damaged[record.offset - 12] ^= 0x40
    problems: list[str] = []
    assert list(scan(bytes(damaged), problems)) == [whole[0], whole[2], whole[4]]
    assert [problem.split()[:2] for problem in problems] == [["bytes", str(whole[k].offset - 12)] for k in (1, 3)]


def test_damage_to_the_end_is_named(data: bytes) -> None:
    last = list(scan(data, []))[-1]
    damaged = data[: last.offset - 12] + b"\xff" * 40
    problems: list[str] = []
    assert len(list(scan(damaged, problems))) == 4
    assert problems == [f"bytes {last.offset - 12} to {len(damaged)} are damaged and were skipped"]


def test_an_unreadable_event_is_named(data: bytes) -> None:
    second = list(scan(data, []))[1]
    damaged = bytearray(data)
    # The size of the summary inside the event now runs past its end.
    damaged[data.index(b"\x2a", second.offset) + 1] = 0x7F
    problems: list[str] = []
    assert len(list(scan(bytes(damaged), problems))) == 4
    assert problems == [f"the event at byte {second.offset} is damaged and was skipped"]
