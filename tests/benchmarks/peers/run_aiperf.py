"""Runs `aiperf analyze` on a trace, in the project's environment; see `process.run` for what it writes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tb_aiperf import __version__, cli, terminal_profile, trace  # noqa: F401  # what the command imports when it runs


def main(path: str, report: str) -> None:
    """Print the report of the command, and write how long it took."""
    begin = time.perf_counter()
    cli.app(["analyze", path], standalone_mode=False)
    seconds = time.perf_counter() - begin
    Path(report).write_text(json.dumps({"version": __version__, "seconds": seconds, "failed": {}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
