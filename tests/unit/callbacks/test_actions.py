"""Names of Lightning's actions, past and present, and the stage of each."""

from __future__ import annotations

import pytest

from callbacks.actions import is_fetch, stage_of

CHECKPOINT = "ModelCheckpoint{'monitor': 'val.loss', 'mode': 'min'}"


@pytest.mark.parametrize(
    ("action", "stage"),
    [
        ("[_TrainingEpochLoop].train_dataloader_next", "data_wait"),
        ("[TrainingEpochLoop].train_dataloader_next", "data_wait"),
        ("[_EvaluationLoop].val_next", "data_wait"),
        ("[_EvaluationLoop].test_next", "data_wait"),
        ("[_PredictionLoop].predict_next", "data_wait"),
        ("[Strategy]DDPStrategy.batch_to_device", "transfer"),
        ("[LightningModule]Net.transfer_batch_to_device", "transfer"),
        ("[LightningDataModule]Data.on_after_batch_transfer", "transfer"),
        ("[Strategy]SingleDeviceStrategy.training_step", "forward"),
        ("[Strategy]SingleDeviceStrategy.predict_step", "forward"),
        ("[Strategy]SingleDeviceStrategy.backward", "backward"),
        ("[LightningModule]Net.optimizer_step", "optimizer"),
        ("[LightningModule]Net.optimizer_zero_grad", "optimizer"),
        ("[LightningModule]Net.configure_gradient_clipping", "optimizer"),
        ("optimizer_step", "optimizer"),
        ("[LightningModule]Net.lr_scheduler_step", "lr_scheduler"),
        ("[LightningModule]Net.on_train_batch_end", "callbacks"),
        ("[LightningModule]Net.train_dataloader", "loader_start"),
        ("[LightningDataModule]Data.setup", "callbacks"),
        ("[Callback]TQDMProgressBar.on_train_batch_end", "callbacks"),
        (f"[Callback]{CHECKPOINT}.on_train_batch_end", "checkpoint"),
        ("[Callback]EarlyStopping{'monitor': 'val.loss', 'mode': 'min'}.on_validation_end", "callbacks"),
        ("[Callback]Other.on_save_checkpoint", None),
        ("[LightningModule]Net.on_save_checkpoint", None),
        ("save_checkpoint", "checkpoint"),
        ("run_training_epoch", None),
        ("run_training_batch", None),
        ("[Strategy]DDPStrategy.on_train_batch_start", None),
        ("something that a user profiles", None),
        ("", None),
    ],
)
def test_stage_of_action(action: str, stage: str | None) -> None:
    assert stage_of(action, {CHECKPOINT}) == stage


def test_only_fetches_are_fetches() -> None:
    assert is_fetch("[_EvaluationLoop].val_next")
    assert not is_fetch("[Strategy]DDPStrategy.training_step")
