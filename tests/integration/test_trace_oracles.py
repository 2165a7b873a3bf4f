"""Step breakdowns against figures that were worked out or verified by hand, to the microsecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_aiperf.records import StepProfile
from tb_aiperf.trace import analyze
from tests.unit.trace.published import ORACLES, RESNET_V100, TRACES, needs_oracles, needs_traces

#: Our category -> the oracles' words for it.
CATEGORIES = {
    "kernel": ("Kernel", "kernel"),
    "memcpy": ("Memcpy", "memcpy"),
    "memset": ("Memset", "memset"),
    "communication": ("Communication",),
    "runtime": ("Runtime", "runtime"),
    "data_loading": ("DataLoader", "dataloader"),
    "cpu_op": ("CpuOp", "cpu_exec"),
    "other": ("Other", "other"),
}


def expected(row: dict[str, Any]) -> dict[str, float]:
    return {name: next((row[word] for word in words if word in row), 0) for name, words in CATEGORIES.items()}


def found(step: StepProfile) -> dict[str, float]:
    return {name: getattr(step.categories_us, name) for name in CATEGORIES}


def step_of(path: Path, number: int | None) -> StepProfile:
    """The step of that number; an unmarked trace has one, to which the oracles give 0 or null."""
    (profile,) = analyze([path]).traces
    if not profile.marked:
        (step,) = profile.steps
        assert not number
        return step
    return next(step for step in profile.steps if step.step == number)


@needs_oracles
@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in ORACLES.glob("steps/*/expected.json")), ids=lambda p: p.name
)
def test_old_category_names(folder: Path) -> None:
    rows = json.loads((folder / "expected.json").read_text())
    assert rows
    for row in rows:
        step = step_of(folder / f"trace_{row['trace']}.json", row["step"])
        assert found(step) == pytest.approx(expected(row), abs=0.001)
        assert step.duration_us == pytest.approx(row["Total"], abs=0.001)


@needs_oracles
@pytest.mark.parametrize("path", sorted(ORACLES.glob("modern/*.expected.json")), ids=lambda p: p.name.split(".")[0])
def test_category_names_of_today(path: Path) -> None:
    rows = json.loads(path.read_text())
    trace = path.with_name(path.name.replace(".expected", ""))
    (profile,) = analyze([trace]).traces
    assert len(profile.steps) == len(rows)
    for row in rows:
        step = step_of(trace, row["step"])
        assert profile.marked == row.get("marked", True)
        assert found(step) == pytest.approx(expected(row), abs=0.001)
        assert step.duration_us == pytest.approx(row["Total"], abs=0.001)


@needs_traces
@pytest.mark.parametrize(("path", "workers"), list(zip(RESNET_V100, (0, 4), strict=True)))
def test_resnet50(path: Path, workers: int) -> None:
    document = json.loads((TRACES / "resnet50_v100" / "expected.json").read_text())
    verified = document[f"resnet50_num_workers_{workers}/span1"]
    (profile,) = analyze([path]).traces
    assert [str(step.step) for step in profile.steps] == [row["step"] for row in verified["per_step_us"]]
    for step, row in zip(profile.steps, verified["per_step_us"], strict=True):
        assert found(step) == pytest.approx(expected(row), abs=0.001)
    mean = sum(step.duration_us for step in profile.steps) / len(profile.steps)
    assert mean == pytest.approx(verified["average_step_us"], abs=1)
