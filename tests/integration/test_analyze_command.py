"""`aiperf analyze` on real traces: figures, folders, and one clear line for what is no trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile


def aiperf(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from tb_aiperf.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(3):
            torch.ones(8, 8).mm(torch.ones(8, 8))
            recorded.step()
    recorded.export_chrome_trace(str(folder / "run.pt.trace.json.gz"))
    return folder


def test_json_of_a_folder(traces: Path) -> None:
    done = aiperf("analyze", str(traces), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer) == {"traces", "collectives"}
    (trace,) = answer["traces"]
    assert trace["device"] == "cpu"
    assert next(row for row in trace["operators"] if row["name"] == "aten::mm")["calls"] == 3
    for step in trace["steps"]:
        assert sum(step["categories_us"].values()) == pytest.approx(step["duration_us"], abs=0.001)


def test_the_table_names_the_operators(traces: Path) -> None:
    done = aiperf("analyze", str(traces / "*.gz"))
    assert done.returncode == 0, done.stderr
    assert "aten::mm" in done.stdout
    assert "not measured" in done.stdout, "device times of a CPU trace are missing, not zero"


@pytest.mark.parametrize("content", [None, b"", b"no trace", b'{"traceEvents": '])
def test_one_line_for_what_is_no_trace(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_bytes(content)
    done = aiperf("analyze", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("aiperf: ")
    assert done.stderr.count("\n") == 1
    assert "broken.json" in done.stderr


def test_no_argument_is_wrong_usage() -> None:
    assert aiperf("analyze").returncode == 2
