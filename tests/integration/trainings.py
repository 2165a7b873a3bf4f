"""Small real trainings with planted delays on a clock of their own, so that every figure is exact."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule
from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.profilers import Profiler
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from tb_aiperf.callbacks import PerfMonitor
from tb_aiperf.records import STEP_ROW, StepTable

MS = 1_000_000


class PlantedClock:
    """A clock that moves only where a delay is planted."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def pass_ms(self, milliseconds: int) -> None:
        self.now += milliseconds * MS


CLOCK = PlantedClock()


class CollectingMonitor(PerfMonitor):
    """Keeps all rows of all attempts. Not planted: the real clock."""

    def __init__(self, *, planted: bool = True, **kwargs: Any) -> None:
        super().__init__(verbose=False, resources=False, **kwargs)
        self.tables: list[list[StepTable]] = []
        self.lock = threading.Lock()
        if planted:
            self._timer = CLOCK

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.tables.append([])
        super().setup(trainer, pl_module, stage)

    def on_rows(self, table: StepTable) -> None:
        with self.lock:
            self.tables[-1].append(table)

    def table(self, attempt: int = -1) -> StepTable:
        return StepTable.concatenate(self.tables[attempt])


def check_exact(table: StepTable) -> None:
    """Rows are contiguous from 0 and each row's stages sum to its wall-clock, to the nanosecond."""
    ends = np.append(table.start[1:], table.start[-1] + table.wall[-1])
    np.testing.assert_array_equal(table.durations.sum(axis=0), ends - table.start)
    assert table.start[0] == 0
    assert table.durations.min() >= 0


def stage_ms(table: StepTable, stage: str, steps: bool = True) -> list[float]:
    """Milliseconds of a stage in each step (or in each segment)."""
    rows = table.select((table.segment == STEP_ROW) == steps)
    return [int(value) / MS for value in rows.durations[rows.stages.index(stage)]]


class Rows(Dataset[Tensor]):
    def __init__(self, length: int = 40, delay: int = 0) -> None:
        self.length = length
        self.delay = delay

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        CLOCK.pass_ms(self.delay)
        return torch.full((4,), float(index % 7))


class Stream(IterableDataset[Tensor]):
    def __init__(self, length: int = 40, delay: int = 0) -> None:
        self.length = length
        self.delay = delay

    def __iter__(self) -> Iterator[Tensor]:
        for index in range(self.length):
            CLOCK.pass_ms(self.delay)
            yield torch.full((4,), float(index % 7))


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, delay: int) -> Tensor:
        ctx.delay = delay
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        CLOCK.pass_ms(ctx.delay)
        return gradient, None


class SlowSGD(torch.optim.SGD):
    delay = 0

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        CLOCK.pass_ms(self.delay)
        return loss


class SlowSchedule(torch.optim.lr_scheduler.LambdaLR):
    delay = 0

    def step(self, epoch: Any = None) -> None:
        CLOCK.pass_ms(self.delay)
        super().step()


class SlowLogger(Logger):
    def __init__(self, delay: int) -> None:
        super().__init__()
        self.delay = delay

    @property
    def name(self) -> str:
        return "slow"

    @property
    def version(self) -> int:
        return 0

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        pass

    def log_metrics(self, metrics: Any, step: Any = None) -> None:
        CLOCK.pass_ms(self.delay)


class SlowProfiler(Profiler):
    """A user's own profiler that takes its time in one action."""

    def __init__(self, delay: int) -> None:
        super().__init__()
        self.delay = delay
        self.started: list[str] = []

    def start(self, action_name: str) -> None:
        self.started.append(action_name)
        if action_name == "run_training_batch":
            CLOCK.pass_ms(self.delay)

    def stop(self, action_name: str) -> None:
        pass


class SlowHook(Callback):
    def __init__(self, hook: str, delay: int) -> None:
        def slow(*_: Any, **__: Any) -> None:
            CLOCK.pass_ms(delay)

        setattr(self, hook, slow)


class Model(LightningModule):
    """One linear layer; every delay in milliseconds."""

    def __init__(self, **delays: int) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.delays = delays

    def pass_delay(self, name: str) -> None:
        CLOCK.pass_ms(self.delays.get(name, 0))

    def loss(self, batch: Any) -> Tensor:
        self.pass_delay("forward")
        if isinstance(batch, dict):
            batch = torch.cat(list(batch.values()))
        output = self.layer(batch).square().mean()
        return SlowBackward.apply(output, self.delays.get("backward", 0))

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        self.pass_delay("transfer")
        return batch

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.pass_delay("validation")
        self.log("val_loss", self.layer(batch).square().mean())

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.pass_delay("forward")

    def predict_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.pass_delay("forward")
        return self.layer(batch)

    def configure_optimizers(self) -> Any:
        optimizer = SlowSGD(self.parameters(), lr=1e-3)
        optimizer.delay = self.delays.get("optimizer", 0)
        schedule = SlowSchedule(optimizer, lambda step: 1.0)
        schedule.delay = self.delays.get("lr_scheduler", 0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class ManualModel(Model):
    """Manual optimisation with two optimizers, the second without Lightning's wrapper."""

    def __init__(self, **delays: int) -> None:
        super().__init__(**delays)
        self.automatic_optimization = False
        self.second = nn.Linear(4, 1)

    def training_step(self, batch: Any, batch_idx: int) -> None:
        first, _ = self.optimizers()
        _, bare = self.optimizers(use_pl_optimizer=False)
        for optimizer in (first, bare):
            optimizer.zero_grad()
            self.manual_backward(self.loss(batch) + self.second(batch).sum())
            optimizer.step()

    def configure_optimizers(self) -> Any:
        optimizers = [SlowSGD(self.layer.parameters(), lr=1e-3), SlowSGD(self.second.parameters(), lr=1e-3)]
        for optimizer in optimizers:
            optimizer.delay = self.delays.get("optimizer", 0)
        return optimizers


class LBFGSModel(Model):
    """Each step calls its closure several times."""

    def configure_optimizers(self) -> Any:
        return torch.optim.LBFGS(self.parameters(), lr=1e-3, max_iter=3)


class IteratorModel(Model):
    """Fetches its batches itself."""

    def training_step(self, dataloader_iter: Any) -> Tensor:  # type: ignore[override]
        batch, _, _ = next(dataloader_iter)
        return self.loss(batch)


def loader(length: int = 40, delay: int = 0, batch_size: int = 4, **kwargs: Any) -> DataLoader[Tensor]:
    return DataLoader(Rows(length, delay), batch_size=batch_size, **kwargs)


def stream(length: int = 40, delay: int = 0, batch_size: int = 4) -> DataLoader[Tensor]:
    return DataLoader(Stream(length, delay), batch_size=batch_size)
