"""Runs torch-tb-profiler on a trace, in the peers' environment; see `process.run` for what it writes.

What its TensorBoard plugin does with a file of a run, in its own order: parse, process, analyse, make the contents of
all views. The plugin does so in a process per file and sends the result back to TensorBoard; neither is counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator


def main(path: str, report: str) -> None:
    """Make the views, and write how long it took."""
    with tempfile.TemporaryDirectory() as cache:
        begin = time.perf_counter()
        data = RunProfileData.parse("worker0", "1", path, cache)  # this processes and analyses as well
        parsed = time.perf_counter()
        profile = RunGenerator("worker0", "1", data).generate_run_profile()
        DistributedRunProfileData(data)
        end = time.perf_counter()
    answer = {
        "version": version("torch-tb-profiler"),
        "seconds": end - begin,
        "parts": {"parse, process, analyze": parsed - begin, "views": end - parsed},
        "failed": {},
        "found": {"views": [view.display_name for view in profile.views], "steps": len(data.steps_names)},
    }
    Path(report).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
