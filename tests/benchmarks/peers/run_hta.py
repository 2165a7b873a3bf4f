"""Runs HolisticTraceAnalysis on a trace, in the peers' environment; see `process.run` for what it writes.

Loads the trace with the parser that is named and makes the three breakdowns of its guide that need one rank only:
temporal, kernel and idle time, without drawing them. The first that fails does not keep the others from being tried.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

from hta.common import trace_parser
from hta.configs.parser_config import ParserBackend
from hta.trace_analysis import TraceAnalysis


def main(path: str, report: str, backend: str) -> None:
    """Load and break down, and write how long it took and what failed."""
    if backend.startswith("ijson"):
        import ijson

        if "yajl2" not in ijson.backend:
            raise SystemExit(f"ijson has no fast parser here: {ijson.backend}")
    trace_parser.set_default_trace_parsing_backend(ParserBackend(backend))
    begin = time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path))
    parts = {"load": time.perf_counter() - begin}
    failed, found = {}, {}
    for name, break_down in (
        ("temporal breakdown", analysis.get_temporal_breakdown),
        ("kernel breakdown", analysis.get_gpu_kernel_breakdown),
        ("idle breakdown", analysis.get_idle_time_breakdown),
    ):
        start = time.perf_counter()
        try:
            table = break_down(visualize=False)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
        else:
            table = table[-1] if name == "kernel breakdown" else table[0] if isinstance(table, tuple) else table
            found[name] = f"{len(table)} rows"
        parts[name] = time.perf_counter() - start
    answer = {
        "version": version("HolisticTraceAnalysis"),
        "seconds": time.perf_counter() - begin,
        "parts": parts,
        "failed": failed,
        "found": found,
    }
    Path(report).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
