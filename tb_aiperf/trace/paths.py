"""Trace files named on a command line: files, folders and patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tb_aiperf.trace.errors import TraceError

#: What torch's own trace handler and ours call their files.
_TRACE_ENDINGS = (".pt.trace.json", ".pt.trace.json.gz")
_JSON_ENDINGS = (".json", ".json.gz")


def find_traces(arguments: Iterable[str]) -> list[str]:
    """Paths of trace files, each once, in the order of the arguments and by name within one.

    A folder stands for the ``*.pt.trace.json(.gz)`` anywhere below it, or where there is none for the ``*.json(.gz)``
    right in it. An argument that names nothing is taken as a pattern, in which ``**`` crosses folders. Raises
    `TraceError` for an argument without any file.
    """
    found: dict[str, None] = {}
    for argument in arguments:
        files = list(_files_of(argument))
        if not files:
            raise TraceError(
                argument,
                "no trace files were found",
                "looking for *.pt.trace.json(.gz) and *.json(.gz)",
                "Give a trace file, a folder that holds some, or a pattern.",
            )
        found.update(dict.fromkeys(files))
    return list(found)


def _files_of(argument: str) -> Iterator[str]:
    if os.path.isdir(argument):
        below = sorted(str(path) for path in Path(argument).rglob("*") if path.is_file())
        traces = [path for path in below if path.endswith(_TRACE_ENDINGS)]
        yield from traces or [p for p in below if p.endswith(_JSON_ENDINGS) and Path(p).parent == Path(argument)]
    elif os.path.exists(argument) or not glob.has_magic(argument):
        yield argument  # if it is missing, reading it says so
    else:
        yield from sorted(path for path in glob.glob(argument, recursive=True) if os.path.isfile(path))
