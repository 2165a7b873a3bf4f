"""Which rows of several attempts count: the newest attempt wins each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tb_aiperf.records import STEP_ROW, StepTable


def surviving_rows(tables: Sequence[StepTable]) -> list[npt.NDArray[np.bool_]]:
    """For each attempt's table, oldest first, which rows count: [rows] booleans.

    A step row counts unless a newer attempt has a row of that step number; within an attempt every row counts (under
    gradient accumulation several share a number). A segment counts while the step row just before or just after it in
    its attempt does: its time then belongs to steps that are still shown. An attempt without any step row keeps its
    segments: nothing has replaced them.
    """
    masks = [np.ones(len(table), np.bool_) for table in tables]
    newer: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    for table, mask in zip(reversed(tables), reversed(masks), strict=True):
        is_step = table.segment == STEP_ROW
        steps = table.step[is_step].astype(np.int64)
        if not len(steps):
            continue
        if len(newer):
            mask[is_step] = ~np.isin(steps, newer)
            _keep_neighbours(mask, is_step)
        if table is not tables[0]:
            newer = np.union1d(newer, steps)
    return masks


def _keep_neighbours(mask: npt.NDArray[np.bool_], is_step: npt.NDArray[np.bool_]) -> None:
    """Set `mask` at the segments from the step rows beside them; there is at least one step row."""
    places = np.flatnonzero(is_step)
    segments = np.flatnonzero(~is_step)
    following = np.searchsorted(places, segments)
    kept = np.zeros(len(segments), np.bool_)
    has_next = following < len(places)
    kept[has_next] |= mask[places[following[has_next]]]
    has_previous = following > 0
    kept[has_previous] |= mask[places[following[has_previous] - 1]]
    mask[segments] = kept
