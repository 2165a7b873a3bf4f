"""Step tables and runs for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from tb_aiperf.records import STAGE_KEYS, Attempt, StepTable
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import LoadedSteps, RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter

START_NS = 1_790_000_000_000_000_000


def attempt(number: int = 1, **fields: Any) -> Attempt:
    """The number-th attempt, started `number` hours after a fixed moment."""
    given = {"loop": "train", "started_unix_ns": START_NS + number * 3_600_000_000_000, **fields}
    return Attempt(id=f"2026113{number}T000000.000000Z", **given)


def table(
    stages: Mapping[str, Sequence[int]],
    *,
    step: Sequence[int] | None = None,
    segment: Sequence[int] | None = None,
    start: int = 0,
    tick_ns: int = 1000,
) -> StepTable:
    """Contiguous rows from stage -> durations in ticks."""
    durations = np.array([list(column) for column in stages.values()], np.int64)
    rows = durations.shape[1]
    number = np.arange(rows) if step is None else np.array(step, np.int64)
    wall = durations.sum(axis=0)
    return StepTable(
        stages=tuple(stages),
        durations=durations,
        start=start + np.cumsum(wall) - wall,
        step=number,
        global_step=number + 1,
        batch=number % 7,
        epoch=number // 7,
        segment=np.zeros(rows, np.uint8) if segment is None else np.array(segment, np.uint8),
        tick_ns=tick_ns,
    )


def noisy(rows: int, *, first_step: int = 0, seed: int = 0, all_stages: bool = False) -> StepTable:
    """Rows in nanoseconds with lognormal noise of 10 %: all 13 stages of 0.05 to 40 ms, or 8 and five seldom ones."""
    generator = np.random.default_rng(seed)
    medians_us = np.geomspace(50, 40_000, 13)
    durations = (1000 * medians_us[:, None] * np.exp(generator.normal(0, 0.1, (13, rows)))).astype(np.int64)
    if not all_stages:
        for stage, period in ((7, 50), (8, 1000), (9, 500), (10, 2000), (11, rows + 1)):
            durations[stage, np.arange(rows) % period != period - 1] = 0
    built = table(dict(zip(STAGE_KEYS, durations, strict=True)), tick_ns=1)
    step = np.arange(first_step, first_step + rows)
    return StepTable(
        stages=built.stages,
        durations=built.durations,
        start=built.start,
        step=step,
        global_step=step + 1,
        batch=step % 1000,
        epoch=step // 1000,
        segment=built.segment,
    )


def write_run(folder: Path, *attempts: tuple[Attempt, StepTable], chunk_rows: int = 512) -> None:
    """One event file in `folder` with the given attempts, one after the other."""
    sink = FolderSink(str(folder))
    for of_attempt, rows in attempts:
        writer = StepSeriesWriter(sink, of_attempt, chunk_rows=chunk_rows)
        writer.append(rows)
        writer.close()
    sink.close()


def read_run(logdir: Path, run: str = "run", attempt_id: str | None = None, loop: str = "train") -> LoadedSteps:
    """The steps of a run below `logdir`, read anew."""
    reader = RunReader(DirectorySource(str(logdir)))
    index = reader.index(run)
    assert index is not None
    return reader.load_steps(index, loop, attempt_id)


def event_file(folder: Path) -> Path:
    """The only event file of a run."""
    (path,) = folder.glob("*tfevents*")
    return path


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Replace bytes of an event file by as many others, with checksums that hold: as a program would write them."""
    assert len(old) == len(new)
    content = bytearray(path.read_bytes().replace(old, new))
    at = 0
    while at < len(content):
        start, stop = at + 12, at + 12 + int.from_bytes(content[at : at + 8], "little")
        content[stop : stop + 4] = masked_crc32c(bytes(content[start:stop])).to_bytes(4, "little")
        at = stop + 4
    path.write_bytes(bytes(content))


def assert_same_rows(read: StepTable, expected: StepTable) -> None:
    """Equal rows in every column, in expected's stage order."""
    order = [read.stages.index(stage) for stage in expected.stages]
    np.testing.assert_array_equal(read.durations[order], expected.durations)
    for name in StepTable.row_columns():
        np.testing.assert_array_equal(getattr(read, name), getattr(expected, name), err_msg=name)
