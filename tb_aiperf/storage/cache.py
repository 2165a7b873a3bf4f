"""A bounded cache that is safe under threads and builds each value once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    identity: object = None
    value: Any = None
    size: int = 0


class BuildCache:
    """Least recently used values are dropped beyond `limit` bytes; the newest always stays."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def get(
        self,
        key: Hashable,
        identity: object,
        build: Callable[[Value | None], Value],
        size: Callable[[Value], int],
    ) -> Value:
        """The value of `key` as of `identity`.

        `build` makes it, given the value of an older identity to go on from (or None). Other threads that ask for the
        same key wait for it, other keys go on. size: of a value, in bytes. What `build` raises passes through.
        """
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
        with slot.lock:
            if slot.value is None or slot.identity != identity:
                try:
                    value = build(slot.value)
                except BaseException:
                    self._forget(key, slot)
                    raise
                slot.identity, slot.value = identity, value
                self._resize(key, slot, size(value))
            result: Value = slot.value
        return result

    def _forget(self, key: Hashable, slot: _Slot) -> None:
        """Drop a slot that never held a value, lest failing requests fill the cache."""
        with self._lock:
            if slot.value is None and self._slots.get(key) is slot:
                del self._slots[key]

    def _resize(self, key: Hashable, slot: _Slot, size: int) -> None:
        """Note a slot's new size and drop what is then too much, least recently used first."""
        with self._lock:
            if self._slots.get(key) is not slot:
                return  # dropped while its value was built; this request alone uses it
            self._total += size - slot.size
            slot.size = size
            while self._total > self._limit and len(self._slots) > 1:
                oldest = next(iter(self._slots))
                if oldest == key:
                    self._slots.move_to_end(key)
                    continue
                self._total -= self._slots.pop(oldest).size
