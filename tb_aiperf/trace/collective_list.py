"""`CollectiveList`: what the profiler recorded about each collective, in 28 bytes for each; there may be millions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from tb_aiperf.trace.table import CollectiveArguments

#: Stands for None in a column of numbers, and is none itself.
_NONE = -(1 << 63)


class _Texts(dict["str | None", int]):
    """Numbers distinct texts. texts: by number."""

    def __init__(self) -> None:
        self.texts: list[str | None] = []

    def __missing__(self, text: str | None) -> int:
        self.texts.append(text)
        number = self[text] = len(self)
        return number


class CollectiveList(Sequence[CollectiveArguments]):
    """A list that can only grow. Numbers that 64 bits do not hold are None."""

    def __init__(self, items: Iterable[CollectiveArguments] = ()) -> None:
        self._texts = _Texts()
        self._name, self._group, self._dtype = (array("i") for _ in range(3))
        self._sequence, self._elements = (array("q") for _ in range(2))
        for item in items:
            self.append(item)

    def append(self, item: CollectiveArguments) -> None:
        """Add one."""
        texts = self._texts
        self._name.append(texts[item.name])
        self._group.append(texts[item.group])
        self._dtype.append(texts[item.dtype])
        self._sequence.append(_number(item.sequence))
        self._elements.append(_number(item.elements))

    def __len__(self) -> int:
        return len(self._name)

    @overload
    def __getitem__(self, index: int) -> CollectiveArguments: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CollectiveArguments]: ...
    def __getitem__(self, index: int | slice) -> CollectiveArguments | Sequence[CollectiveArguments]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        texts, sequence, elements = self._texts.texts, self._sequence[index], self._elements[index]
        return CollectiveArguments(
            texts[self._name[index]],
            texts[self._group[index]],
            None if sequence == _NONE else sequence,
            None if elements == _NONE else elements,
            texts[self._dtype[index]],
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CollectiveList({list(self)!r})"


def _number(value: int | None) -> int:
    return value if value is not None and _NONE < value < -_NONE else _NONE
