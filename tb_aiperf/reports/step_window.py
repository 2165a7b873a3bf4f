"""Answer: the steps of a window, binned, with their distribution, the worst of them and the segments between."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_aiperf.analysis.binning import bin_percentiles, bin_rows, bin_starts
from tb_aiperf.analysis.outliers import excess_stage, slowest
from tb_aiperf.analysis.statistics import Distribution, distributions
from tb_aiperf.records import SEGMENT_KEYS, STEP_ROW
from tb_aiperf.reports.selection import TICKS_PER_S, BadRequestError, seconds, select, stacking_order
from tb_aiperf.storage.reader import LoadedSteps, RunReader

MAX_BINS = 2000
MAX_WORST = 100
MAX_SEGMENTS = 200


def steps(
    reader: RunReader,
    run: str,
    loop: str | None = None,
    attempt: str | None = None,
    *,
    first: int | None = None,
    last: int | None = None,
    bins: int = 400,
    worst: int = 20,
) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/steps`; first and last are its `from` and `to`.

    Raises NotFoundError, BadRequestError.
    """
    if not 1 <= bins <= MAX_BINS:
        raise BadRequestError(f"bins is {bins}; it must lie between 1 and {MAX_BINS}")
    if not 0 <= worst <= MAX_WORST:
        raise BadRequestError(f"worst is {worst}; it must lie between 0 and {MAX_WORST}")
    selection = select(reader, run, loop, attempt)
    loaded = selection.steps
    is_step = loaded.table.segment == STEP_ROW
    total = int(np.count_nonzero(is_step))
    every = loaded.table.step[is_step]
    window = window_of(loaded, first, last)
    inside, is_step = loaded.select(window), is_step[window]
    rows, segments = inside.select(is_step), inside.select(~is_step)
    order = stacking_order(rows.table.stages)
    wall, *stages = distributions([rows.wall, *(rows.table.durations[k] for k in order)])
    keys = [rows.table.stages[k] for k in order]
    medians = np.array([stage.percentile(50) or 0.0 for stage in stages])
    whole = {"first_step": int(every[0]) if total else None, "last_step": int(every[-1]) if total else None}
    return {
        "run": run,
        "loop": selection.loop,
        "attempt": attempt,
        **whole,
        "from": whole["first_step"] if first is None else first,
        "to": whole["last_step"] if last is None else last,
        "steps": wall.n,
        "steps_total": total,
        "stages": keys,
        "bins": _bins(rows, bins, [k for k, stage in zip(order, stages, strict=True) if stage.nonzero]),
        "distribution": {
            "step": _distribution(wall),
            "stages": [
                {
                    "key": key,
                    "share": stage.total / wall.total if wall.total else None,
                    "total_s": seconds(stage.total),
                    "nonzero": stage.nonzero,
                    **_distribution(stage),
                }
                for key, stage in zip(keys, stages, strict=True)
            ],
        },
        "worst": _worst(rows, worst, order, medians, wall.percentile(50)),
        "segments": _segments(segments, order),
        "segments_total": len(segments.table),
    }


def window_of(loaded: LoadedSteps, first: int | None, last: int | None) -> slice:
    """Rows with first <= step <= last; None is no bound. Raises BadRequestError where first exceeds last."""
    if first is not None and last is not None and first > last:
        raise BadRequestError(f"from is {first} and to is {last}; from must not exceed to")
    step = loaded.table.step
    begin = 0 if first is None else int(np.searchsorted(step, first, side="left"))
    end = len(step) if last is None else int(np.searchsorted(step, last, side="right"))
    return slice(begin, end)


