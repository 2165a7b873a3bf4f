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

import numpy as np

from tb_aiperf.records import STAGE_KEYS, Attempt, StepTable, new_attempt_id
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter
from tests.tensorboard_process import API, TensorBoard, has_data_server, tensorboard

#: Typical microseconds per stage; each varies lognormally by 10 %.
TYPICAL_US = {
    "data_wait": 8_000,
    "transfer": 400,
    "forward": 12_000,
    "backward": 25_000,
    "optimizer": 4_000,
    "lr_scheduler": 60,
    "callbacks": 500,
    "logging": 300,
    "other": 250,
}
#: Stages that come only every so many steps.
PERIODIC_US = {"validation": (1000, 900_000), "checkpoint": (5000, 400_000)}


def synthetic(steps: int, seed: int = 0) -> StepTable:
    """A training of `steps` steps with 13 stages, in nanoseconds."""
    random = np.random.default_rng(seed)
    durations = np.zeros((len(STAGE_KEYS), steps), np.int64)
    for key, typical in TYPICAL_US.items():
        durations[STAGE_KEYS.index(key)] = typical * 1000 * random.lognormal(0, 0.1, steps)
    for key, (period, typical) in PERIODIC_US.items():
        durations[STAGE_KEYS.index(key), period - 1 :: period] = typical * 1000
    step = np.arange(steps)
    return StepTable(
        stages=STAGE_KEYS,
        durations=durations,
        start=np.concatenate([[0], np.cumsum(durations.sum(axis=0))[:-1]]),
        step=step,
        global_step=step,
        batch=step % 1000,
        epoch=step // 1000,
        segment=np.zeros(steps, np.uint8),
    )


def write(folder: Path, table: StepTable) -> None:
    """Write a table as a training would, a block at a time."""
    attempt = Attempt(id=new_attempt_id(), loop="train", started_unix_ns=time.time_ns())
    sink = FolderSink(str(folder))
    writer = StepSeriesWriter(sink, attempt)
    for first in range(0, len(table), 512):
        writer.append(table.select(slice(first, first + 512)))
    writer.close()
    sink.close()


def answer_times(server: TensorBoard, repeats: int) -> list[tuple[float, int]]:
    """(milliseconds, bytes) of repeated requests for the whole run; the first is cold."""
    answers = []
    for _ in range(repeats):
        begin = time.perf_counter()
        body = server.get(f"{API}steps", run=".")
        answers.append(((time.perf_counter() - begin) * 1000, len(body)))
    return answers


def measure(steps: int) -> dict[str, Any]:
    """All figures."""
    result: dict[str, Any] = {"steps": steps}
    with tempfile.TemporaryDirectory() as root:
        logdir = Path(root) / "run"
        table = synthetic(steps)
        begin = time.perf_counter()
        write(logdir, table)
        result["write_us_per_step"] = (time.perf_counter() - begin) / steps * 1e6
        result["bytes_per_step"] = sum(path.stat().st_size for path in logdir.iterdir()) / steps
        for loader in ("true", "false"):
            if loader == "true" and not has_data_server():
                result["load_fast=true"] = "skipped: no data server on this platform"
                continue
            cold = []
            for _ in range(3):
                with tensorboard(logdir, f"--load_fast={loader}") as server:
                    begin = time.perf_counter()
                    server.wait_for_steps(steps)
                    loaded = time.perf_counter() - begin
                    answers = answer_times(server, 10)
                    cold.append(answers[0][0])
                    missing = set(range(steps)) - {
                        int(line.split(",", 3)[2])
                        for line in server.get(f"{API}steps.csv", run=".").decode().splitlines()[1:]
                    }
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
