"""`StepProfiler`: torch.profiler for chosen steps of a Lightning Trainer, shown in TensorBoard meanwhile."""

from __future__ import annotations

import os
import signal as signals
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tb_aiperf.capture.step_plan import StepPlan, StepRange, Steps, parse_steps
from tb_aiperf.capture.trace_window import TraceWindow, WindowFile, check_options, find_activities
from tb_aiperf.records import LOOPS
from tb_aiperf.storage.profile_writer import WindowSummaries
from tb_aiperf.storage.requests import Request

from .measurement import Measurement
from .measuring_callback import MeasuringCallback
from .messages import say, warn
from .triggers import RequestFile, SignalFlag, SlowSteps
from .window_driver import WindowDriver
from .window_keeper import TraceInfo, WindowKeeper

#: How long the end of a training waits for the profiles of its last windows.
_WAIT_S = 300.0
#: Memory that torch.profiler takes for an event while it records and exports, about; and growth that is no sign of it.
_BYTES_PER_EVENT = 1000
_LEAST_BYTES = 256 << 20


class StepProfiler(MeasuringCallback):
    """Records ranges of steps with torch.profiler and shows each in TensorBoard's tab "AI performance", panel Profile.

    The profiler exists only while it records. A window's trace is exported once, in the training thread; a process of
    low priority then compresses and reads it. A step here is what the Steps panel calls one, and a trace's
    ``ProfilerStep#N`` is its step N. Works with `PerfMonitor` and alone.

    Args:
        steps: ranges, the end left out as in a slice: ``"100:105"`` (five steps), ``"100:105, 900:905"``, ``100``, or a
            list of such. None: only what the other arguments and triggers ask for.
        start_step, end_step: another way to write one range; the end is left out.
        every_n_steps: also `active` steps from every multiple of this on.
        active: steps of a window that `every_n_steps`, a slow step or a signal starts.
        warmup: steps before each window in which the profiler runs without recording.
        on_slow_step: profile the next steps when one takes this many times the running median.
        slow_windows_per_hour: at most so many of those.
        on_demand: look once a second for a request of ``aiperf profile RUN_DIR``.
        signal: name of a signal (such as ``SIGUSR2``) that starts a window.
        stages: loops in which to profile: train (with the validation inside it), validate, test, predict.
        ranks: "all", one global rank or several.
        activities: such as ``["cpu", "cuda"]``; by default all that the machine has.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: as in torch.profiler. All off: each costs.
        profiler_options: further arguments of torch.profiler.profile.
        trace_handler: called with a `TraceInfo` for each window once its file is ready, in a background thread.
        keep: trace files that stay in the run's folder; the oldest go first. Their profiles stay.
        max_events: windows are shortened so that they stay below this, once it is known how many events a step has.
            Until then a window ends when the process has grown by 1 kB for each of them.
        dirpath, enabled, verbose: as in `PerfMonitor`.
    """

    _role = "StepProfiler"
    _does = "profiles"
    _running_state = ("_measurement", "_driver", "_keeper", "_flag", "_requests")

    def __init__(
        self,
        steps: Steps | None = None,
        *,
        start_step: int | None = None,
        end_step: int | None = None,
        every_n_steps: int | None = None,
        active: int = 3,
        warmup: int = 1,
        on_slow_step: float | None = None,
        slow_windows_per_hour: int = 2,
        on_demand: bool = True,
        signal: str | None = None,
        stages: str | Sequence[str] = ("train",),
        ranks: str | int | Sequence[int] = 0,
        activities: Sequence[str] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        profiler_options: Mapping[str, Any] | None = None,
        trace_handler: Callable[[TraceInfo], Any] | None = None,
        keep: int = 5,
        max_events: int = 2_000_000,
        dirpath: str | os.PathLike[str] | None = None,
        enabled: bool | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(ranks=ranks, dirpath=dirpath, enabled=enabled, verbose=verbose)
        self.ranges = _ranges(steps, start_step, end_step)
        self.stages = (stages,) if isinstance(stages, str) else tuple(stages)
        if unknown := [stage for stage in self.stages if stage not in _LOOPS]:
            raise ValueError(f"StepProfiler: stages are {', '.join(_LOOPS)}, not {unknown[0]!r}")
        for name, value, least in (
            ("every_n_steps", every_n_steps, 1),
            ("active", active, 1),
            ("warmup", warmup, 0),
            ("slow_windows_per_hour", slow_windows_per_hour, 1),
            ("keep", keep, 0),
            ("max_events", max_events, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"StepProfiler: {name} is {value}; it must be at least {least}")
        if every_n_steps is not None and every_n_steps <= active:
            raise ValueError(f"StepProfiler: every_n_steps={every_n_steps} must be more than active={active}")
        if on_slow_step is not None and not on_slow_step > 1:
            raise ValueError(f"StepProfiler: on_slow_step is {on_slow_step}; it must be more than 1 (times the median)")
        if signal is not None and (signal not in signals.Signals.__members__ or signal in _NOT_TO_CATCH):
            raise ValueError(f"StepProfiler: this machine has no signal {signal!r}; SIGUSR2 is the usual one")
        self.every_n_steps = every_n_steps
        self.active = active
        self.warmup = warmup
        self.on_slow_step = on_slow_step
        self.slow_windows_per_hour = slow_windows_per_hour
        self.on_demand = on_demand
        self.signal = signal
        self.activities = None if activities is None else list(activities)
        self.profiler_options = check_options(
            {
                "record_shapes": record_shapes,
                "profile_memory": profile_memory,
                "with_stack": with_stack,
                "with_flops": with_flops,
                "with_modules": with_modules,
                **(profiler_options or {}),
            }
        )
        self.trace_handler = trace_handler
        self.keep = keep
        self.max_events = max_events
        find_activities(self.activities)  # a name that is wrong is told at once
        self._driver: WindowDriver | None = None
        self._keeper: WindowKeeper | None = None
        self._flag: SignalFlag | None = None
        self._requests: RequestFile | None = None

    # ---- for users ----

    def on_trace(self, info: TraceInfo) -> None:
        """Override to see each window, as a `trace_handler` does; called in a background thread."""

    # ---- inside ----

    def _begin(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        folder, attempt, tap = measurement.destination.folder, measurement.attempt, measurement.tap
        if measurement.loop not in self.stages or attempt is None or tap is None:
            return
        if folder is None:
            return  # a fast_dev_run leaves no files
        activities = find_activities(self.activities)
        clock, options = measurement.clock, self.profiler_options
        self._keeper = WindowKeeper(
            attempt,
            write=lambda summaries: self._write(measurement, summaries),
            on_info=self._tell,
            on_analysis=self._learn,
            keep=self.keep,
        )
        run_folder = os.path.dirname(folder) if attempt.rank else folder
        listens = self.on_demand and "://" not in run_folder
        self._requests = RequestFile(run_folder, answers=attempt.rank == 0) if listens else None
        self._flag = SignalFlag(self.signal) if self.signal is not None else None
        self._driver = tap.observer = WindowDriver(
            StepPlan(self.ranges, every_n_steps=self.every_n_steps, active=self.active, warmup=self.warmup),
            clock,
            # torch.profiler writes to this machine's disks only.
            tempfile.mkdtemp(prefix="tb_aiperf_") if "://" in folder else os.path.abspath(folder),
            lambda: TraceWindow(clock, activities, options),
            on_file=self._take_file,
            on_missed=lambda sentence: self._miss(measurement, sentence),
            on_failure=self._driver_failed,
            active=self.active,
            warmup=self.warmup,
            most_bytes=max(_LEAST_BYTES, self.max_events * _BYTES_PER_EVENT),
            agreed=attempt.world_size > 1 and self.ranks != 0 and self.ranks != [0],
            requests=self._requests,
            flag=self._flag,
            slow=SlowSteps(self.on_slow_step, self.slow_windows_per_hour) if self.on_slow_step is not None else None,
        )
        if self.verbose and attempt.rank == 0:
            planned = [f"steps {', '.join(map(str, self.ranges))}"] if self.ranges else []
            planned += [f"every {self.every_n_steps} steps"] if self.every_n_steps is not None else []
            planned += [f"on request: aiperf profile {run_folder}"] if listens else []
            measurement.say_where(f"profiles {'; '.join(planned) or 'nothing yet'}")

    def _end(self, measurement: Measurement, *, interrupted: bool) -> None:
        driver, flag = self._driver, self._flag
        if flag is not None:
            flag.restore()
        if driver is not None:
            if measurement.tap is not None and measurement.tap.observer is driver:
                measurement.tap.observer = None
            driver.close()
        keeper = self._keeper
        self._driver = self._flag = self._keeper = None
        if keeper is not None and not keeper.close(_WAIT_S):
            warn(f"gave up after {_WAIT_S:.0f} s on the profiles of the last windows; their traces are kept")

    def _take_file(self, file: WindowFile, request: Request | None) -> None:
        if self._keeper is not None:
            self._keeper.submit(file, request)

    def _write(self, measurement: Measurement, summaries: list[tuple[str, bytes, bytes, int]]) -> None:
        sink = measurement.sink
        if sink is None:
            return

        def write() -> None:
            for tag, payload, content, step in summaries:
                sink.add(tag, payload, content, step)
            sink.flush()

        measurement.recorder.run_soon(write)

    def _learn(self, analysis: WindowSummaries, file: WindowFile) -> None:
        steps = file.last_step - file.first_step + 1
        if self._driver is not None:
            self._driver.most_steps = max(1, self.max_events * steps // max(1, analysis.events))

    def _tell(self, info: TraceInfo, request: Request | None) -> None:
        if request is not None and self._requests is not None and info.rank == 0:
            done = msgspec.structs.replace(request, state="done", window=info.window, path=info.path)
            self._requests.answer(done)
        if self.verbose:
            say(f"profiled steps {info.first_step} to {info.last_step}: {info.path}")
        for handler in (self.on_trace, self.trace_handler):
            if handler is None:
                continue
            try:
                handler(info)
            except Exception as error:  # noqa: BLE001  a user's code
                warn("the trace_handler failed; profiling goes on", error)

    def _miss(self, measurement: Measurement, sentence: str) -> None:
        warn(sentence)
        measurement.note(sentence[0].upper() + sentence[1:] + ".")

    def _driver_failed(self, error: BaseException) -> None:
        warn("cannot profile any more; the training goes on", error)


#: Signals that no process may handle.
_NOT_TO_CATCH = frozenset({"SIGKILL", "SIGSTOP"})
#: A pipeline has no Trainer.
_LOOPS = tuple(loop for loop in LOOPS if loop != "pipeline")


def _ranges(steps: Steps | None, start_step: int | None, end_step: int | None) -> list[StepRange]:
    if (start_step is None) != (end_step is None):
        raise ValueError("StepProfiler: start_step and end_step go together")
    if steps is not None and start_step is not None:
        raise ValueError("StepProfiler: give steps, or start_step and end_step")
    if start_step is not None and end_step is not None:
        steps = [[start_step, end_step]]
    try:
        return [] if steps is None else parse_steps(steps)
    except ValueError as error:
        raise ValueError(f"StepProfiler: {error}") from None
