"""What recording holds in memory over a long loop: the process's resident memory after every 100,000 steps.

The clock, the recorder and an event file of its own run as in a training, with a flush once at the end only.
Run it with: python -m tests.benchmarks.memory
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from typing import Any

import psutil

from tb_aiperf.callbacks.recorder import Recorder
from tb_aiperf.capture.stage_clock import StageClock
from tb_aiperf.capture.totals import StepTotals
from tb_aiperf.records import Attempt, new_attempt_id
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter


def measure(steps: int, flush_every: float) -> dict[str, Any]:
    """Resident megabytes above the start, after every 100,000 steps."""
    process = psutil.Process()
    above: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        sink = FolderSink(folder)
        attempt = Attempt(id=new_attempt_id(), loop="train", started_unix_ns=time.time_ns())
        totals = StepTotals(StageClock().stages)
        holder: list[Recorder] = []
        clock = StageClock(on_block=lambda block: holder[0].take_block(block))
        recorder = Recorder(
            clock.stages,
            steps=StepSeriesWriter(sink, attempt),
            resources=None,
            sampler=None,
            sample_every=1.0,
            flush_every=flush_every,
            on_rows=totals.update,
            on_failure=lambda error: print("failed:", repr(error)),
        )
        holder.append(recorder)
        stages = [clock.stage(key) for key in clock.stages[:10]]
        clock.begin()
        recorder.start(clock)
        gc.collect()
        start = process.memory_info().rss
        for step in range(steps):
            clock.cut(step, step, step, 0)
            for stage in stages:
                with stage:
                    pass
            if step % 100 == 0:
                time.sleep(0.001)  # a training's steps leave the recorder time to keep up
            if step % 100_000 == 99_999:
                gc.collect()
                above.append(round((process.memory_info().rss - start) / 1e6, 1))
        clock.end()
        recorder.close()
        return {"steps": totals.steps, "blocks_dropped": recorder.blocks_dropped, "megabytes_above_start": above}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--flush-every", type=float, default=1e9)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.steps, arguments.flush_every), indent=2))


if __name__ == "__main__":
    main()
