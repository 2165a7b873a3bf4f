"""`aiperf demo`: a real training with a planted bottleneck, so that a newcomer has something true to look at."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

#: Seconds that reading one sample takes: a data set of small files on cold network storage.
READ_DELAY_S = 0.002
BATCH_SIZE = 32
EPOCHS = 6
#: Steps that torch.profiler records: early and late, so that two profiles can be compared.
PROFILED_STEPS = "30:35, 200:205"


class DemoError(Exception):
    """What keeps the demo from running, with the remedy."""


def train_demo(
    logdir: Path, *, epochs: int = EPOCHS, read_delay_s: float = READ_DELAY_S, progress: bool = True
) -> Path:
    """Train a small convolutional network on scikit-learn's digits with both callbacks.

    Returns the run's folder, `logdir/digits/version_<n>`. Raises DemoError where Lightning or scikit-learn is missing.
    """
    try:
        import lightning
        import torch
        from lightning.pytorch.callbacks import ModelCheckpoint
        from lightning.pytorch.loggers import TensorBoardLogger
        from sklearn.datasets import load_digits
        from torch import nn
        from torch.utils.data import DataLoader, Dataset
    except ImportError as error:
        raise DemoError(f"the demo trains a model and needs {error.name}. pip install 'tb_aiperf[demo]'") from error
    from tb_aiperf.callbacks import PerfMonitor, StepProfiler

    class SlowDigits(Dataset[Any]):
        """Digits read one by one, each with the delay of a slow disk. images [n, 1, 8, 8], labels [n]."""

        def __init__(self, images: Tensor, labels: Tensor) -> None:
            self.images = images
            self.labels = labels

        def __len__(self) -> int:
            return len(self.labels)

        def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
            time.sleep(read_delay_s)
            return self.images[index], self.labels[index]

    class DigitClassifier(lightning.LightningModule):
        """Two convolutions and a linear layer."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(1, 32, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(64 * 4 * 4, 10),
            )

        def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
            images, labels = batch
            loss = nn.functional.cross_entropy(self.layers(images), labels)
            self.log("train/loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> None:
            images, labels = batch
            accuracy = (self.layers(images).argmax(dim=1) == labels).float().mean()
            self.log("val/accuracy", accuracy, prog_bar=True)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=2e-3)

    lightning.seed_everything(0, verbose=False)
    torch.set_num_threads(1)  # the network is too small to share out, and threads of a busy machine wait for each other
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target, dtype=torch.int64)
    order = torch.randperm(len(labels))
    held_out = len(labels) // 5
    train_rows, val_rows = order[held_out:], order[:held_out]

    with warnings.catch_warnings():
        # The planted loader has no workers, and the demo says so itself.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
        logger = TensorBoardLogger(str(logdir), name="digits")
        trainer = lightning.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            devices=1,
            logger=logger,
            log_every_n_steps=10,
            enable_progress_bar=progress,
            enable_model_summary=False,
            callbacks=[
                PerfMonitor(),
                StepProfiler(PROFILED_STEPS, record_shapes=True, profile_memory=True, on_demand=False),
                ModelCheckpoint(monitor="val/accuracy", mode="max"),
            ],
        )
        trainer.fit(
            DigitClassifier(),
            DataLoader(SlowDigits(images[train_rows], labels[train_rows]), batch_size=BATCH_SIZE, shuffle=True),
            DataLoader(SlowDigits(images[val_rows], labels[val_rows]), batch_size=128),
        )
    return Path(logger.log_dir)


def serve(logdir: Path) -> int:
    """Run TensorBoard on `logdir` until it is interrupted; returns its exit code."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir)]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 0
