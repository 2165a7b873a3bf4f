from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tb_aiperf.storage.codec import VERSION, Chunk, Columns, DamagedChunkError, decode_object, encode, encode_object

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 70_000)


@st.composite
def integer_columns(draw: st.DrawFn) -> dict[str, np.ndarray]:
    rows = draw(st.integers(0, 40))
    names = draw(st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True))
    return {name: draw(hnp.arrays(np.int64, rows, elements=draw(st.sampled_from([INT64, SMALL])))) for name in names}


def test_the_largest_integers_are_not_taken_for_small_ones() -> None:
    for value in (2**63 - 1, 2**63 - 256, 2**32, 2**32 - 1):
        compact = Columns([Chunk(encode({"x": np.array([value])}, {}))]).compact(["x"])
        assert compact.tolist() == [[value]]


@given(integer_columns(), st.data())
def test_integers_come_back_exactly(columns: dict[str, np.ndarray], data: st.DataObject) -> None:
    differences = data.draw(st.sets(st.sampled_from(sorted(columns))))
    chunk = Chunk(encode(columns, {"who": "me"}, differences))
    assert chunk.meta == {"who": "me"}
    assert list(chunk.places) == list(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(Columns([chunk]).integers([name])[0], column)
    # All at once, and in 32 bits where that holds them.
    expected = np.stack(list(columns.values()))
    compact = Columns([chunk]).compact(list(columns))
    np.testing.assert_array_equal(compact, expected)
    if expected.size and (expected.min() < 0 or expected.max() >= 2**32):
        assert compact.dtype == np.int64


@given(st.lists(integer_columns(), min_size=1, max_size=4), st.booleans())
def test_chunks_join_and_an_absent_column_is_zero(parts: list[dict[str, np.ndarray]], differences: bool) -> None:
    chunks = [Chunk(encode(part, {}, list(part) if differences else ())) for part in parts]
    columns = Columns(chunks)
    for name in columns.names:
        zeros = [np.zeros(len(next(iter(part.values()))), np.int64) for part in parts]
        expected = np.concatenate([part.get(name, zero) for part, zero in zip(parts, zeros, strict=True)])
        np.testing.assert_array_equal(columns.integers([name])[0], expected)


@given(hnp.arrays(np.float32, st.integers(0, 30), elements=st.floats(width=32)))
def test_floats_come_back_bit_for_bit(column: np.ndarray) -> None:
    read = Columns([Chunk(encode({"x": column}, {}))]).floats("x")
    np.testing.assert_array_equal(read.view(np.uint32), column.view(np.uint32))


def test_a_chunk_without_a_float_column_reads_as_nan() -> None:
    one = Chunk(encode({"t": np.arange(2), "x": np.array([1.5, 2.5])}, {}))
    other = Chunk(encode({"t": np.arange(3)}, {}))
    np.testing.assert_array_equal(Columns([one, other]).floats("x"), [1.5, 2.5, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(("largest", "dtype"), [(2**32 - 1, np.uint32), (2**32, np.int64), (2**62, np.int64)])
def test_wide_values_widen_and_others_do_not(largest: int, dtype: type) -> None:
    column = np.array([3, largest, 70_000], np.int64)
    columns = Columns([Chunk(encode({"x": column}, {}))])
    assert columns.compact(["x"]).dtype == dtype
    for read in (columns.compact(["x"]), columns.integers(["x"])):
        np.testing.assert_array_equal(read[0], column)


def test_constant_and_even_columns_take_no_room() -> None:
    rows = np.arange(100_000)
    columns = {"zero": rows * 0, "constant": rows * 0 + 12_345, "even": rows + 7}
    assert len(encode(columns, {}, ["even"])) <= 160


def test_every_flipped_bit_is_noticed() -> None:
    column = np.random.default_rng(1).integers(0, 3000, 64)
    payload = encode({"x": column}, {"attempt": "a"})
    for position in range(len(payload) * 8):
        damaged = bytearray(payload)
        damaged[position // 8] ^= 1 << position % 8
        try:
            chunk = Chunk(bytes(damaged))
        except DamagedChunkError:
            continue
        # Bits that deflate leaves unused may differ: the values may not.
        assert chunk.meta == {"attempt": "a"}
        np.testing.assert_array_equal(Columns([chunk]).integers(["x"])[0], column)


def test_every_truncation_is_noticed() -> None:
    payload = encode({"x": np.arange(50) ** 2}, {})
    for size in range(len(payload)):
        with pytest.raises(DamagedChunkError):
            Chunk(payload[:size])


def test_another_format_is_named() -> None:
    payload = bytearray(encode({"x": np.arange(3)}, {}))
    payload[4] = VERSION + 1
    with pytest.raises(DamagedChunkError, match=f"stored in format {VERSION + 1}; this version reads format {VERSION}"):
        Chunk(bytes(payload))


def test_an_error_names_tag_and_run() -> None:
    error = DamagedChunkError("cut short").located("digits/1", "tb_aiperf/steps/a/000003")
    assert str(error) == "tb_aiperf/steps/a/000003 of run 'digits/1': cut short"


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        encode({"x": np.arange(3), "y": np.arange(4)}, {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(json_values)
@settings(max_examples=50)
def test_objects_come_back(value: object) -> None:
    assert decode_object(encode_object(value)) == value


def test_a_chunk_of_absurd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 33554432 values"):
        encode({str(k): np.zeros(1 << 20, np.int64) for k in range(33)}, {})


def test_a_body_larger_than_it_says_is_not_unpacked() -> None:
    payload = encode({"x": np.arange(50) ** 2}, {})
    size = int.from_bytes(payload[5:9], "little")
    with pytest.raises(DamagedChunkError, match="longer than it says"):
        Chunk(payload[: 9 + size] + zlib.compress(bytes(1 << 20)))


def test_not_a_number_is_stored_as_null() -> None:
    assert decode_object(encode_object({"x": float("nan")})) == {"x": None}
