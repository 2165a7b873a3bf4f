from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tb_aiperf.records import ResourceTable, StepTable
from tb_aiperf.storage.codec import Chunk, DamagedChunkError, encode
from tb_aiperf.storage.formats import RESOURCE_FORMAT, STEP_FORMAT, Place, quantise
from tests.unit.storage.series import assert_same_rows, noisy, table

PLACE = Place(attempt="a", loop="train", started_unix_ns=1, chunk=4, offset=9)


@st.composite
def step_tables(draw: st.DrawFn, tick_ns: int = 1000, longest: int = 2**40, contiguous: bool = False) -> StepTable:
    rows = draw(st.integers(0, 12))
    stages = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4, unique=True))
    small = st.integers(0, 5000)
    durations = draw(hnp.arrays(np.int64, (len(stages), rows), elements=small | st.integers(0, longest)))
    wall = durations.sum(axis=0)
    start = draw(st.integers(0, 2**40)) + np.cumsum(wall) - wall
    if not contiguous:
        start = start + draw(hnp.arrays(np.int64, rows, elements=st.integers(-1000, 1000)))
    counter = hnp.arrays(np.int64, rows, elements=st.integers(0, 2**40))
    return StepTable(
        stages=tuple(stages),
        durations=durations,
        start=start,
        step=draw(counter),
        global_step=draw(counter),
        batch=draw(counter),
        epoch=draw(counter),
        segment=draw(hnp.arrays(np.uint8, rows, elements=st.integers(0, 4))),
        tick_ns=tick_ns,
    )


@given(step_tables(tick_ns=1, contiguous=True))
def test_quantising_keeps_what_must_hold(captured: StepTable) -> None:
    stored = quantise(captured)
    assert stored.tick_ns == 1000
    ends = (captured.start + captured.wall) // 1000
    # A row's stages sum to its wall-clock, and rows that touched still touch.
    np.testing.assert_array_equal(stored.start, captured.start // 1000)
    np.testing.assert_array_equal(stored.start + stored.wall, ends)
    np.testing.assert_array_equal(stored.start[1:], ends[:-1])
    # No stage is off by a tick or more, and none that took no time gets any.
    assert (np.abs(stored.durations * 1000 - captured.durations) < 1000).all()
    assert (stored.durations[captured.durations == 0] == 0).all()
    assert (stored.durations >= 0).all()


def test_quantising_does_not_drift() -> None:
    captured = noisy(20_000, all_stages=True)
    stored = quantise(captured)
    assert abs(stored.wall.sum() * 1000 - captured.wall.sum()) < 1000
    # Flooring each duration would lose 0.5 ticks a row; the mean error of 20 000 rows is within 5 standard errors of 0.
    drift = (stored.durations - captured.durations / 1000).mean(axis=1)
    assert np.abs(drift).max() < 0.015


def test_quantising_by_hand() -> None:
    captured = table({"a": [1500, 700, 0], "b": [600, 0, 999]}, start=900, tick_ns=1)
    # Moments 900 | 2400 | 3000, 3000 | 3700 | 3700, 3700 | 3700 | 4699 ns.
    stored = quantise(captured)
    np.testing.assert_array_equal(stored.durations, [[2, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(stored.start, [0, 3, 3])


def test_other_ticks_are_refused() -> None:
    with pytest.raises(ValueError, match="tick of 10 ns"):
        quantise(table({"a": [1]}, tick_ns=10))


@given(step_tables())
def test_steps_come_back_exactly(rows: StepTable) -> None:
    place, chunk = STEP_FORMAT.open(STEP_FORMAT.encode(rows, PLACE))
    read = STEP_FORMAT.join([chunk])
    assert place == PLACE
    assert read.stages == rows.stages
    assert read.tick_ns == 1000
    assert_same_rows(read, rows)


@given(st.lists(step_tables(), min_size=1, max_size=3))
def test_joined_chunks_equal_concatenated_tables(parts: list[StepTable]) -> None:
    chunks = [STEP_FORMAT.open(STEP_FORMAT.encode(part, PLACE))[1] for part in parts]
    assert_same_rows(STEP_FORMAT.join(chunks), StepTable.concatenate(parts))


def test_durations_stay_32_bits_wide_unless_one_exceeds_them() -> None:
    for longest, dtype in ((2**32 - 1, np.uint32), (2**32, np.int64)):
        rows = table({"a": [5, longest], "b": [7, 0]})
        read = STEP_FORMAT.join([STEP_FORMAT.open(STEP_FORMAT.encode(rows, PLACE))[1]])
        assert read.durations.dtype == dtype
        assert_same_rows(read, rows)


def test_a_foreign_chunk_is_refused() -> None:
    meta = {"attempt": "a", "loop": "train", "started_unix_ns": 1, "chunk": 0}
    with pytest.raises(DamagedChunkError, match="not a chunk of steps"):
        STEP_FORMAT.open(encode({"time_us": np.arange(3)}, meta))
    with pytest.raises(DamagedChunkError, match="not a chunk of resource samples"):
        RESOURCE_FORMAT.open(encode({"gap": np.arange(3)}, meta))
    with pytest.raises(DamagedChunkError, match="unreadable header"):
        RESOURCE_FORMAT.open(encode({"time_us": np.arange(3)}, {}))


def test_a_segment_of_a_later_version_is_refused() -> None:
    rows = table({"a": [1, 2]})
    object.__setattr__(rows, "segment", np.array([0, 9], np.uint8))
    with pytest.raises(DamagedChunkError, match="unknown segment 9"):
        STEP_FORMAT.open(STEP_FORMAT.encode(rows, PLACE))


@given(hnp.arrays(np.float32, (2, 6), elements=st.floats(width=32, allow_infinity=False)))
def test_resource_samples_come_back(values: np.ndarray) -> None:
    samples = ResourceTable(
        time_us=np.array([0, 1_000_003, 2_000_001, 3_000_000, 4_000_000, 2**41]),
        values={"process_cpu_cores": values[0].astype(np.float64), "other": values[1].astype(np.float64)},
    )
    place, chunk = RESOURCE_FORMAT.open(RESOURCE_FORMAT.encode(samples, PLACE))
    read = RESOURCE_FORMAT.join([chunk])
    assert place == PLACE
    np.testing.assert_array_equal(read.time_us, samples.time_us)
    for key in samples.values:
        np.testing.assert_array_equal(read.values[key], samples.values[key])


def test_a_quantity_that_appears_later_is_nan_before() -> None:
    def samples(*keys: str) -> ResourceTable:
        return ResourceTable(time_us=np.arange(2), values={key: np.array([1.0, 2.0]) for key in keys})

    chunks = [Chunk(RESOURCE_FORMAT.encode(part, PLACE)) for part in (samples("x"), samples("x", "y"))]
    for joined in (RESOURCE_FORMAT.join(chunks), RESOURCE_FORMAT.concatenate([samples("x"), samples("x", "y")])):
        np.testing.assert_array_equal(joined.values["x"], [1, 2, 1, 2])
        np.testing.assert_array_equal(joined.values["y"], [np.nan, np.nan, 1, 2])


def test_gaps_between_rows_survive() -> None:
    rows = table({"a": [10, 20, 30]})
    rows = replace(rows, start=rows.start + np.array([5, 500, 400]))
    read = STEP_FORMAT.join([STEP_FORMAT.open(STEP_FORMAT.encode(rows, PLACE))[1]])
    np.testing.assert_array_equal(read.start, [5, 510, 430])
