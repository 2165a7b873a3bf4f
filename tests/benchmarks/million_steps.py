"""One million steps: size on disk, and what TensorBoard with default flags makes of them in either loader.

Printed: bytes per step, the time to write one, and per loader whether every step arrived, the time of the `steps`
answer for the whole run (first and later requests) and its size.
Run it with: python -m tests.benchmarks.million_steps
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.tensorboard_process import API, TensorBoard, has_data_server, tensorboard
from tests.unit.storage.series import attempt, noisy, write_run


def answer_times(server: TensorBoard, repeats: int) -> list[tuple[float, int]]:
    """(milliseconds, bytes) of repeated requests for the whole run; the first is cold."""
    answers = []
    for _ in range(repeats):
        begin = time.perf_counter()
        body, _ = server.read(f"{API}steps", run=".")
        answers.append(((time.perf_counter() - begin) * 1000, len(body)))
    return answers


def measure(steps: int) -> dict[str, Any]:
    """All figures."""
    result: dict[str, Any] = {"steps": steps}
    with tempfile.TemporaryDirectory() as root:
        logdir = Path(root) / "run"
        table = noisy(steps)
        begin = time.perf_counter()
        write_run(logdir, (attempt(), table))
        result["write_us_per_step"] = (time.perf_counter() - begin) / steps * 1e6
        result["bytes_per_step"] = sum(path.stat().st_size for path in logdir.iterdir()) / steps
        for loader in ("true", "false"):
            if loader == "true" and not has_data_server():
                result["load_fast=true"] = "skipped: no data server on this platform"
                continue
            cold = []
            for _ in range(3):
                log = Path(root) / "tensorboard.log"
                with tensorboard(log, "--logdir", str(logdir), "--load_fast", loader) as server:
                    begin = time.perf_counter()
                    server.await_steps(steps)
                    loaded = time.perf_counter() - begin
                    answers = answer_times(server, 10)
                    cold.append(answers[0][0])
                    lines = server.api("steps.csv", run=".").splitlines()[1:]
                    missing = set(range(steps)) - {int(line.split(",", 3)[2]) for line in lines}
            result[f"load_fast={loader}"] = {
                "steps_missing": len(missing),
                "until_loaded_s": loaded,
                "cold_ms": cold,
                "warm_ms_min": min(milliseconds for milliseconds, _ in answers[1:]),
                "bytes": answers[0][1],
            }
    return result


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    print(json.dumps(measure(parser.parse_args().steps), indent=2))


if __name__ == "__main__":
    main()
