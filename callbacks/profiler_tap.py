"""Drives a `StageClock` from the actions of a Trainer's profiler, whichever profiler that is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tb_aiperf.capture.stage_clock import StageClock

from .actions import VALIDATION_KEEPS_OUT, is_fetch, is_lightnings, stage_of
from .patches import PatchSet

#: Names of actions remembered; a program that makes up names without end must not fill the memory.
_MOST_NAMES = 4096


class _Inherit:
    """The context of an action that belongs to the stage around it."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


_INHERIT = _Inherit()


class _Fetch:
    """The context of a stand-alone loop's fetch: a new step begins where its batch is asked for."""

    __slots__ = ("_cut", "_stage")

    def __init__(self, cut: Callable[[], None], stage: Any) -> None:
        self._cut = cut
        self._stage = stage

    def __enter__(self) -> None:
        self._cut()
        self._stage.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stage.__exit__(kind, error, traceback)


class ProfilerTap:
    """Enters the stage of each profiled action.

    checkpoint_keys  `state_key` of the callbacks whose work is writing checkpoints
    on_fetch         called when a stand-alone loop asks for its next batch; None in a fit, which is cut elsewhere
    on_failure       called with the exception when the tap itself fails
    """

    def __init__(
        self,
        trainer: Any,
        clock: StageClock,
        checkpoint_keys: Collection[str],
        on_fetch: Callable[[], None] | None,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._trainer = trainer
        self._clock = clock
        self._checkpoint_keys = checkpoint_keys
        self._on_fetch = on_fetch
        self._on_failure = on_failure
        # An action may mean another stage inside validation: contexts by name, for each of the two phases.
        self._training: dict[str, Any] = {}
        self._validation: dict[str, Any] = {}
        self._contexts = self._training

    @property
    def validating(self) -> bool:
        """Whether a fit's validation is under way."""
        return self._contexts is self._validation

    def set_validating(self, validating: bool) -> bool:
        """Enter or leave the validation of a fit; returns what was before."""
        before = self.validating
        self._contexts = self._validation if validating else self._training
        return before

    def install(self, profiler: Any, patches: PatchSet) -> None:
        """Have `profiler` drive the clock; whatever it does itself goes on, and counts as the stage `profiler`."""
        context_of = self._context_of

        if is_lightnings_own(type(profiler)) and type(profiler).__name__ == "PassThroughProfiler":
            # Lightning's own default does nothing; answering in its place costs less than it does.
            def fast_profile(original: Callable[..., Any]) -> Callable[..., Any]:
                def profile(action_name: str) -> Any:
                    context = self._contexts.get(action_name)
                    if context is not None:
                        return context
                    # A user's own actions, never remembered, get the real thing with all that it can do.
                    return context_of(action_name) if is_lightnings(action_name) else original(action_name)

                return profile

            def fast_start(_: Callable[..., Any]) -> Callable[..., Any]:
                def start(action_name: str) -> None:
                    (self._contexts.get(action_name) or context_of(action_name)).__enter__()

                return start

            def fast_stop(_: Callable[..., Any]) -> Callable[..., Any]:
                def stop(action_name: str) -> None:
                    (self._contexts.get(action_name) or context_of(action_name)).__exit__(None, None, None)

                return stop

            patches.replace(profiler, "profile", fast_profile)
            patches.replace(profiler, "start", fast_start)
            patches.replace(profiler, "stop", fast_stop)
            return

        inside_profiler = self._clock.stage("profiler")

        def timed_start(inner: Callable[..., Any]) -> Callable[..., Any]:
            def start(action_name: str) -> None:
                with inside_profiler:
                    inner(action_name)
                (self._contexts.get(action_name) or context_of(action_name)).__enter__()

            return start

        def timed_stop(inner: Callable[..., Any]) -> Callable[..., Any]:
            def stop(action_name: str) -> None:
                (self._contexts.get(action_name) or context_of(action_name)).__exit__(None, None, None)
                with inside_profiler:
                    inner(action_name)

            return stop

        def staged_profile(inner: Callable[..., Any]) -> Callable[..., Any]:
            @contextmanager
            def profile(action_name: str) -> Iterator[Any]:
                with inner(action_name) as given, self._contexts.get(action_name) or context_of(action_name):
                    yield given

            return profile

        if not is_lightnings_own(getattr(type(profiler), "profile", None)):
            patches.replace(profiler, "profile", staged_profile)  # it may call neither start nor stop
        patches.replace(profiler, "start", timed_start)
        patches.replace(profiler, "stop", timed_stop)

    def _context_of(self, action: str) -> Any:
        """Context of an action seen for the first time in this phase; remembered."""
        context: Any = _INHERIT
        if not is_lightnings(action):
            return context
        try:
            stage = stage_of(action, self._checkpoint_keys)
            if (self.validating and stage not in VALIDATION_KEEPS_OUT) or self._is_empty_hook(action):
                stage = None
            if stage is not None:
                context = self._clock.stage(stage)
                if self._on_fetch is not None and is_fetch(action):
                    context = _Fetch(self._on_fetch, context)
        except Exception as error:  # noqa: BLE001
            self._on_failure(error)
        if len(self._contexts) < _MOST_NAMES:
            self._contexts[action] = context
        return context

    def _is_empty_hook(self, action: str) -> bool:
        """Whether the action runs a hook of the LightningModule that is Lightning's own empty one: not worth timing."""
        owner, _, hook = action.rpartition(".")
        if not (owner.startswith("[LightningModule]") and hook.startswith("on_")):
            return False
        module = self._trainer.lightning_module
        defined = getattr(type(module), hook, None)
        return is_lightnings_own(defined) and hook not in vars(module)


def is_lightnings_own(definition: Any) -> bool:
    """Whether a class or function is Lightning's own."""
    return str(getattr(definition, "__module__", "")).startswith(("lightning.", "pytorch_lightning."))
