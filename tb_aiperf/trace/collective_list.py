"""`CollectiveList`: what the profiler recorded about each collective, in 28 bytes for each; there may be millions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from tb_aiperf.trace.table import CollectiveArguments

#: Stands for None in a column of numbers. The profiler's own numbers are none that large.
_NONE = -(1 << 63)


class CollectiveList(Sequence[CollectiveArguments]):
    """A list that can only grow. Numbers that 64 bits do not hold are None."""

    def __init__(self, items: Iterable[CollectiveArguments] = ()) -> None:
        self._texts: dict[str | None, int] = {}
        self._known: list[str | None] = []
        self._labels = tuple(array("i") for _ in range(3))
        self._numbers = tuple(array("q") for _ in range(2))
        for item in items:
            self.append(item)

    def append(self, item: CollectiveArguments) -> None:
        """Add one."""
        for labels, text in zip(self._labels, (item.name, item.group, item.dtype), strict=True):
            number = self._texts.setdefault(text, len(self._texts))
            if number == len(self._known):
                self._known.append(text)
            labels.append(number)
        for numbers, value in zip(self._numbers, (item.sequence, item.elements), strict=True):
            numbers.append(value if value is not None and abs(value) < -_NONE else _NONE)

    def __len__(self) -> int:
        return len(self._labels[0])

    @overload
    def __getitem__(self, index: int) -> CollectiveArguments: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CollectiveArguments]: ...
    def __getitem__(self, index: int | slice) -> CollectiveArguments | Sequence[CollectiveArguments]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        name, group, dtype = (self._known[labels[index]] for labels in self._labels)
        sequence, elements = (None if (value := numbers[index]) == _NONE else value for numbers in self._numbers)
        return CollectiveArguments(name, group, sequence, elements, dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]
