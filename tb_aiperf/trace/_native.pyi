"""The compiled part of reading a trace; sources in native/. `compiled.native` is this module where it was built."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

class Scanner:
    """Takes windows of events from their text straight into columns.

    kind_of: the kind of a category, as a `Kind`'s value. names, threads, shapes: numbers of texts, of pairs of
    ``pid`` and ``tid`` and of the bytes of ``Input Dims``; they number what they do not hold yet.
    """

    def __init__(
        self,
        kind_of: Callable[[str], str],
        names: dict[str, int],
        threads: dict[tuple[Any, Any], int],
        shapes: dict[bytes, int],
    ) -> None: ...
    def scan(self, text: bytes) -> bool:
        """Scan the inside of a JSON array of events; other threads run meanwhile.

        False if anything in it is not as it should be, or may mean something else than it seems to: nothing was taken
        then. What was scanned before and not committed is forgotten.
        """

    def commit(
        self, tables: list[list[bytearray]], collectives: int, /
    ) -> tuple[list[tuple[int, int]], list[tuple[str, int]], list[tuple[Any, ...]]]:
        """Append the window scanned last to the columns of operators, annotations, runtime, device, python, overhead
        and memory.

        collectives: how many there are already. Returns, of each kind that has either, how many events have no or a
        negative duration and how many were dropped for impossible times; the unknown categories and their events; and
        of each collective name, group, group id, sequence, elements and dtype.
        """

def parents(
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    thread: npt.NDArray[np.int32],
    parent: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
    /,
) -> None:
    """Set `parent` and `stop` of the ranges of a `Nesting`."""
