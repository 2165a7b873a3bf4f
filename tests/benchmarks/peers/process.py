"""One run of a tool in a process of its own: how long, and how much memory it and its children held at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

#: How often the memory of children is looked at. That of the tool's own process is the system's exact maximum.
_LOOK_EVERY_S = 0.05
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Run:
    """What one run of a tool took.

    seconds       of the whole process: interpreter start, imports, work, exit
    work_seconds  of the work alone, on the tool's own clock
    peak_bytes    greatest resident memory of the process and its children together
    cpu_seconds   user and system time of the process and its children
    failed        part of the tool's work -> what it raised
    """

    seconds: float
    work_seconds: float
    peak_bytes: int
    cpu_seconds: float
    version: str
    failed: dict[str, str] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)


class FailedError(RuntimeError):
    """The tool gave no result; the text says how it ended."""


def run(python: Path, script: Path, trace: Path, *arguments: str) -> Run:
    """Run ``script TRACE REPORT [ARGUMENT...]``, which does the work and writes what it knows of it to REPORT.

    REPORT is JSON: `version`, `seconds` of the work, `failed`, and `found`. The process is isolated from this one's
    environment of Python. POSIX only, for the exact maximum of memory. Raises `FailedError`.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "report.json", Path(folder) / "log.txt"
        command = [str(python), "-I", str(script), str(trace), str(report), *arguments]
        with log.open("wb") as errors:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
            with _Watch(process.pid) as watch:
                _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if watch.overdue:
            raise FailedError(f"not done after {TIMEOUT_S:.0f} s")
        if process.returncode or not report.is_file():
            # A message may go on in lines that are indented.
            lines = [line for line in log.read_text(errors="replace").splitlines() if line[:1].strip()]
            raise FailedError(f"status {process.returncode}: {lines[-1] if lines else 'no message'}")
        answer = json.loads(report.read_text())
    return Run(
        seconds=seconds,
        work_seconds=answer["seconds"],
        peak_bytes=max(watch.peak, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)),
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        version=answer["version"],
        failed=answer["failed"],
        found=answer.get("found", {}),
    )


class _Watch:
    """Adds up the resident memory of a process and its children from time to time, and ends it when it is overdue."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self.overdue = False
        self._process = psutil.Process(pid)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        end = time.monotonic() + TIMEOUT_S
        while not self._done.wait(_LOOK_EVERY_S):
            family = [self._process]
            try:
                family += self._process.children(recursive=True)
                if time.monotonic() > end:
                    self.overdue = True
                    for member in family:
                        member.kill()
            except psutil.Error:
                return
            self.peak = max(self.peak, sum(map(_resident, family)))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def read_through(path: Path) -> None:
    """Read a file once, so that every tool finds it in the system's cache."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass
