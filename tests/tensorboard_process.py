"""A real TensorBoard in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

API = "data/plugin/tb_aiperf/api/v1/"


def has_data_server() -> bool:
    """Whether the fast loader can run here: some platforms have no data server."""
    try:
        from tensorboard_data_server import server_binary
    except ImportError:
        return False
    return server_binary() is not None


class TensorBoard:
    """Base address and answers of a running TensorBoard."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **parameters: Any) -> bytes:
        """Body of a GET below the base address."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        with urllib.request.urlopen(f"{self.url}/{path}{query}", timeout=60) as answer:
            return bytes(answer.read())

    def api(self, route: str, **parameters: Any) -> Any:
        """Answer of one of the plugin's routes."""
        return json.loads(self.get(API + route, **parameters))

    def wait_for(self, condition: Callable[[], Any], timeout: float = 60.0) -> Any:
        """The first true value of `condition`, polled; errors while starting count as not yet."""
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, KeyError, IndexError):
                if value := condition():
                    return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"TensorBoard at {self.url} did not get there within {timeout} s")
            time.sleep(0.1)

    def wait_for_steps(self, steps: int, timeout: float = 120.0) -> None:
        """Wait until the first run's first loop has that many steps."""
        self.wait_for(lambda: self.api("runs")["runs"][0]["loops"][0]["steps"] >= steps, timeout)


@contextlib.contextmanager
def tensorboard(logdir: Path, *arguments: str) -> Iterator[TensorBoard]:
    """TensorBoard on `logdir` with its default flags and the given ones, on a free port."""
    log = logdir.parent / f"{logdir.name}.tensorboard.log"
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        f"--logdir={logdir}",
        "--port=0",
        "--host=127.0.0.1",
        *arguments,
    ]
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while not (found := [word for word in log.read_text().split() if word.startswith("http://")]):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"TensorBoard did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        server = TensorBoard(found[0].rstrip("/"))
        server.wait_for(lambda: server.get("data/plugins_listing"))
        yield server
    finally:
        process.terminate()
        process.wait(20)
