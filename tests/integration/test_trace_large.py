"""Real traces and oracles, read as if they were larger than memory: the same figures, every one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_aiperf.records import StepTimeline
from tb_aiperf.trace import reader, spill, windows
from tb_aiperf.trace.large import LargeTrace
from tb_aiperf.trace.profile import TraceReading
from tb_aiperf.trace.segments import WholeTrace
from tests.unit.trace.published import ALL, ORACLES, needs_oracles, needs_traces

SMALL = sorted(path for path in ORACLES.rglob("*.json") if "expected" not in path.name)


def segments_with_the_figures_of_the_whole(path: Path, memory_bytes: int) -> int:
    whole = TraceReading(WholeTrace(reader.read_trace(path)), timelines=True)
    with reader.open_trace(path, memory_bytes) as source:
        assert isinstance(source, LargeTrace)
        count = len(list(source.segments()))
        large = TraceReading(source, timelines=True)
        assert large.profile() == whole.profile()
        assert large.calls() == whole.calls()
        assert list(map(columns, large.timelines())) == list(map(columns, whole.timelines()))
    return count


def columns(timeline: StepTimeline) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in vars(timeline).items() if name != "lanes"}


@needs_traces
@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_real_traces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of 100 kB, which makes up to 200 segments; the smallest traces are one or two."""
    monkeypatch.setattr(windows, "WINDOW_BYTES", 1 << 17)
    monkeypatch.setattr(spill, "SAMPLE_ROWS", 16)
    rows = reader.read_trace(path).operators
    count = segments_with_the_figures_of_the_whole(path, min(100_000, 20 * len(rows)))
    assert count >= min(len(rows) // 2000, 100)


@needs_oracles
@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_oracles(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment for about every row."""
    monkeypatch.setattr(spill, "SAMPLE_ROWS", 1)
    assert segments_with_the_figures_of_the_whole(path, 0) >= 1
