"""`StepProfiler` beside other profilers, signals, exceptions and broken surroundings: the training never suffers."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, Trainer

from tb_aiperf.callbacks import window_keeper
from tb_aiperf.storage.requests import REQUEST_FILE, read_request
from tests.integration import trainings as t
from tests.integration.test_step_profiler import Windows, fit, marks_of


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Does(Callback):
    """Calls a function before a batch's end."""

    def __init__(self, batch: int, what: Callable[[Trainer], Any]) -> None:
        self.batch, self.what = batch, what

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch:
            self.what(trainer)


def _profile_something(_: Any) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        torch.zeros(3).add(1)


def test_another_profiler_during_the_warm_up_does_not_end_the_process() -> None:
    windows = Windows("11:14")
    trainer = fit(windows, Does(10, _profile_something))
    assert trainer.global_step == 100
    (info,) = windows.infos
    assert sorted(marks_of(info.path)) == [11, 12, 13]


def test_another_profiler_before_a_window_that_never_begins() -> None:
    windows = Windows("11:14", warmup=5)
    trainer = fit(windows, Does(8, _profile_something), max_steps=10)
    assert (trainer.global_step, windows.infos) == (10, [])
    assert torch.autograd.profiler._prepare_profiler is torch.autograd._prepare_profiler  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="this machine has no SIGUSR2")
def test_a_signal_after_an_exception_goes_to_the_handler_of_before() -> None:
    class Fails(t.Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            raise RuntimeError("planted")

    got: list[int] = []

    def handler(number: int, frame: Any) -> None:
        got.append(number)

    before = signal.signal(signal.SIGUSR2, handler)
    try:
        with pytest.raises(RuntimeError, match="planted"):
            fit(Windows(signal="SIGUSR2"), model=Fails())
        os.kill(os.getpid(), signal.SIGUSR2)
        assert got == [signal.SIGUSR2]
        assert signal.getsignal(signal.SIGUSR2) is handler
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_modules_in_the_working_directory_and_paths_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemError('not this one')")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each] + [Path("elsewhere")])
    windows = Windows("5:8")
    fit(windows)
    assert [info.profile is not None for info in windows.infos] == [True]


@pytest.mark.parametrize("executable", [None, "", "/nonexistent/python", "/bin/true"])
def test_without_a_reader_the_trace_is_kept(executable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    windows = Windows("5:8")
    fit(windows)
    (info,) = windows.infos
    assert (info.profile, os.path.exists(info.path)) == (None, True)


def test_a_trace_that_cannot_be_read_is_found_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader fails after compressing it: `info.path` is the compressed file, and `keep` applies to it."""
    read = window_keeper.WindowKeeper._read

    def read_garbage(self: Any, file: Any, number: int) -> Any:
        Path(file.path).write_bytes(b"no trace")
        return read(self, file, number)

    monkeypatch.setattr(window_keeper.WindowKeeper, "_read", read_garbage)
    windows = Windows("5:8, 10:13", keep=1)
    trainer = fit(windows)
    kept = sorted(Path(str(trainer.log_dir)).absolute().glob("*.pt.trace.json*"))
    assert [str(path) for path in kept] == [windows.infos[-1].path]


@pytest.mark.parametrize(
    "content", [b'{"id":"a","steps":3,"x":' + b"[" * 60_000 + b"}", b'{"id":"a","steps":3,"first_step":-5}']
)
def test_a_malformed_request_switches_nothing_off(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "request").write_bytes(content)
    assert read_request(str(tmp_path / "request")) is None

    def ask(trainer: Trainer) -> None:
        (Path(str(trainer.log_dir)) / REQUEST_FILE).write_bytes(content)
        time.sleep(1.1)

    windows = Windows("60:62", on_demand=True)
    fit(windows, Does(5, ask))
    assert windows.ranges_recorded == [(60, 61)]


@pytest.mark.parametrize("name", ["SIGKILL", "SIG_DFL", "default_int_handler"])
def test_what_is_no_signal_to_handle_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"no signal '{name}'"):
        Windows(signal=name)
