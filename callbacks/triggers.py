"""What asks for a window while a training runs: a file, a signal, a slow step."""

from __future__ import annotations

import os
import signal
import threading
from bisect import bisect_left, insort
from collections import deque
from typing import Any

from tb_aiperf.storage.requests import REQUEST_FILE, Request, read_request, write_request


class RequestFile:
    """The request file as one rank sees it. Rank 0 answers with the first step; the others wait for that answer."""

    def __init__(self, folder: str, answers: bool) -> None:
        self.path = os.path.join(folder, REQUEST_FILE)
        self._answers = answers
        self._identity: tuple[int, int] | None = None
        self._taken = ""
        # What lies there when the training starts was asked of an earlier one.
        if (left := read_request(self.path)) is not None:
            self._taken = left.id

    def poll(self) -> Request | None:
        """A request that has not been seen, if there is one; one call of `stat` as a rule."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        identity = (status.st_mtime_ns, status.st_ino)
        if identity == self._identity:
            return None
        self._identity = identity
        request = read_request(self.path)
        if request is None or request.id == self._taken:
            return None
        if not self._answers and request.first_step is None:
            return None
        self._taken = request.id
        return request

    def answer(self, request: Request) -> None:
        """Tell who asked, and the other ranks; a folder that cannot be written to any more is passed over."""
        if not self._answers:
            return
        try:
            write_request(self.path, request)
        except OSError:
            return


class SignalFlag:
    """Notices a signal. The handler that was there before is called too, and put back in the end."""

    def __init__(self, name: str) -> None:
        self._number = getattr(signal, name)
        self._raised = False
        self._before: Any = None
        self._installed = threading.current_thread() is threading.main_thread()
        if self._installed:
            self._before = signal.signal(self._number, self._handle)

    def _handle(self, number: int, frame: Any) -> None:
        self._raised = True
        if not self._installed:
            # Lightning puts back what it found, us, after an exception: behave as if it had found what was before.
            signal.signal(number, self._original())
            if self._before == signal.SIG_DFL:
                signal.raise_signal(number)
        if callable(self._before):
            self._before(number, frame)

    def take(self) -> bool:
        """Whether the signal came since the last call."""
        raised, self._raised = self._raised, False
        return raised

    def restore(self) -> None:
        """Put back the handler from before, unless somebody has replaced ours."""
        if self._installed and signal.getsignal(self._number) == self._handle:
            signal.signal(self._number, self._original())
        self._installed = False

    def _original(self) -> Any:
        return self._before if self._before is not None else signal.SIG_DFL


class SlowSteps:
    """Finds steps that take a multiple of the running median.

    factor    how many times the median
    per_hour  how many may be found in any hour
    """

    #: Steps of which the median is taken, and how many it takes before any can be called slow.
    _KEPT, _LEAST = 101, 20
    _HOUR_NS = 3_600_000_000_000

    def __init__(self, factor: float, per_hour: int) -> None:
        self._factor = factor
        self._per_hour = per_hour
        self._recent: deque[int] = deque()
        self._sorted: list[int] = []
        self._found: deque[int] = deque()

    def see(self, duration_ns: int, now_ns: int) -> bool:
        """Take one step; whether it is slow and the budget allows to act on it."""
        slow = len(self._sorted) >= self._LEAST and duration_ns > self._factor * self._sorted[len(self._sorted) // 2]
        self._recent.append(duration_ns)
        insort(self._sorted, duration_ns)
        if len(self._recent) > self._KEPT:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
        if not slow:
            return False
        while self._found and now_ns - self._found[0] > self._HOUR_NS:
            self._found.popleft()
        if len(self._found) >= self._per_hour:
            return False
        self._found.append(now_ns)
        return True
