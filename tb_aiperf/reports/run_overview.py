"""Answer: where a run's time goes, in total."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_aiperf.analysis.resources import sampling_interval_us, summarise
from tb_aiperf.analysis.statistics import Distribution, distributions
from tb_aiperf.records import QUANTITIES, SEGMENT_KEYS, STAGE_KEYS, STEP_ROW, Stage, StepTable, describe_stages
from tb_aiperf.reports.headline import Part, sentence, within_sentence
from tb_aiperf.reports.selection import Selection, seconds, select, stacking_order
from tb_aiperf.storage.codec import DamagedChunkError
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.tags import ENVIRONMENT


def overview(reader: RunReader, run: str, loop: str | None = None, attempt: str | None = None) -> dict[str, Any]:
    """See `docs/http_api.md`, `api/v1/overview`. Raises NotFoundError, BadRequestError."""
    selection = select(reader, run, loop, attempt)
    loaded = selection.steps
    is_step = loaded.table.segment == STEP_ROW
    steps = loaded.select(is_step)
    segments = loaded.table.select(~is_step)
    order = stacking_order(steps.table.stages)
    wall, *parts = distributions([steps.wall, *(steps.table.durations[k] for k in order)])
    stages = {steps.table.stages[k]: part for k, part in zip(order, parts, strict=True)}
    between = int(segments.wall.sum())
    environment, unreadable = _environment(reader, selection)
    chunks = [*loaded.damage, *unreadable]
    files = [*selection.index.problems, *reader.file_problems(run)]
    newest = selection.attempts[-1]
    return {
        "run": run,
        "loop": selection.loop,
        "attempt": attempt,
        "attempts": [
            {
                "attempt": a.attempt.id,
                "started_unix_s": a.attempt.started_unix_ns / 1e9,
                "steps": a.steps,
                "first_step": a.first_step,
                "last_step": a.last_step,
            }
            for a in loaded.attempts
        ],
        "rank": newest.rank,
        "world_size": newest.world_size,
        "steps": wall.n,
        **step_range(steps.table),
        "superseded_steps": loaded.superseded,
        # A damaged place in a file mostly shows as a missing chunk too: it is not counted twice.
        "damaged_chunks": max(loaded.damaged_chunks + len(unreadable), len(files)),
        "damage": chunks + files,
        "notes": list(dict.fromkeys(note for a in loaded.attempts for note in a.attempt.notes)),
        "headline": headline(wall, stages),
        "step_time_s": {
            "n": wall.n,
            "mean": seconds(wall.mean),
            "median": seconds(wall.percentile(50)),
            "p5": seconds(wall.percentile(5)),
            "p95": seconds(wall.percentile(95)),
            "p99": seconds(wall.percentile(99)),
            "min": seconds(wall.min),
            "max": seconds(wall.max),
        },
        "steps_per_s": wall.n / (wall.total / 1e6) if wall.total else None,
        "stages": [stage_summary(key, stage, wall.total) for key, stage in stages.items()],
        "wall_s": {
            "steps": seconds(wall.total),
            "segments": seconds(between),
            "total": seconds(wall.total + between),
        },
        "segments": _segments(segments),
        "environment": environment,
        "resources": resources(reader, selection),
    }


def step_range(table: StepTable) -> dict[str, int | None]:
    """First and last step number of rows in step order."""
    rows = len(table)
    return {
        "first_step": int(table.step[0]) if rows else None,
        "last_step": int(table.step[-1]) if rows else None,
    }


def stage_summary(key: str, stage: Distribution, wall: int) -> dict[str, Any]:
    """One stage of the overview; `wall` is the summed wall-clock of the same steps, in ticks."""
    return {
        "key": key,
        "share": stage.total / wall if wall else None,
        "total_s": seconds(stage.total),
        "n": stage.n,
        "nonzero": stage.nonzero,
        "mean_s": seconds(stage.mean),
        "median_s": seconds(stage.percentile(50)),
        "p95_s": seconds(stage.percentile(95)),
        "p99_s": seconds(stage.percentile(99)),
        "max_s": seconds(stage.max),
    }


def headline(wall: Distribution, stages: dict[str, Distribution]) -> str:
    """One sentence: the stages that take most of the step time, each with its share."""
    if not wall.total:
        return "No step has been recorded yet" if not wall.n else "The steps took no measurable time"
    names = {stage.key: _within_sentence(stage) for stage in describe_stages(stages)}
    return sentence(_part("step time", wall), [_part(names[key], stage) for key, stage in stages.items()])


def _part(name: str, times: Distribution) -> Part:
    return Part(name, times.total, times.percentile(50) or 0.0, times.mean or 0.0)


def _within_sentence(stage: Stage) -> str:
    """A standard stage's title within a sentence; a name that the program gave as it is."""
    return within_sentence(stage.title) if stage.key in STAGE_KEYS else stage.title


def resources(reader: RunReader, selection: Selection) -> dict[str, Any] | None:
    """Summary of the resource samples of the selected attempts, or None where there are none."""
    tables = reader.load_resources(selection.index, [a.id for a in selection.attempts])
    if not tables:
        return None
    known = {quantity.key: quantity for quantity in QUANTITIES}
    answer: dict[str, Any] = {"n": sum(map(len, tables)), "interval_s": seconds(sampling_interval_us(tables))}
    for key, summary in summarise(tables).items():
        answer[key] = {
            "mean": summary.mean,
            "median": summary.median,
            "p95": summary.p95,
            "max": summary.max,
            "n": summary.n,
            "title": known[key].title if key in known else key,
            "unit": known[key].unit if key in known else "",
            "meaning": known[key].meaning if key in known else "",
        }
    return answer


def _environment(reader: RunReader, selection: Selection) -> tuple[Any, list[str]]:
    """The newest environment among the selected attempts, and what was unreadable."""
    unreadable = []
    for attempt in reversed(selection.attempts):
        try:
            value = reader.report(selection.index.run, ENVIRONMENT, attempt)
        except DamagedChunkError as error:
            unreadable.append(str(error))
            continue
        if value is not None:
            return value, unreadable
    return None, unreadable


def _segments(segments: StepTable) -> list[dict[str, Any]]:
    """Segments by kind, in the order of their definition."""
    summary = []
    for kind in np.unique(segments.segment):
        rows = segments.select(segments.segment == kind)
        totals = dict(zip(rows.stages, rows.durations.sum(axis=1, dtype=np.int64), strict=True))
        order = [rows.stages[k] for k in stacking_order(rows.stages)]
        summary.append(
            {
                "key": SEGMENT_KEYS[kind],
                "count": len(rows),
                "total_s": seconds(int(rows.wall.sum())),
                "stages_s": {key: seconds(int(totals[key])) for key in order if totals[key]},
            }
        )
    return summary
