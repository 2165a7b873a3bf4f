"""What profiling windows cost a training: ``python -m tests.benchmarks.step_profiler [--pairs N] [--windows N]``.

after      unprofiled steps behind a window against the same steps of a training without one; the trainings alternate
hold       how long the training thread is held when a window ends, against stopping and exporting in a plain loop
memory     resident memory over many windows of one training
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import psutil
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

from tb_aiperf.callbacks import StepProfiler
from tb_aiperf.callbacks.measurement import Measurement

_STEPS = 600
_WINDOW = (200, 220)


class Net(LightningModule):
    """Some hundred operators a step."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(64, 64) for _ in range(20)])
        self.moments: list[int] = []
        self.resident: list[int] = []

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        self.moments.append(time.perf_counter_ns())
        if batch_idx % 20 == 0:
            self.resident.append(psutil.Process().memory_info().rss)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        return self.layers(batch[0]).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), foreach=False)


class Held(StepProfiler):
    """Notes how long each window's end took."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, verbose=False, on_demand=False, **kwargs)
        self.held_ns: list[int] = []

    def _begin(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        super()._begin(measurement, trainer, pl_module)
        driver = self._driver
        assert driver is not None
        end = driver._end_window

        def timed() -> None:
            recording = driver._window is not None
            started = time.perf_counter_ns()
            end()
            if recording:
                self.held_ns.append(time.perf_counter_ns() - started)

        driver._end_window = timed  # type: ignore[method-assign]


def train(folder: str, callback: StepProfiler | None, steps: int) -> Net:
    """One training of `steps` steps."""
    net = Net()
    Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[] if callback is None else [callback],
    ).fit(net, DataLoader(TensorDataset(torch.randn(steps * 8, 64)), batch_size=8))
    return net


def steps_after_us(net: Net) -> float:
    """Median step time behind the window, its reading in another process left time to end."""
    gaps = [later - earlier for earlier, later in zip(net.moments, net.moments[1:], strict=False)]
    return statistics.median(gaps[_WINDOW[1] + 100 :]) / 1000


def stop_and_export_ms(folder: str) -> tuple[float, float]:
    """Milliseconds of stopping torch.profiler and of exporting as many such steps, with nothing of ours."""
    net = Net()
    optimizer = net.configure_optimizers()
    data = torch.randn(8, 64)

    def step() -> None:
        optimizer.zero_grad()
        net.training_step([data], 0).backward()
        optimizer.step()

    for _ in range(20):
        step()
    session = profile(activities=[ProfilerActivity.CPU])
    session.start()
    for _ in range(*_WINDOW):
        step()
    started = time.perf_counter()
    session.stop()
    stopped = time.perf_counter()
    session.export_chrome_trace(os.path.join(folder, "plain.json"))
    return (stopped - started) * 1e3, (time.perf_counter() - stopped) * 1e3


def measure(pairs: int, windows: int) -> dict[str, Any]:
    """All figures."""
    differences, held, stops, exports = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            callback = Held([list(_WINDOW)], dirpath=Path(folder) / str(pair))
            profiled = steps_after_us(train(folder, callback, _STEPS))
            plain = steps_after_us(train(folder, None, _STEPS))
            differences.append(profiled / plain - 1)
            held += [ns / 1e6 for ns in callback.held_ns]
            stop, export = stop_and_export_ms(folder)
            stops.append(stop)
            exports.append(export)
        net = train(folder, Held(every_n_steps=20, active=3, dirpath=Path(folder) / "many"), 20 * windows + 20)
    third = len(net.resident) // 3
    return {
        "pairs": pairs,
        "after": {"median_change": statistics.median(differences), "each": [round(each, 4) for each in differences]},
        "hold": {
            "held_ms": statistics.median(held),
            "stop_ms": statistics.median(stops),
            "export_ms": statistics.median(exports),
            "held_over_stop_and_export": statistics.median(held)
            / (statistics.median(stops) + statistics.median(exports)),
        },
        "memory": {
            "windows": windows,
            "resident_mb_first_third": max(net.resident[:third]) / 1e6,
            "resident_mb_last_third": max(net.resident[-third:]) / 1e6,
        },
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--windows", type=int, default=50)
    arguments = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("tb_aiperf").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print(json.dumps(measure(arguments.pairs, arguments.windows), indent=2))


if __name__ == "__main__":
    main()
