"""Answer: all runs at a glance, as ``aiperf report --json`` prints them."""

from __future__ import annotations

from typing import Any

from tb_aiperf.reports.run_overview import overview
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.tags import STEPS


def overviews(reader: RunReader) -> list[dict[str, Any]]:
    """The overview of each run that holds steps, of its first loop."""
    return [overview(reader, index.run) for index in reader.indexes() if index.loops(STEPS)]


def summary(overview_of_run: dict[str, Any]) -> dict[str, Any]:
    """One run of ``aiperf report --json`` from its overview."""
    times = overview_of_run["step_time_s"]
    return {
        "run": overview_of_run["run"],
        "attempts": len(overview_of_run["attempts"]),
        "steps": overview_of_run["steps"],
        "world_size": overview_of_run["world_size"],
        "step_time_s": {name: times[name] for name in ("median", "mean", "p95", "p99", "max")},
        "stages": {
            stage["key"]: {name: stage[name] for name in ("share", "median_s", "p95_s")}
            for stage in overview_of_run["stages"]
        },
        "resources": overview_of_run["resources"],
        "environment": overview_of_run["environment"],
        "findings": [],
        "profiles": [],
        "errors": None,
        "damaged_chunks": overview_of_run["damaged_chunks"],
    }


def report(reader: RunReader) -> dict[str, Any]:
    """All runs: ``{"runs": […]}``."""
    return {"runs": [summary(run) for run in overviews(reader)]}