def _bins(rows: LoadedSteps, bins: int, order: list[int]) -> dict[str, Any]:
    table, wall = rows.table, rows.wall
    starts = bin_starts(len(table), bins)
    times = bin_rows(wall[None, :], starts)
    ends = starts + times.count - 1
    parts = bin_rows(table.durations, starts)
    started = np.array([a.attempt.started_unix_ns // 1000 for a in rows.attempts], np.int64)
    unix = started[rows.origin[starts]] + table.start[starts]
    p5, median, p95 = bin_percentiles(wall, starts, (5, 50, 95))
    return {
        "count": times.count.tolist(),
        "step_first": table.step[starts].tolist(),
        "step_last": table.step[ends].tolist(),
        "unix_s": np.round(unix / TICKS_PER_S, 6).tolist(),
        "time_s": {
            "mean": _seconds(times.total[0] / times.count),
            "min": _seconds(times.low[0]),
            "p5": _seconds(p5),
            "median": _seconds(median),
            "p95": _seconds(p95),
            "max": _seconds(times.high[0]),
        },
        "stages_s": {
            table.stages[k]: {
                "mean": _seconds(parts.total[k] / parts.count),
                "min": _seconds(parts.low[k]),
                "max": _seconds(parts.high[k]),
            }
            for k in order
        },
    }


def _distribution(values: Distribution) -> dict[str, Any]:
    histogram = values.histogram()
    return {
        "n": values.n,
        "mean_s": seconds(values.mean),
        "min_s": seconds(values.min),
        **{f"p{percent}_s": seconds(values.percentile(percent)) for percent in (5, 25)},
        "median_s": seconds(values.percentile(50)),
        **{f"p{percent}_s": seconds(values.percentile(percent)) for percent in (75, 95, 99)},
        "max_s": seconds(values.max),
        "histogram": None
        if histogram is None
        else {
            "edges_s": _seconds(histogram.edges),
            "counts": histogram.counts.tolist(),
            "below": histogram.below,
            "above": histogram.above,
        },
    }


def _worst(
    rows: LoadedSteps, most: int, order: list[int], medians: npt.NDArray[np.float64], typical: float | None
) -> list[dict[str, Any]]:
    table = rows.table
    picked = slowest(rows.wall, most)
    unix = rows.select(picked).unix_us
    answer = []
    for row, moment in zip(picked.tolist(), unix.tolist(), strict=True):
        durations = table.durations[order, row].astype(np.int64)
        stage, excess = excess_stage(durations, medians) if len(order) else (None, None)
        answer.append(
            {
                "step": int(table.step[row]),
                "global_step": int(table.global_step[row]),
                "batch": int(table.batch[row]),
                "epoch": int(table.epoch[row]),
                "attempt": rows.attempts[rows.origin[row]].attempt.id,
                "unix_s": seconds(moment),
                "wall_s": seconds(int(rows.wall[row])),
                "times_median": round(int(rows.wall[row]) / typical, 3) if typical else None,
                "excess_stage": None if stage is None else table.stages[order[stage]],
                "excess_s": seconds(excess),
                "stages_s": _spent(table.stages, order, durations),
            }
        )
    return answer


def _segments(segments: LoadedSteps, order: list[int]) -> list[dict[str, Any]]:
    longest = segments.select(np.sort(slowest(segments.wall, MAX_SEGMENTS)))
    table = longest.table
    unix = longest.unix_us
    in_time = np.argsort(unix, kind="stable")
    return [
        {
            "key": SEGMENT_KEYS[table.segment[row]],
            "step": int(table.step[row]),
            "wall_s": seconds(int(longest.wall[row])),
            "unix_s": seconds(int(unix[row])),
            "stages_s": _spent(table.stages, order, table.durations[order, row]),
        }
        for row in in_time.tolist()
    ]


def _spent(stages: tuple[str, ...], order: list[int], durations: npt.NDArray[Any]) -> dict[str, float | None]:
    """Stage -> seconds, without the stages that took no time; durations are in the given order."""
    return {stages[k]: seconds(int(ticks)) for k, ticks in zip(order, durations, strict=True) if ticks}


def _seconds(ticks: npt.NDArray[Any]) -> list[float]:
    rounded: list[float] = np.round(ticks / TICKS_PER_S, 9).tolist()
    return rounded
