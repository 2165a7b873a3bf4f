"""Columns of integers or floats <-> one self-describing, checksummed byte string.

Layout: ``TBAP``, one version byte, a u32 size, the header (`_Header`, JSON) as a zlib stream of that size, and the body
as another. The body holds the byte planes of the columns in header order: each column minus its minimum (or its
differences minus theirs), byte j of all rows together, lowest first, as many planes as the largest value needs. So a
column that is constant, or counts up evenly, takes no plane at all. Each plane is a deflate block of its own: planes
differ too much to share a Huffman table (10-15 % smaller). Matches longer than runs do not occur in timing noise, hence
Z_RLE (twice as fast, not larger) unless the writer says that rows repeat. zlib's checksums guard both streams:
TensorBoard's data server checks none.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from tb_aiperf.storage.tags import Int64

MAGIC = b"TBAP"
VERSION = 1
#: What headers have in common, as zlib's preset dictionary: it halves a header. Part of the format.
_DICTIONARY = (
    b'["time_us","value:process_cpu_cores","value:process_rss_bytes","value:system_cpu_share",'
    b'"value:system_memory_bytes","value:io_wait_share","value:disk_read_bytes_per_s","value:disk_write_bytes_per_s",'
    b'"value:network_receive_bytes_per_s","value:network_send_bytes_per_s","value:gpu_utilisation_share",'
    b'"value:gpu_memory_bytes","value:gpu_power_watts"],"kinds":["i","f","f","f","f","f","f","f","f","f","f","f","f"]'
    b'{"rows":512,"names":["stage:data_wait","stage:transfer","stage:forward","stage:backward","stage:optimizer",'
    b'"stage:lr_scheduler","stage:callbacks","stage:logging","stage:validation","stage:checkpoint",'
    b'"stage:loader_start","stage:profiler","stage:other","gap","segment","step","global_step","batch","epoch"],"kinds":'
    b'["i","i","i","i","i","i","i","i","i","i","i","i","i","i","i","i","i","i","i"],"firsts":[null,null,null,null,'
    b'null,null,null,null,null,null,null,null,null,null,null,0,0,0,0],"bases":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,0],'
    b'"planes":[2,1,2,2,2,1,1,0,0,0,0,0,1,0,0,0,0,0,0],"meta":{"attempt":"20260000T000000.000000Z","loop":"train",'
    b'"started_unix_ns":1790000000000000000,"chunk":0,"offset":0,"start":0}}'
)
_PREFIX = struct.Struct("<4sBI")
#: Bounds against absurd input, which packs into a few bytes: no writer makes larger chunks.
MAX_ROWS = 1 << 20
MAX_VALUES = 1 << 25
MAX_HEADER_BYTES = 1 << 24
#: Of values that are read as what they must be, so that crafted ones cannot take many times their size in memory.
MAX_STRUCT_BYTES = 1 << 26
MAX_DEPTH = 64
#: What reading stored bytes may raise, crafted ones included.
UNUSABLE = (ValueError, OverflowError, RecursionError, MemoryError)

Column = npt.NDArray[Any]
Struct = TypeVar("Struct", bound=msgspec.Struct)
Payload: TypeAlias = "bytes | memoryview"


class DamagedChunkError(ValueError):
    """A stored value that cannot be read. The message says where it lies (once known) and why."""

    def __init__(self, reason: str, *, tag: str | None = None, run: str | None = None) -> None:
        self.reason = reason
        where = "" if tag is None else f"{tag} of run {run!r}: "
        super().__init__(where + reason)

    def located(self, run: str, tag: str) -> DamagedChunkError:
        """The same error, naming run and tag."""
        return DamagedChunkError(self.reason, tag=tag, run=run)

    @staticmethod
    def of(error: Exception) -> DamagedChunkError:
        """One of `UNUSABLE` as what it means for the value."""
        if isinstance(error, DamagedChunkError):
            return error
        return DamagedChunkError(f"not usable ({type(error).__name__}: {error})")


class _Header(msgspec.Struct, frozen=True):
    """One entry per column in each list. kinds: ``i`` integers, ``f`` bit patterns of float32; firsts: the first value
    where differences are stored; bases: what was subtracted; planes: bytes a value.
    """

    rows: int
    names: list[str]
    kinds: list[str]
    firsts: list[Int64 | None]
    bases: list[Int64]
    planes: list[int]
    meta: dict[str, Any]


def encode(
    columns: Mapping[str, Column], meta: Mapping[str, Any], differences: Collection[str] = (), repeats: bool = False
) -> bytes:
    """Bytes that `Chunk` and `Columns` turn back into `meta` and `columns`.

    columns: name -> [n] integers (exact, any width up to int64) or floats (kept as float32, NaN included).
    meta: JSON-able. differences: names of integer columns that change evenly, stored as differences. repeats: sequences
    of rows come again, which is worth looking for. Raises ValueError for unequal lengths, more than `MAX_ROWS` rows or
    `MAX_VALUES` values, and a header of more than `MAX_HEADER_BYTES`.
    """
    rows = len(next(iter(columns.values()))) if columns else 0
    if not _is_possible(rows, len(columns)) or any(column.shape != (rows,) for column in columns.values()):
        raise ValueError(f"columns must share one length of at most {MAX_ROWS}, and hold at most {MAX_VALUES} values")
    values = np.zeros((len(columns), rows), np.int64)
    firsts: list[int | None] = []
    for index, (name, column) in enumerate(columns.items()):
        values[index] = column.astype("<f4").view("<u4") if column.dtype.kind == "f" else column
        firsts.append(None)
        if name in differences and rows:
            firsts[-1] = int(column[0])
            values[index, 1:] = np.diff(values[index])
            values[index, 0] = values[index, 1:].min() if rows > 1 else 0
    base = values.min(axis=1) if rows else np.zeros(len(columns), np.int64)
    # Wraps for ranges beyond int64 and wraps back in `Columns`.
    excess = (values - base[:, None]).view(np.uint64)
    planes = [(int(top).bit_length() + 7) // 8 for top in (excess.max(axis=1) if rows else base)]
    header = _Header(
        rows=rows,
        names=list(columns),
        kinds=["f" if column.dtype.kind == "f" else "i" for column in columns.values()],
        firsts=firsts,
        bases=base.tolist(),
        planes=planes,
        meta=dict(meta),
    )
    shuffled = excess.astype("<u8", copy=False).view(np.uint8).reshape(len(columns), rows, 8)
    blocks = [shuffled[index, :, plane].tobytes() for index, count in enumerate(planes) for plane in range(count)]
    text = msgspec.json.encode(header)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"the header takes {len(text)} bytes, more than {MAX_HEADER_BYTES}")
    return _join(text, blocks, zlib.Z_DEFAULT_STRATEGY if repeats else zlib.Z_RLE)


class Chunk:
    """One payload of `encode`, checked but with its columns still packed. Raises DamagedChunkError."""

    def __init__(self, payload: Payload) -> None:
        text, packed = _split(payload)
        try:
            header = msgspec.json.decode(text, type=_Header)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DamagedChunkError(f"unreadable header: {error}") from None
        rows, planes = header.rows, header.planes
        lists = (header.names, header.kinds, header.firsts, header.bases)
        if (
            not _is_possible(rows, len(planes))
            or any(not 0 <= p <= 8 for p in planes)
            or any(len(x) != len(planes) for x in lists)
        ):
            raise DamagedChunkError(f"impossible header: {rows} rows of {len(planes)} columns")
        size = rows * sum(planes)
        body = _inflate(zlib.decompressobj(), packed, size) if packed else b""
        if len(body) != size:
            raise DamagedChunkError(f"{len(body)} bytes do not hold {rows} rows of {sum(planes)} byte planes")
        self.header = header
        self.places = {name: place for place, name in enumerate(header.names)}
        self._blocks = np.frombuffer(body, np.uint8).reshape(sum(planes), rows)
        self._first_block = [0, *accumulate(planes)]

    def block(self, place: int, plane: int) -> npt.NDArray[np.uint8]:
        """[rows] one byte of each value of the column in the given place."""
        found: npt.NDArray[np.uint8] = self._blocks[self._first_block[place] + plane]
        return found

    def bounds(self, name: str) -> tuple[int, int]:
        """The smallest and the largest value that a column of integers may hold, unless stored as differences."""
        place = self.places[name]
        planes = range(self.header.planes[place])
        scale = [int(self.block(place, plane).max(initial=0)) << 8 * plane for plane in planes]
        return self.header.bases[place], self.header.bases[place] + sum(scale)

    @property
    def meta(self) -> dict[str, Any]:
        """What was given to `encode` beside the columns."""
        return self.header.meta

    def __len__(self) -> int:
        return self.header.rows


class Columns:
    """The columns of several chunks, one after the other; unpacked all at once, which is what makes reading fast."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._rows = np.array([len(chunk) for chunk in chunks], np.int64)
        self._bounds = [0, *np.cumsum(self._rows).tolist()]

    @property
    def names(self) -> list[str]:
        """Names of all columns, in order of appearance."""
        return list(dict.fromkeys(name for chunk in self._chunks for name in chunk.header.names))

    def integers(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """[names, rows] of integer columns; 0 where a chunk lacks one."""
        values = self._unpack(names, 8)
        for index, name in enumerate(names):
            first = self._firsts(name)
            if first is not None:
                values[index] = self.running(values[index], first)
        return values

    def compact(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """`integers` as uint32 where all of them fit."""
        planes = self._header_values(names, "planes")
        bases = self._header_values(names, "bases")
        # Bounded before they are added: near the largest int64 the sum would wrap.
        lowest, highest = int(bases.min(initial=0)), int(bases.max(initial=0))
        certain = int(planes.max(initial=0)) <= 4 and lowest >= 0 and highest < 1 << 32
        certain = certain and int((bases + (1 << 8 * planes)).max(initial=0)) <= 1 << 32
        if certain and all(self._firsts(name) is None for name in names):
            return self._unpack(names, 4)
        values = self.integers(names)
        fit = not values.size or (values.min() >= 0 and values.max() < 1 << 32)
        return values.astype(np.uint32) if fit else values

    def floats(self, name: str) -> npt.NDArray[np.float32]:
        """[rows] of a float column; NaN where a chunk lacks it."""
        values: npt.NDArray[np.float32] = self._unpack([name], 4)[0].view(np.float32)
        values[self.spread(np.array([name not in chunk.places for chunk in self._chunks], np.bool_))] = np.nan
        return values

    def spread(self, of_chunk: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """[rows]: one value per chunk, repeated for each of its rows."""
        return np.repeat(of_chunk, self._rows)

    def running(self, differences: npt.NDArray[np.int64], firsts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """[rows]: running sums that begin anew in each chunk with its first value; each first difference is ignored."""
        sums: npt.NDArray[np.int64] = np.cumsum(differences)
        filled = self._rows > 0
        begins = np.zeros(len(self._rows), np.int64)
        begins[filled] = sums[np.array(self._bounds[:-1], np.int64)[filled]]
        sums += self.spread(firsts - begins)
        return sums

    def _unpack(self, names: Sequence[str], width: int) -> npt.NDArray[Any]:
        """[names, rows] of columns as stored, differences as such: uint32 for a width of 4, int64 for 8."""
        values = np.zeros((len(names), self._bounds[-1]), "<u4" if width == 4 else "<i8")
        single = values.view(np.uint8).reshape(*values.shape, width)
        nothing = np.zeros(int(self._rows.max(initial=0)), np.uint8)
        for index, (name, counts) in enumerate(zip(names, self._header_values(names, "planes").tolist(), strict=True)):
            for plane in range(max(counts, default=0)):
                parts = [
                    chunk.block(chunk.places[name], plane) if plane < count else nothing[: len(chunk)]
                    for chunk, count in zip(self._chunks, counts, strict=True)
                ]
                np.concatenate(parts, out=single[index, :, plane])
        for row, bases in zip(values, self._header_values(names, "bases"), strict=True):
            if bases.any():
                row += self.spread(bases.astype(row.dtype))
        return values

    def _header_values(self, names: Sequence[str], field: str) -> npt.NDArray[np.int64]:
        """[names, chunks] of one list of the headers; 0 where a chunk lacks the column."""
        if self._chunks and all(chunk.header.names == self._chunks[0].header.names for chunk in self._chunks):
            table = np.array([getattr(chunk.header, field) for chunk in self._chunks], np.int64)
            places = self._chunks[0].places
            if all(name in places for name in names):
                alike: npt.NDArray[np.int64] = table.T[[places[name] for name in names]]
                return alike
        found = np.zeros((len(names), len(self._chunks)), np.int64)
        for column, chunk in enumerate(self._chunks):
            values, places = getattr(chunk.header, field), chunk.places
            for row, name in enumerate(names):
                if name in places:
                    found[row, column] = values[places[name]]
        return found

    def _firsts(self, name: str) -> npt.NDArray[np.int64] | None:
        """[chunks] first values of a column of differences; None for any other column."""
        firsts = [c.header.firsts[c.places[name]] for c in self._chunks if name in c.places]
        if all(first is None for first in firsts):
            return None
        lookup = iter(firsts)
        return np.array([next(lookup) or 0 if name in c.places else 0 for c in self._chunks], np.int64)


def encode_object(value: Any) -> bytes:
    """A JSON-able value (msgspec structs included), compressed and checksummed."""
    return _join(msgspec.json.encode(value), [])


def decode_object(payload: Payload) -> Any:
    """The value that `encode_object` stored, as plain dictionaries and lists. Raises DamagedChunkError."""
    try:
        text = _split(payload)[0]
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedChunkError(f"unreadable value: {error}") from None
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise DamagedChunkError(f"unreadable value: nested more than {MAX_DEPTH} deep")
    return value


def encode_struct(value: msgspec.Struct) -> bytes:
    """As `encode_object`, to be read by `decode_struct`. Raises ValueError if larger than that takes."""
    text = msgspec.json.encode(value)
    if len(text) > MAX_STRUCT_BYTES:
        raise ValueError(f"the value takes {len(text)} bytes, more than {MAX_STRUCT_BYTES}")
    return _join(text, [])


def decode_struct(payload: Payload, kind: type[Struct]) -> Struct:
    """The value that `encode_struct` stored, as a struct that holds some of its fields. Raises DamagedChunkError."""
    try:
        return msgspec.json.decode(_split(payload, MAX_STRUCT_BYTES)[0], type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedChunkError(f"unreadable value: {error}") from None


def is_intact(payload: Payload) -> bool:
    """Whether a payload's own checksums hold; they say nothing of what lies around it."""
    try:
        _, packed = _split(payload, MAX_STRUCT_BYTES)
        if packed:
            _inflate(zlib.decompressobj(), packed, MAX_VALUES * 8)
    except DamagedChunkError:
        return False
    return True


def _is_possible(rows: int, columns: int) -> bool:
    return 0 <= rows <= MAX_ROWS and rows * columns <= MAX_VALUES


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(item, depth - 1) for item in inner)


def _join(header: bytes, blocks: list[bytes], strategy: int = zlib.Z_RLE) -> bytes:
    deflate = zlib.compressobj(9, zdict=_DICTIONARY)
    packed = deflate.compress(header) + deflate.flush()
    parts = [_PREFIX.pack(MAGIC, VERSION, len(packed)), packed]
    if blocks:
        deflate = zlib.compressobj(6, zlib.DEFLATED, 15, 9, strategy)
        for block in blocks:
            parts += (deflate.compress(block), deflate.flush(zlib.Z_BLOCK))
        parts.append(deflate.flush())
    return b"".join(parts)


def _split(payload: Payload, most: int = MAX_HEADER_BYTES) -> tuple[bytes, memoryview]:
    """The header, checked by its checksum, and the body as it is stored."""
    view = memoryview(payload)
    if len(view) < _PREFIX.size or view[:4] != MAGIC:
        raise DamagedChunkError("not a value stored by tb_aiperf")
    _, version, size = _PREFIX.unpack_from(view)
    if version != VERSION:
        raise DamagedChunkError(f"stored in format {version}; this version reads format {VERSION}")
    header, body = view[_PREFIX.size : _PREFIX.size + size], view[_PREFIX.size + size :]
    return _inflate(zlib.decompressobj(zdict=_DICTIONARY), header, most), body


def _inflate(stream: Any, packed: memoryview, most: int) -> bytes:
    """At most so many bytes, and one more where there are too many."""
    try:
        # Without room beyond the last byte, zlib would not go on to the checksum.
        inflated: bytes = stream.decompress(packed, most + 1)
    except zlib.error as error:
        raise DamagedChunkError(f"checksum or compression error ({error})") from None
    if not stream.eof or stream.unused_data:
        raise DamagedChunkError("cut short, or longer than it says")
    return inflated
