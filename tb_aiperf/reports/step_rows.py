"""Answer: every row as CSV, produced piece by piece."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from tb_aiperf.records import SEGMENT_KEYS
from tb_aiperf.reports.selection import select, stacking_order
from tb_aiperf.reports.step_window import window_of
from tb_aiperf.storage.reader import LoadedSteps, RunReader

#: Rows per piece: some hundred kilobytes of text.
PIECE_ROWS = 4096


def steps_csv(
    reader: RunReader,
    run: str,
    loop: str | None = None,
    attempt: str | None = None,
    *,
    first: int | None = None,
    last: int | None = None,
) -> Iterator[str]:
    """See `docs/http_api.md`, `api/v1/steps.csv`.

    Raises NotFoundError and BadRequestError at once, not at the first piece.
    """
    loaded = select(reader, run, loop, attempt).steps
    return _pieces(loaded.select(window_of(loaded, first, last)))


def _pieces(loaded: LoadedSteps) -> Iterator[str]:
    table = loaded.table
    order = stacking_order(table.stages)
    names = ("attempt", "segment", "step", "global_step", "batch", "epoch", "unix_s", "wall_s")
    yield _line([*names, *(f"{table.stages[k]}_s" for k in order)])
    attempts = [_line([a.attempt.id]).rstrip("\n") for a in loaded.attempts]
    # Times as whole seconds and microseconds: a float of a Unix time would be a quarter of a microsecond off.
    line = "%s,%s,%d,%d,%d,%d" + ",%d.%06d" * (2 + len(order)) + "\n"
    for begin in range(0, len(table), PIECE_ROWS):
        piece = loaded.select(slice(begin, begin + PIECE_ROWS))
        rows = piece.table
        times = np.concatenate([[piece.unix_us, piece.wall], rows.durations[order].astype(np.int64)])
        parts = np.stack(np.divmod(times, 1_000_000), axis=1).reshape(2 * len(times), -1)
        counters = np.stack([rows.step, rows.global_step, rows.batch, rows.epoch])
        numbers = np.concatenate([counters, parts]).T.tolist()
        labels = zip(piece.origin.tolist(), rows.segment.tolist(), numbers, strict=True)
        yield "".join(line % (attempts[o], SEGMENT_KEYS[s], *values) for o, s, values in labels)


def _line(fields: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue()
