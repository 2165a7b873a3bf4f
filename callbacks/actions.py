"""Which stage each of Lightning's profiler actions belongs to.

Lightning wraps every hook and step in ``trainer.profiler.profile(name)``. The names differ between versions, so an
unknown name inherits the stage around it: at worst its time moves to the surrounding stage, never gets lost.
"""

from __future__ import annotations

from collections.abc import Collection

_TRANSFER_HOOKS = frozenset({"on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer"})
_DATALOADER_HOOKS = frozenset({"train_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader"})
_CHECKPOINT_HOOKS = frozenset({"on_save_checkpoint", "on_load_checkpoint"})

_MODULE_STAGES = {
    "optimizer_step": "optimizer",
    "optimizer_zero_grad": "optimizer",
    "configure_gradient_clipping": "optimizer",
    "lr_scheduler_step": "lr_scheduler",
    # Lightning calls these three around its validation loop, outside of it.
    "on_validation_model_zero_grad": "validation",
    "on_validation_model_eval": "validation",
    "on_validation_model_train": "validation",
    **dict.fromkeys(_TRANSFER_HOOKS, "transfer"),
    **dict.fromkeys(_DATALOADER_HOOKS, "loader_start"),
}

_STRATEGY_STAGES = {
    "training_step": "forward",
    "validation_step": "forward",
    "test_step": "forward",
    "predict_step": "forward",
    "backward": "backward",
    "batch_to_device": "transfer",
}

_PLAIN_STAGES = {
    "save_checkpoint": "checkpoint",
    "optimizer_step": "optimizer",  # manual optimisation
}

#: Inside validation only these leave the stage `validation`.
VALIDATION_KEEPS_OUT = frozenset({"checkpoint", "logging", "profiler"})


def is_lightnings(action: str) -> bool:
    """Whether Lightning itself profiles the action; other names are a user's own."""
    return action.startswith(("[", "run_training_")) or action in _PLAIN_STAGES


def is_fetch(action: str) -> bool:
    """Whether the action is a loop asking its loader for the next batch."""
    return "Loop]." in action and action.startswith("[") and action.endswith("_next")


def stage_of(action: str, checkpoint_keys: Collection[str] = ()) -> str | None:
    """Stage of an action, or None where it belongs to the stage around it.

    checkpoint_keys: `state_key` of the callbacks whose work is writing checkpoints.
    """
    if is_fetch(action):
        return "data_wait"
    if action in _PLAIN_STAGES:
        return _PLAIN_STAGES[action]
    kind, closed, rest = action.partition("]")
    if not closed:
        return None
    owner, _, hook = rest.rpartition(".")  # a callback's state key may hold dots itself
    if hook in _CHECKPOINT_HOOKS:
        return None
    if kind == "[Callback":
        return "checkpoint" if owner in checkpoint_keys else "callbacks"
    if kind in ("[LightningModule", "[LightningDataModule"):
        return _MODULE_STAGES.get(hook, "callbacks")
    if kind == "[Strategy":
        return _STRATEGY_STAGES.get(hook)
    return None
