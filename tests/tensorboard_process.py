"""A real TensorBoard in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

API = "data/plugin/tb_aiperf/api/v1/"
PATIENCE_S = 120


def has_data_server() -> bool:
    """Whether the fast loader can run here: some platforms have no data server."""
    try:
        from tensorboard_data_server import server_binary
    except ImportError:
        return False
    return server_binary() is not None


class TensorBoard:
    """A running TensorBoard; `root` ends in a slash."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, address: str, **query: object) -> tuple[bytes, str]:
        """Body, as sent over the wire, and content type of a GET below the root."""
        full = f"{self.root}{address}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(full, timeout=PATIENCE_S) as response:
            return response.read(), response.headers["Content-Type"]

    def get(self, address: str, **query: object) -> Any:
        """Body of a GET: decoded JSON, or text."""
        body, kind = self.read(address, **query)
        return json.loads(body) if "json" in kind else body.decode()

    def api(self, route: str, **query: object) -> Any:
        """Answer of one of the plugin's routes."""
        return self.get(API + route, **query)

    def await_true(self, condition: Callable[[], bool]) -> None:
        """Poll until the condition holds; what is not there yet counts as not yet."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                if condition():
                    return
            except (urllib.error.URLError, LookupError, ConnectionError):
                pass
            assert time.monotonic() < until, "TensorBoard did not show the data in time"
            time.sleep(0.1)

    def await_steps(self, steps: int) -> None:
        """Wait until every run there is shows that many steps in its first loop."""
        self.await_true(lambda: {run["loops"][0]["steps"] for run in self.api("runs")["runs"]} == {steps})


@contextmanager
def tensorboard(log: Path, *arguments: str) -> Iterator[TensorBoard]:
    """Start on a port that TensorBoard chooses itself, so that none is taken in between; its output goes to `log`."""
    command = [sys.executable, "-m", "tensorboard.main", "--port", "0", "--reload_interval", "1", *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"TensorBoard \S+ at (http://\S+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        root = found[1].replace("localhost", "127.0.0.1")
        yield TensorBoard(root if root.endswith("/") else f"{root}/")
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
