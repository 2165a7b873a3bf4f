"""`aiperf profile`: what a person sees who asks a training for a profile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from tb_aiperf.cli import app
from tb_aiperf.storage.requests import REQUEST_FILE, Request, read_request, write_request


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder that looks like a run's."""
    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"")
    return tmp_path


def answer(path: Path, *states: Request) -> threading.Thread:
    """Answer the next request as a training would, one state after the other."""

    def work() -> None:
        deadline = time.monotonic() + 20
        while (request := read_request(str(path))) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert request is not None
        for state in states:
            known = {name: getattr(state, name) for name in ("state", "first_step", "message", "window", "path")}
            write_request(str(path), msgspec.structs.replace(request, **known))
            time.sleep(0.5)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_request_that_is_done(run: Path) -> None:
    thread = answer(
        run / REQUEST_FILE,
        Request(id="", steps=1, state="accepted", first_step=40),
        Request(id="", steps=1, state="done", first_step=40, window=2, path="/runs/a.pt.trace.json.gz"),
    )
    result = CliRunner().invoke(app, ["profile", str(run), "--steps", "5"])
    thread.join()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Profiling steps 40 to 44",
        f"Done: profile 2 of {run}; its trace is /runs/a.pt.trace.json.gz",
    ]


def test_a_request_that_is_refused(run: Path) -> None:
    thread = answer(run / REQUEST_FILE, Request(id="", steps=1, state="refused", message="the training ended"))
    result = CliRunner().invoke(app, ["profile", str(run)])
    thread.join()
    assert result.exit_code == 1
    assert result.stderr == f"aiperf: {run}: the training did not profile them: the training ended\n"


def test_nobody_answers(run: Path) -> None:
    result = CliRunner().invoke(app, ["profile", str(run), "--timeout", "1"])
    assert result.exit_code == 1
    assert "no training answered within 1 s" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (run / REQUEST_FILE).exists()


@pytest.mark.parametrize("name", ["", "missing"])
def test_what_is_no_run(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["profile", str(tmp_path / name)])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert "give the run's own" in result.stderr


def test_wrong_usage(run: Path) -> None:
    assert CliRunner().invoke(app, ["profile", str(run), "--steps", "0"]).exit_code == 2
