"""`TraceError`: the file cannot be read as a trace."""

from __future__ import annotations

import os


class TraceError(ValueError):
    """A trace file is unusable.

    path: the file. place: where in it, such as ``byte 1024`` or ``the whole file``. remedy: what to do about it.
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, place: str, remedy: str) -> None:
        self.path = os.fspath(path)
        self.place = place
        self.remedy = remedy
        super().__init__(f"{self.path}: {problem} ({place}). {remedy}")
