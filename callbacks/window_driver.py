"""`WindowDriver`: opens and closes profiling windows at the cuts between steps."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable

import msgspec
import psutil

from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.capture.step_plan import Action, StepPlan, StepRange
from tb_aiperf.capture.trace_window import ProfilerBusyError, TraceWindow, WindowFile
from tb_aiperf.records import SEGMENT_KEYS, STEP_ROW
from tb_aiperf.storage.requests import Request

from .messages import say, warn
from .triggers import RequestFile, SignalFlag, SlowSteps

_SHUTDOWN = SEGMENT_KEYS.index("shutdown")
_POLL_EVERY_NS = 1_000_000_000
#: Other ranks see an agreed start within a poll; that much must pass before it, with room to spare.
_AGREEMENT_NS = 3 * _POLL_EVERY_NS


class WindowDriver:
    """Follows the cuts of a tap (see `CutObserver`) and records what the plan or a trigger asks for.

    clock        whose stages appear in the trace; what the profiler itself costs is charged to its stage `profiler`
    folder       where trace files go
    make_window  a session of the profiler that has not begun
    on_file      takes each trace file with the request it answers, if any
    on_missed    takes a sentence for each range that could not be recorded as asked
    on_failure   takes the first exception; the driver is then inert
    agreed       whether other ranks profile too, so that a requested start must be told to them in time
    active       steps of a window that a signal or a slow step asks for
    most_bytes   a window ends early when the process has grown by this since it began: torch.profiler keeps all events
                 in memory, and how many a step has is not known in the first window
    """

    def __init__(
        self,
        plan: StepPlan,
        clock: StageClock,
        folder: str,
        make_window: Callable[[], TraceWindow],
        *,
        on_file: Callable[[WindowFile, Request | None], None],
        on_missed: Callable[[str], None],
        on_failure: Callable[[BaseException], None],
        active: int,
        warmup: int,
        most_bytes: int,
        agreed: bool = False,
        requests: RequestFile | None = None,
        flag: SignalFlag | None = None,
        slow: SlowSteps | None = None,
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._folder = folder
        self._make_window = make_window
        self._on_file = on_file
        self._on_missed = on_missed
        self._on_failure = on_failure
        self._active = active
        self._warmup = warmup
        self._most_bytes = most_bytes
        self._process = psutil.Process()
        self._resident_before = 0
        self._agreed = agreed
        self._requests = requests
        self._flag = flag
        self._slow = slow
        self._profiler_stage = clock.stage("profiler")
        self._window: TraceWindow | None = None
        self._pending: list[Action] = []
        self._request: Request | None = None
        self._step: int | None = None
        self._quiet_until = -1
        self._polled_ns = 0
        self._began_ns = 0
        self._held_ns = 0
        self._typical_ns = 0
        self._inert = False
        #: Most steps of a window, once it is known how many events a step has.
        self.most_steps: int | None = None

    # ---- cuts ----

    def before_cut(self, step: int, segment: int) -> None:
        """See `CutObserver`."""
        if self._inert or segment != STEP_ROW or step == self._step:
            return
        try:
            self._before_step(step)
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def after_cut(self, step: int, segment: int) -> None:
        """See `CutObserver`."""
        if self._inert:
            return
        try:
            if segment == STEP_ROW:
                if step != self._step:
                    self._after_step(step)
            else:
                self._between_steps(step, segment)
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def close(self) -> None:
        """The loop has ended, in whatever way: finish what is open."""
        if self._inert:
            return
        try:
            self._close_window()
        except Exception as error:  # noqa: BLE001
            self._fail(error)
        self._inert = True
        asked = self._request
        for missed in self._plan.unreached():
            self._on_missed(f"steps {missed} were not reached")
        if asked is not None:
            self._refuse(asked, f"the training ended before step {asked.first_step}")

    def _before_step(self, step: int) -> None:
        now = time.perf_counter_ns()
        self._look_at_triggers(step, now)
        self._began_ns, self._held_ns = now, 0
        if step < self._quiet_until:
            return
        actions, missed = self._plan.due(step)
        how = "the training began at" if self._step is None else f"the training went from step {self._step} to"
        for each in missed:
            self._on_missed(f"steps {each} were not profiled: {how} step {step}")
        if Action.END in actions:
            self._pending = actions  # so that the time it takes is not part of the last profiled step
        elif actions:
            with self._profiler_stage:
                self._act(actions, step)
        self._quiet_until = self._plan.quiet_until(step)

    def _after_step(self, step: int) -> None:
        self._step = step
        pending, self._pending = self._pending, []
        if pending:
            with self._profiler_stage:
                self._act(pending, step)
        if self._window is not None and self._window.recording:
            with self._profiler_stage:
                if self._has_grown():
                    self._end_early(step)
                else:
                    self._window.mark(step)

    def _between_steps(self, step: int, segment: int) -> None:
        window = self._window
        if window is None or not window.recording:
            return
        window.unmark()
        planned = self._plan.open
        if segment == _SHUTDOWN or (planned is not None and step >= planned.end):
            self._close_window()

    # ---- windows ----

    def _act(self, actions: list[Action], step: int) -> None:
        started = time.perf_counter_ns()
        try:
            for action in actions:
                if action is Action.END:
                    self._end_window()
                elif action is Action.PREPARE:
                    self._window = self._make_window()
                    self._window.prepare()
                elif self._window is not None:
                    self._window.begin()
                    self._resident_before = int(self._process.memory_info().rss)
                    self._check_beginning(step)
        except ProfilerBusyError as error:
            asked = self._plan.open
            self._window = None
            self._plan.abandon()
            self._on_missed(f"steps {asked or step} were not profiled: {error}")
            if self._request is not None:
                self._refuse(self._request, str(error))
        finally:
            self._held_ns += time.perf_counter_ns() - started

    def _has_grown(self) -> bool:
        return int(self._process.memory_info().rss) - self._resident_before > self._most_bytes

    def _end_early(self, step: int) -> None:
        planned = self._plan.open
        self._close_window()
        self._on_missed(f"steps {planned} are profiled up to step {step - 1}: the trace takes too much memory")

    def _check_beginning(self, step: int) -> None:
        planned = self._plan.open
        if planned is None:
            return
        if step > planned.first:
            self._on_missed(f"steps {planned} are profiled from step {step} on: the training came to them there")
        if self.most_steps is not None and planned.end - step > self.most_steps:
            self._plan.shorten(step + self.most_steps)
            self._on_missed(
                f"steps {planned} are profiled up to step {step + self.most_steps - 1}: more would exceed max_events"
            )

    def _close_window(self) -> None:
        """End the window although no step has come that would."""
        self._plan.abandon()
        self._quiet_until = -1
        with self._profiler_stage:
            self._end_window()

    def _end_window(self) -> None:
        window, self._window = self._window, None
        if window is None:
            return
        if not window.recording:
            window.discard()
            return
        name = f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}.pt.trace.json"
        file = window.finish(os.path.join(self._folder, name))
        if file is None:
            return
        request = self._request
        if request is None or request.first_step is None or request.first_step > file.last_step:
            self._on_file(file, None)
        else:
            self._request = None
            self._on_file(file, request)

    # ---- triggers ----

    def _look_at_triggers(self, step: int, now: int) -> None:
        taken = now - self._began_ns - self._held_ns
        profiled = self._window is not None
        if self._began_ns and not profiled:
            self._typical_ns = taken if not self._typical_ns else (7 * self._typical_ns + taken) // 8
            if self._slow is not None and self._slow.see(taken, now) and self._plan.open is None:
                say(f"step {self._step} took {taken / 1e6:.4g} ms; profiles the next {self._active}")
                self._ask(step + self._warmup, self._active)
        if now - self._polled_ns < _POLL_EVERY_NS:
            return
        self._polled_ns = now
        if self._flag is not None and self._flag.take():
            self._ask(step + self._warmup, self._active)
        if self._requests is not None and (request := self._requests.poll()) is not None:
            self._take_request(request, step)

    def _ask(self, first: int, steps: int) -> None:
        self._plan.add(StepRange(first, first + steps))
        self._quiet_until = -1

    def _take_request(self, request: Request, step: int) -> None:
        if request.first_step is None:
            ahead = -(-_AGREEMENT_NS // max(1, self._typical_ns)) if self._agreed else 0
            first = max(step + self._warmup + ahead, self._plan.open.end if self._plan.open is not None else 0)
            request = msgspec.structs.replace(request, first_step=first, state="accepted")
            assert self._requests is not None
            self._requests.answer(request)
        first_step = request.first_step
        assert first_step is not None
        self._request = request
        self._ask(first_step, request.steps)

    def _refuse(self, request: Request, why: str) -> None:
        self._request = None
        if self._requests is not None:
            self._requests.answer(msgspec.structs.replace(request, state="refused", message=why))

    def _fail(self, error: BaseException) -> None:
        self._inert = True
        window, self._window = self._window, None
        try:
            if window is not None:
                window.discard()
        except Exception as second:  # noqa: BLE001
            warn("could not stop torch.profiler", second)
        self._on_failure(error)
