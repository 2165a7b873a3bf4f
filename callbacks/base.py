"""The base class of the callbacks: Lightning's own, from whichever of its two packages are installed.

`lightning.pytorch` and `pytorch_lightning` are distinct class trees, and a Trainer of one refuses a callback of the
other. A class that inherits from both is accepted by both.
"""

from __future__ import annotations

import importlib
from typing import Any


def _callback_bases() -> tuple[type[Any], ...]:
    bases: list[type[Any]] = []
    for package in ("lightning.pytorch", "pytorch_lightning"):
        try:
            bases.append(importlib.import_module(package).Callback)
        except ImportError:
            continue
    if not bases:
        raise ImportError(
            "tb_aiperf.callbacks needs Lightning, and neither 'lightning' nor 'pytorch_lightning' can be imported. "
            "Install it with: pip install 'tb_aiperf[lightning]'"
        )
    return tuple(bases)


#: A class; typed as Any since its bases are known at run time only.
LightningCallback: Any = type("LightningCallback", _callback_bases(), {"__doc__": "Base of tb_aiperf's callbacks."})

#: Hooks that Lightning calls in every batch.
_BATCH_HOOKS = (
    "on_train_batch_start",
    "on_train_batch_end",
    "on_before_zero_grad",
    "on_before_backward",
    "on_after_backward",
    "on_before_optimizer_step",
    "on_validation_batch_start",
    "on_validation_batch_end",
    "on_test_batch_start",
    "on_test_batch_end",
    "on_predict_batch_start",
    "on_predict_batch_end",
)


def hide_empty_hooks(callback: Any) -> list[str]:
    """Set the per-batch hooks that `callback`'s class leaves empty to None on the instance; returns their names.

    Lightning enters a profiler action for each hook of each callback, some 4 µs for nothing, and passes over a hook
    that is not callable. `show_hooks` undoes it.
    """
    hidden = [
        name
        for name in _BATCH_HOOKS
        if name not in vars(callback) and getattr(type(callback), name) is getattr(LightningCallback, name)
    ]
    for name in hidden:
        setattr(callback, name, None)
    return hidden


def show_hooks(callback: Any, hidden: list[str]) -> None:
    """Undo `hide_empty_hooks`."""
    for name in hidden:
        vars(callback).pop(name, None)
    hidden.clear()
