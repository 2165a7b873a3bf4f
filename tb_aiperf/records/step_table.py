"""`StepTable`: every step and segment of a run as integer columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_aiperf.records.stages import SEGMENT_KEYS, STEP_ROW

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class StepTable:
    """Rows are steps and the segments between them, in time order within an attempt; n rows, k stages.

    stages       k stage keys
    durations    [k, n] integers in ticks: time of each stage; a row's wall-clock is their sum, exactly
    start        [n] integers in ticks since the attempt's start
    step         [n] the x axis: Lightning's count of batches that stepped (what its scalars use); under gradient
                 accumulation several rows share one value. A segment carries the next step's number
    global_step  [n] optimizer steps so far
    batch        [n] batch index in the epoch
    epoch        [n]
    segment      [n] index into `records.stages.SEGMENTS`; 0 is a step
    tick_ns      nanoseconds per tick: 1 as captured, 1000 as stored
    """

    stages: tuple[str, ...]
    durations: IntArray
    start: IntArray
    step: IntArray
    global_step: IntArray
    batch: IntArray
    epoch: IntArray
    segment: IntArray
    tick_ns: int = 1

    def __post_init__(self) -> None:
        rows = len(self.step)
        if self.durations.shape != (len(self.stages), rows):
            raise ValueError(
                f"durations has shape {self.durations.shape}; {len(self.stages)} stages and {rows} rows need "
                f"({len(self.stages)}, {rows})"
            )
        for name in self.row_columns():
            column = getattr(self, name)
            if column.shape != (rows,):
                raise ValueError(f"column {name!r} has shape {column.shape}, not ({rows},)")
        if rows and int(self.segment.max()) >= len(SEGMENT_KEYS):
            raise ValueError(f"segment {int(self.segment.max())} is not one of {SEGMENT_KEYS}")

    def __len__(self) -> int:
        return len(self.step)

    @staticmethod
    def row_columns() -> tuple[str, ...]:
        """Names of the columns that hold one integer per row."""
        return ("start", "step", "global_step", "batch", "epoch", "segment")

    @property
    def wall(self) -> npt.NDArray[np.int64]:
        """[n] wall-clock of each row in ticks: the sum of its stages."""
        total: npt.NDArray[np.int64] = self.durations.sum(axis=0, dtype=np.int64)
        return total

    @property
    def nbytes(self) -> int:
        """Bytes held by the columns."""
        return sum(getattr(self, f.name).nbytes for f in fields(self) if f.name not in ("stages", "tick_ns"))

    def select(self, rows: Any) -> StepTable:
        """The rows that a numpy index (mask, slice, integer array) picks, in its order."""
        picked = {name: getattr(self, name)[rows] for name in self.row_columns()}
        if isinstance(rows, slice):
            durations = self.durations[:, rows]
        else:
            # A mask or integers as the second index would give column order, ten times slower to work on.
            durations = self.durations.take(np.arange(len(self))[rows], axis=1)
        return replace(self, durations=durations, **picked)

    def steps_only(self) -> StepTable:
        """Without segments."""
        return self.select(self.segment == STEP_ROW)

    @staticmethod
    def empty(stages: Sequence[str], tick_ns: int = 1) -> StepTable:
        """A table of no rows."""
        column = np.zeros(0, np.int64)
        return StepTable(
            stages=tuple(stages),
            durations=np.zeros((len(stages), 0), np.int64),
            start=column,
            step=column,
            global_step=column,
            batch=column,
            epoch=column,
            segment=np.zeros(0, np.uint8),
            tick_ns=tick_ns,
        )

    @staticmethod
    def concatenate(tables: Sequence[StepTable]) -> StepTable:
        """The rows of all tables in the given order, over the union of their stages (absent stages are 0).

        Raises ValueError for no tables or different ticks.
        """
        if not tables:
            raise ValueError("no tables to concatenate")
        if len({table.tick_ns for table in tables}) > 1:
            raise ValueError("tables with different ticks cannot be concatenated")
        stages = list(dict.fromkeys(stage for table in tables for stage in table.stages))
        if all(table.stages == tuple(stages) for table in tables):
            durations = np.concatenate([table.durations for table in tables], axis=1)
        else:
            dtype = np.result_type(*(table.durations.dtype for table in tables))
            durations = np.zeros((len(stages), sum(map(len, tables))), dtype)
            at = 0
            for table in tables:
                rows = [stages.index(stage) for stage in table.stages]
                durations[rows, at : at + len(table)] = table.durations
                at += len(table)
        columns = {name: np.concatenate([getattr(t, name) for t in tables]) for name in StepTable.row_columns()}
        return StepTable(stages=tuple(stages), durations=durations, tick_ns=tables[0].tick_ns, **columns)
