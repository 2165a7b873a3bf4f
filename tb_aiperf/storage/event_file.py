"""Event files: finding this plugin's summaries among all others, cheaply and through damage.

A file is a chain of records: u64 length, u32 masked CRC of the length, data, u32 masked CRC of the data. Lengths are
checked against their CRC, so that a damaged length is noticed and the next record found. The data's CRC is not: a
payload has zlib's checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import CRC_TABLE

from tb_aiperf.storage.tags import PLUGIN_NAME

_HEADER = struct.Struct("<QI")
_FOOTER_BYTES = 4
#: Time, step, framing and tag come first in an event, so the tag's prefix lies within this many bytes.
_TAG_WITHIN = 64
_MARK = f"{PLUGIN_NAME}/".encode()
_SEARCH_BYTES = 1 << 20

Buffer: TypeAlias = "bytes | mmap"


class Record(NamedTuple):
    """A summary's place in a file, and what a listing needs. offset, size: of the serialised event."""

    tag: str
    content: bytes
    step: int
    wall_time: float
    offset: int
    size: int


def scan(data: Buffer, problems: list[str]) -> Iterator[Record]:
    """This plugin's summaries in file order.

    A record that ends beyond the file is still being written: it is left out in silence. Damage is passed over and
    appended to `problems`, one sentence each.
    """
    at, end = 0, len(data)
    while at + _HEADER.size <= end:
        size, check = _HEADER.unpack_from(data, at)
        if check != _length_crc(size):
            found = _next_record(data, at + 1)
            upto = end if found is None else found
            problems.append(f"bytes {at} to {upto} are damaged and were skipped")
            if found is None:
                return
            at = found
            continue
        start = at + _HEADER.size
        at = start + size + _FOOTER_BYTES
        if at > end:
            return
        if data.find(_MARK, start, start + min(size, _TAG_WITHIN)) < 0:
            continue
        try:
            event = Event.FromString(data[start : start + size])
        except DecodeError:
            problems.append(f"the event at byte {start} is damaged and was skipped")
            continue
        for value in event.summary.value:
            plugin = value.metadata.plugin_data
            if plugin.plugin_name == PLUGIN_NAME:
                yield Record(value.tag, plugin.content, event.step, event.wall_time, start, size)


def payload(data: Buffer, record: Record) -> bytes:
    """The tensor bytes of a record of `scan`."""
    event = Event.FromString(data[record.offset : record.offset + record.size])
    for value in event.summary.value:
        if value.tag == record.tag:
            return bytes(value.tensor.tensor_content)
    raise KeyError(record.tag)


def _position_tables() -> tuple[np.ndarray, int]:
    """CRC-32C is affine: the CRC of 8 bytes is the exclusive or of one table entry per byte and a constant."""
    table = np.array(CRC_TABLE, np.uint64)

    def run(register: np.ndarray, zeros: int) -> np.ndarray:
        for _ in range(zeros):
            register = table[register & np.uint64(0xFF)] ^ (register >> np.uint64(8))
        return register

    tables = np.stack([run(table, 7 - position) for position in range(8)])
    constant = int(run(np.array([0xFFFFFFFF], np.uint64), 8)[0]) ^ 0xFFFFFFFF
    return tables, constant


_TABLES, _CONSTANT = _position_tables()
_LISTS: list[list[int]] = _TABLES.tolist()
_ZERO_HIGH = _LISTS[4][0] ^ _LISTS[5][0] ^ _LISTS[6][0] ^ _LISTS[7][0] ^ _CONSTANT


def _length_crc(size: int) -> int:
    if size >> 32:
        crc = _CONSTANT
        for position, byte in enumerate(size.to_bytes(8, "little")):
            crc ^= _LISTS[position][byte]
    else:
        a, b, c, d = _LISTS[:4]
        crc = a[size & 255] ^ b[size >> 8 & 255] ^ c[size >> 16 & 255] ^ d[size >> 24] ^ _ZERO_HIGH
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _next_record(data: Buffer, start: int) -> int | None:
    """The first offset from `start` on that holds a length with its right CRC."""
    for first in range(start, len(data) - _HEADER.size + 1, _SEARCH_BYTES):
        block = np.frombuffer(data[first : first + _SEARCH_BYTES + _HEADER.size - 1], np.uint8)
        offsets = len(block) - _HEADER.size + 1
        crc = np.full(offsets, _CONSTANT, np.uint64)
        for position in range(8):
            crc ^= _TABLES[position][block[position : position + offsets]]
        masked = (((crc >> np.uint64(15)) | (crc << np.uint64(17))) + np.uint64(0xA282EAD8)) & np.uint64(0xFFFFFFFF)
        stored = np.zeros(offsets, np.uint64)
        for position in range(4):
            stored |= block[8 + position : 8 + position + offsets].astype(np.uint64) << np.uint64(8 * position)
        hits = np.flatnonzero(masked == stored)
        if len(hits):
            return first + int(hits[0])
    return None
