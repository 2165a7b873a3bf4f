"""`TraceWindow`: torch.profiler over some steps of a running program."""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_aiperf.capture.stage_clock import StageClock

#: Options of torch.profiler that a window sets itself.
_OWN_OPTIONS = frozenset({"schedule", "on_trace_ready", "activities", "use_cuda"})
#: Repeated sessions on CUDA leave memory that only the garbage collector frees; collecting costs 0.1 s and more.
_WINDOWS_PER_COLLECTION = 25


class ProfilerBusyError(RuntimeError):
    """Another profiler is at work in this process."""


@dataclass(frozen=True, slots=True)
class WindowFile:
    """What a window left. first_step, last_step: of those marked."""

    path: str
    first_step: int
    last_step: int


def check_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` if torch.profiler.profile takes them. Raises TypeError with those that it does not."""
    import torch

    known = set(inspect.signature(torch.profiler.profile).parameters) - _OWN_OPTIONS
    unknown = sorted(set(options) - known)
    if unknown:
        raise TypeError(f"torch.profiler takes no {', '.join(unknown)}; it takes {', '.join(sorted(known))}")
    return dict(options)


def find_activities(names: Sequence[str] | None) -> list[Any]:
    """torch.profiler's activities by name (``cpu``, ``cuda``, ...); all that this machine has where none is given.

    Raises ValueError for a name that torch does not know or cannot record here.
    """
    from torch.profiler import ProfilerActivity, supported_activities

    supported: set[Any] = supported_activities()  # type: ignore[no-untyped-call]
    if names is None:
        return sorted(supported, key=lambda activity: str(activity.name))
    chosen = []
    for name in names:
        activity = getattr(ProfilerActivity, name.upper(), None)
        if activity is None or activity not in supported:
            here = ", ".join(sorted(each.name.lower() for each in supported))
            raise ValueError(f"activities: {name!r} cannot be recorded here; {here} can")
        chosen.append(activity)
    return chosen


class TraceWindow:
    """One session of torch.profiler: `prepare`, `begin`, `mark` each step, `finish`, all in the thread to be profiled.

    A step's mark is ``ProfilerStep#<step>``; while the session records, the stages of `clock` are ranges
    ``stage:<stage>`` inside it. The profiler exists only from `prepare` to `finish`: outside, nothing of it costs.
    """

    _finished = 0

    def __init__(self, clock: StageClock | None, activities: Sequence[Any], options: Mapping[str, Any]) -> None:
        self._clock = clock
        self._activities = list(activities)
        self._options = dict(options)
        self._profiler: Any = None
        self._warm_up: _WarmUp | None = None
        self._recording = False
        self._mark: Any = None
        self._steps: list[int] = []

    @property
    def recording(self) -> bool:
        """Whether events are being recorded."""
        return self._recording

    def prepare(self) -> None:
        """Have the profiler run without recording. Raises ProfilerBusyError."""
        import torch

        if _is_profiler_at_work():
            raise ProfilerBusyError("another profiler is at work in this process")
        profiler = torch.profiler.profile(activities=self._activities, **self._options)
        profiler.prepare_trace()
        self._profiler = profiler
        self._warm_up = _WarmUp()

    def begin(self) -> None:
        """Start to record. Raises ProfilerBusyError."""
        if self._profiler is not None and _is_profiler_at_work():  # one that is only prepared does not count
            self._profiler = None
            self._end_warm_up()
            raise ProfilerBusyError("another profiler was started in this process")
        if self._profiler is None or self._end_warm_up():
            self.prepare()
            self._end_warm_up()
        self._profiler.start_trace()
        self._recording = True
        if self._clock is not None:
            self._clock.observer = StageRanges(self._clock.stages)

    def mark(self, step: int) -> None:
        """A step begins; the one before ends, unless it has the same number: a step may take several batches."""
        if not self._recording or (self._mark is not None and self._steps[-1:] == [step]):
            return
        self.unmark()
        self._mark = _open_range(f"ProfilerStep#{step}")
        self._steps.append(step)

    def unmark(self) -> None:
        """The step ends, and no other begins."""
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def finish(self, path: str) -> WindowFile | None:
        """Stop and write the trace to `path` as JSON; None if no step was marked. Raises what torch.profiler does."""
        self.unmark()
        if self._clock is not None and isinstance(self._clock.observer, StageRanges):
            self._clock.observer.cleared()
            self._clock.observer = None
        profiler, self._profiler = self._profiler, None
        recording, self._recording = self._recording, False
        overtaken = self._end_warm_up()
        if profiler is None or (overtaken and not recording):
            return None
        if not recording:
            profiler.start_trace()  # a session that was only prepared cannot be stopped
        profiler.stop_trace()
        if not recording or not self._steps:
            return None
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        profiler.export_chrome_trace(path)
        del profiler
        TraceWindow._finished += 1
        if len(self._activities) > 1 and TraceWindow._finished % _WINDOWS_PER_COLLECTION == 0:
            gc.collect()
        return WindowFile(path, self._steps[0], self._steps[-1])

    def discard(self) -> None:
        """Stop without a trace."""
        self._steps.clear()
        self.finish("")

    def _end_warm_up(self) -> bool:
        """Whether another profiler was prepared since this one was, and so has taken its place."""
        warm_up, self._warm_up = self._warm_up, None
        return warm_up is not None and warm_up.end()


class _WarmUp:
    """Notices that another profiler is prepared while ours only warms up.

    The process has one session, and preparing another drops ours: starting and stopping it then ends the process with
    a segmentation fault. torch has no way to ask; every session of its Python interface comes through this function.
    """

    def __init__(self) -> None:
        self._module = _profiler_module()
        self._original = self._module._prepare_profiler
        self._overtaken = False
        self._replacement: Any = self._prepare
        self._module._prepare_profiler = self._replacement

    def _prepare(self, *args: Any, **kwargs: Any) -> Any:
        self._overtaken = True
        return self._original(*args, **kwargs)

    def end(self) -> bool:
        """Stop watching; whether there was another one."""
        if self._module._prepare_profiler is self._replacement:
            self._module._prepare_profiler = self._original
        return self._overtaken


class StageRanges:
    """Shows a clock's stages in the trace, as ranges that nest strictly."""

    def __init__(self, stages: Sequence[str]) -> None:
        self._names = [f"stage:{stage}" for stage in stages]
        self._open: list[Any] = []

    def entered(self, index: int) -> None:
        """See `StageObserver`."""
        self._open.append(_open_range(self._names[index]))

    def left(self) -> None:
        """See `StageObserver`. A stage that was entered before the window has no range."""
        if self._open:
            self._open.pop().__exit__(None, None, None)

    def cleared(self) -> None:
        """See `StageObserver`."""
        while self._open:
            self.left()


def _profiler_module() -> Any:
    """Untyped, since what is set in it is none of its public names."""
    import torch

    return torch.autograd.profiler


def _is_profiler_at_work() -> bool:
    import torch

    enabled: Any = torch.autograd._profiler_enabled  # type: ignore[attr-defined]
    return bool(enabled())


def _open_range(name: str) -> Any:
    from torch.autograd.profiler import record_function

    opened: Any = record_function(name)
    opened.__enter__()
    return opened
