"""`WindowKeeper`: what becomes of a window's file, beside the training."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tb_aiperf.capture.trace_window import WindowFile
from tb_aiperf.records import Attempt, ProfileWindow, TraceProfile
from tb_aiperf.storage.codec import decode_object
from tb_aiperf.storage.profile_writer import WindowSummaries
from tb_aiperf.storage.requests import Request

from .messages import warn

#: Longer than reading any trace takes; a reader that hangs must not keep a training from ending.
_MOST_SECONDS = 900.0


@dataclass(frozen=True)
class TraceInfo:
    """A recorded window, as a `trace_handler` gets it.

    path      the trace file, gzipped, to stay (see `keep`)
    window    number of the window in its attempt, from 0
    first_step, last_step  as the Steps panel counts, both profiled
    rank, loop, attempt    of whom
    profile   what the trace tells, None if it could not be read
    """

    path: str
    window: int
    first_step: int
    last_step: int
    rank: int
    loop: str
    attempt: str
    _payload: bytes | None = field(repr=False, default=None)

    @property
    def profile(self) -> TraceProfile | None:
        """Decoded when asked for."""
        if self._payload is None:
            return None
        return msgspec.convert(decode_object(self._payload), ProfileWindow).profile


class WindowKeeper:
    """Has each window's file read and compressed by a process of low priority, one at a time.

    write       takes the summaries of a window, in this object's thread
    on_info     takes each window that is done, and the request that it answers, in this object's thread
    on_analysis takes what the reader answered, before `on_info`
    keep        how many trace files stay; the oldest are deleted
    """

    def __init__(
        self,
        attempt: Attempt,
        *,
        write: Callable[[list[tuple[str, bytes, bytes, int]]], None],
        on_info: Callable[[TraceInfo, Request | None], None],
        on_analysis: Callable[[WindowSummaries, WindowFile], None],
        keep: int,
    ) -> None:
        self._attempt = attempt
        self._write = write
        self._on_info = on_info
        self._on_analysis = on_analysis
        self._keep = keep
        self._jobs: queue.SimpleQueue[tuple[WindowFile, Request | None] | None] = queue.SimpleQueue()
        self._kept: deque[str] = deque()
        self._windows = 0
        self._timelines = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="tb_aiperf-windows", daemon=True)
        self._thread.start()

    def submit(self, file: WindowFile, request: Request | None) -> None:
        """Take a window's file, and the request that it answers; returns at once."""
        self._jobs.put((file, request))

    def close(self, timeout: float) -> bool:
        """Wait for what is under way, at most `timeout` seconds; whether everything is done."""
        self._jobs.put(None)
        self._thread.join(timeout)
        if not self._thread.is_alive():
            return True
        self._stopped = True
        if (process := self._process) is not None:
            process.kill()
        self._thread.join(5.0)
        return False

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None and not self._stopped:
            file, request = job
            number, self._windows = self._windows, self._windows + 1
            try:
                self._take(file, request, number)
            except Exception as error:  # noqa: BLE001  a window lost is no reason to lose the next
                steps = f"steps {file.first_step} to {file.last_step}"
                warn(f"the profile of {steps} is not shown; its trace: {file.path}", error)

    def _take(self, file: WindowFile, request: Request | None, number: int) -> None:
        path, payload = file.path, None
        try:
            analysis = self._read(file, number)
        except AnalysisError as error:
            path = _whole_trace(path)
            steps = f"steps {file.first_step} to {file.last_step}"
            warn(f"the trace of {steps} could not be read ({error}); it lies at {path}")
        else:
            path, payload = analysis.path, analysis.profile
            self._timelines += analysis.timelines
            self._write(analysis.summaries)
            self._on_analysis(analysis, file)
        self._kept.append(path)
        while len(self._kept) > self._keep:
            _remove(self._kept.popleft())
        attempt = self._attempt
        info = TraceInfo(path, number, file.first_step, file.last_step, attempt.rank, attempt.loop, attempt.id, payload)
        self._on_info(info, request)

    def _read(self, file: WindowFile, number: int) -> WindowSummaries:
        """Have a process read the file. Raises AnalysisError."""
        command = [sys.executable, "-m", "tb_aiperf.window_reader", file.path, str(number), str(self._timelines)]
        if not sys.executable:
            raise AnalysisError("sys.executable does not say which Python to start")
        # The process finds what this one finds, and takes one core at most. Entries may be paths, which Python ignores.
        found = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found), "OMP_NUM_THREADS": "1"}
        options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # `-m` puts the working directory first, where modules of any name may lie; and a Ctrl-C is for the training.
        options |= {"cwd": os.path.dirname(file.path) or None, "start_new_session": True}
        try:
            self._process = process = subprocess.Popen(command, env=environment, **options)
        except OSError as error:
            raise AnalysisError(f"no process could be started: {error}") from None
        try:
            out, told = process.communicate(msgspec.json.encode(self._attempt), timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AnalysisError(f"reading it took more than {_MOST_SECONDS:.0f} s") from None
        finally:
            self._process = None
        if process.returncode:
            lines = told.decode("utf-8", "replace").strip().splitlines()
            raise AnalysisError(lines[-1] if lines else f"its reader ended with {process.returncode}")
        try:
            return msgspec.msgpack.decode(out, type=WindowSummaries)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise AnalysisError("its reader answered something else") from None


class AnalysisError(RuntimeError):
    """A window's file could not be read."""


def _whole_trace(path: str) -> str:
    """Where a trace lies whose reader failed: it may have been compressed already, or in part."""
    packed = f"{path}.gz"
    _remove(f"{packed}.part")
    return packed if os.path.exists(packed) and not os.path.exists(path) else path


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return
