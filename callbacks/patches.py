"""Replaces attributes of living objects and puts everything back exactly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_ABSENT = object()


class _Replacement(functools.partial[Any]):
    """A replaced method. Pickled or copied with its owner, the copy gets the method of its own class.

    Owners travel while they are patched: a data set that knows its logger goes to spawned loader workers. A `partial`
    since that is the fastest callable that can say so.
    """

    place: tuple[Any, str]

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self.place


class PatchSet:
    """Instance-level replacements of methods, undone in reverse order.

    Only the instance's own attributes are touched, never a class, so other objects of the class are untouched. And
    never through `vars`: asking CPython for an instance's dictionary once makes each later attribute of it slower to
    read, some 10 µs a step for a Trainer's loops.
    """

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
        """Set `owner.name` to a callable that does what `make(its present value)` does.

        Returns False where there is nothing callable to replace or the owner does not let itself be changed.
        """
        original = getattr(owner, name, None)
        if not callable(original):
            return False
        replacement = _Replacement(make(original))
        replacement.place = (owner, name)
        functools.update_wrapper(replacement, original)
        of_class = getattr(type(owner), name, None)
        inherited = getattr(original, "__self__", None) is owner and getattr(original, "__func__", None) is of_class
        before = _ABSENT if inherited else original
        try:
            setattr(owner, name, replacement)
        except (AttributeError, TypeError):
            return False
        self._undo.append((owner, name, before, replacement))
        return True

    def undo(self) -> None:
        """Put every attribute back, unless somebody else has replaced it since: theirs then stays."""
        while self._undo:
            owner, name, before, replacement = self._undo.pop()
            if getattr(owner, name, None) is not replacement:
                continue
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
