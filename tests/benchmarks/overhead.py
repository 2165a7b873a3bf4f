"""What the tap adds to a step of a bare Trainer, and what `profiler="advanced"` adds, in one run.

The trainings alternate, so that a noisy machine hits all alike. Printed: the median over the pairs of the difference
between the median step times. Run it with: python -m tests.benchmarks.overhead
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import time
import warnings
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tb_aiperf.callbacks import PerfMonitor


class Tiny(LightningModule):
    """As little work as a training can do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.moments: list[int] = []

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        self.moments.append(time.perf_counter_ns())

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        return self.layer(batch[0]).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def median_step_us(steps: int, callbacks: list[Any], profiler: str | None) -> float:
    """Median step time of one training in microseconds, the first 100 steps left out."""
    model = Tiny()
    Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
        profiler=profiler,
    ).fit(model, DataLoader(TensorDataset(torch.randn(steps, 4)), batch_size=1))
    gaps = [later - earlier for earlier, later in zip(model.moments[100:], model.moments[101:], strict=False)]
    return statistics.median(gaps) / 1000


def measure(steps: int, pairs: int) -> dict[str, Any]:
    """Median paired differences to the bare Trainer in microseconds per step."""
    import tempfile

    bare, added, advanced = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(pairs):
            bare.append(median_step_us(steps, [], None))
            monitor = PerfMonitor(dirpath=f"{folder}/{len(bare)}", verbose=False)
            added.append(median_step_us(steps, [monitor], None) - bare[-1])
            advanced.append(median_step_us(steps // 4, [], "advanced") - bare[-1])
    return {
        "pairs": pairs,
        "bare_step_us": statistics.median(bare),
        "perf_monitor_adds_us": statistics.median(added),
        "profiler_advanced_adds_us": statistics.median(advanced),
        "each_pair_us": [round(value, 1) for value in added],
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=9)
    arguments = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print(json.dumps(measure(arguments.steps, arguments.pairs), indent=2))


if __name__ == "__main__":
    main()
