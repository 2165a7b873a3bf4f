"""Answer: all runs at a glance, as ``aiperf report`` prints them."""

from __future__ import annotations

from typing import Any

from tb_aiperf.reports.profiles import read_profiles
from tb_aiperf.reports.run_overview import overview
from tb_aiperf.storage.index import RunIndex
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.tags import STEPS


def at_a_glance(reader: RunReader) -> list[dict[str, Any]]:
    """What each run holds that has steps or profiles.

    overview: of its first loop, None without steps. profiles: its windows that could be read, oldest first, each with
    attempt, window and profile (`TraceProfile`). damage: one sentence each for what could not, as far as the overview
    does not tell.
    """
    return [_glance(reader, index) for index in reader.indexes() if index.loops(STEPS) or index.windows]


def summary(run: dict[str, Any]) -> dict[str, Any]:
    """One run of ``aiperf report --json``, from `at_a_glance`."""
    steps = run["overview"] or {
        "attempts": {profile["attempt"] for profile in run["profiles"]},
        "steps": 0,
        "world_size": run["world_size"],
        "step_time_s": dict.fromkeys(("median", "mean", "p95", "p99", "max")),
        "stages": [],
        "resources": None,
        "environment": None,
        "damaged_chunks": 0,
    }
    return {
        "run": run["run"],
        "attempts": len(steps["attempts"]),
        "steps": steps["steps"],
        "world_size": steps["world_size"],
        "step_time_s": {name: steps["step_time_s"][name] for name in ("median", "mean", "p95", "p99", "max")},
        "stages": {
            stage["key"]: {name: stage[name] for name in ("share", "median_s", "p95_s")} for stage in steps["stages"]
        },
        "resources": steps["resources"],
        "environment": steps["environment"],
        "findings": [],
        "profiles": [profile["profile"] for profile in run["profiles"]],
        "errors": None,
        "damaged_chunks": steps["damaged_chunks"] + len(run["damage"]),
    }


def report(reader: RunReader) -> dict[str, Any]:
    """All runs: ``{"runs": […]}``."""
    return {"runs": [summary(run) for run in at_a_glance(reader)]}


def _glance(reader: RunReader, index: RunIndex) -> dict[str, Any]:
    newest, has_steps = index.attempts[-1], bool(index.loops(STEPS))
    profiles, damage = read_profiles(reader, index)
    if not has_steps:
        damage += [*index.problems, *reader.file_problems(index.run)]
    return {
        "run": index.run,
        "rank": newest.rank,
        "world_size": newest.world_size,
        "overview": overview(reader, index.run) if has_steps else None,
        "profiles": profiles,
        "damage": damage,
    }
