"""Sleeps planted in every stage of a real training, and what the stages say.

Printed per stage: the sleep asked for, the sleep as it really was (by the sleeper's own clock), and what the stage
holds more than in the same training without sleeps; medians over the steps in milliseconds.
Run it with: python -m tests.benchmarks.planted_sleeps
"""

from __future__ import annotations

import json
import logging
import statistics
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from tb_aiperf.records import StepTable
from tests.integration import trainings as t

#: Stage -> milliseconds; data_wait is per sample, four samples a batch.
SLEEPS = {
    "data_wait": 1,
    "transfer": 2,
    "forward": 5,
    "backward": 10,
    "optimizer": 20,
    "lr_scheduler": 1,
    "callbacks": 8,
    "profiler": 3,
    "logging": 4,
    "validation": 6,
    "checkpoint": 15,
}


class SleepyIO(TorchCheckpointIO):
    """Writes checkpoints slowly."""

    def save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        t.CLOCK.pass_ms(SLEEPS["checkpoint"])


def train(steps: int, sleep_ms: Callable[[int], None]) -> StepTable:
    """A training that sleeps in every stage; its rows."""
    t.CLOCK.pass_ms = sleep_ms  # type: ignore[method-assign]
    monitor = t.CollectingMonitor(planted=False)
    with tempfile.TemporaryDirectory() as folder:
        delays = ("transfer", "forward", "backward", "optimizer", "lr_scheduler", "validation")
        Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=t.SlowLogger(SLEEPS["logging"]),
            default_root_dir=folder,
            profiler=t.SlowProfiler(SLEEPS["profiler"]),
            plugins=[SleepyIO()],
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            val_check_interval=10,
            callbacks=[
                monitor,
                t.SlowHook("on_train_batch_end", SLEEPS["callbacks"]),
                ModelCheckpoint(dirpath=Path(folder), every_n_train_steps=5, save_top_k=-1),
            ],
        ).fit(
            t.Model(**{key: SLEEPS[key] for key in delays}),
            t.loader(4 * steps, delay=SLEEPS["data_wait"]),
            t.loader(4),
        )
    table = monitor.table()
    t.check_exact(table)
    return table


def measure(steps: int = 50) -> dict[str, dict[str, float]]:
    """Asked, slept and found milliseconds per stage."""
    slept: dict[int, list[float]] = defaultdict(list)

    def sleep_ms(milliseconds: int) -> None:
        if milliseconds:
            begin = time.perf_counter()
            time.sleep(milliseconds / 1000)
            slept[milliseconds].append((time.perf_counter() - begin) * 1000)

    control, table = train(steps, lambda milliseconds: None), train(steps, sleep_ms)
    answer = {}
    for stage, asked in SLEEPS.items():
        # Validation and checkpoints come every tenth and every fifth step; a batch of validation is transferred too.
        rows = {"validation": slice(9, None, 10), "checkpoint": slice(4, None, 5)}.get(stage, slice(None))
        found, own = (statistics.median(t.stage_ms(each, stage)[rows]) for each in (table, control))
        times = {"data_wait": 4}.get(stage, 1)
        extra = statistics.median(slept[SLEEPS["transfer"]]) if stage == "validation" else 0.0
        answer[stage] = {
            "asked_ms": asked * times,
            "slept_ms": round(statistics.median(slept[asked]) * times, 3),
            "found_ms": round(found - own - extra, 3),
        }
    return answer


def main() -> None:
    """Print the figures as JSON."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    print(json.dumps(measure(), indent=2))


if __name__ == "__main__":
    main()
