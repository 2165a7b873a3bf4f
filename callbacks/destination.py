"""Where an attempt's records go: the logger's own event file, else an own folder; the same answer on every rank."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from tb_aiperf.records import new_attempt_id


@dataclass(frozen=True, slots=True)
class Destination:
    """The run folder of one rank.

    folder   where the event file lies, or None: nothing is written
    writer   the SummaryWriter to write through; None: an own writer in `folder`
    attempt  the attempt's id, the same on every rank
    """

    folder: str | None
    writer: Any
    attempt: str


def is_summary_writer(candidate: Any) -> bool:
    """Whether this is torch's or tensorboardX's SummaryWriter. Lightning's stand-ins on other ranks are not."""
    return any(base.__name__ == "SummaryWriter" for base in type(candidate).__mro__)


def resolve_destination(trainer: Any, dirpath: str | None, own_folder: str | None) -> Destination:
    """Decide on rank 0 and tell all ranks: one broadcast, so every rank must call this.

    dirpath     the user's choice of run folder, if any
    own_folder  the folder made for an earlier attempt of this callback, to be used again
    """
    rank = trainer.global_rank
    writer, folder = None, None
    if rank == 0:
        writer, folder = _choose(trainer, dirpath, own_folder)
    if trainer.world_size > 1:
        folder, attempt = trainer.strategy.broadcast((folder, new_attempt_id()))
        if rank > 0 and folder is not None:
            folder = os.path.join(folder, f"rank_{rank}")
    else:
        attempt = new_attempt_id()
    return Destination(folder, writer, attempt)


def _choose(trainer: Any, dirpath: str | None, own_folder: str | None) -> tuple[Any, str | None]:
    for logger in trainer.loggers:
        writer: Any = getattr(logger, "experiment", None)
        if is_summary_writer(writer):
            folder = str(writer.log_dir if hasattr(writer, "log_dir") else writer.logdir)
            if dirpath is None or os.path.abspath(dirpath) == os.path.abspath(folder):
                return writer, folder
    if dirpath is not None:
        return None, dirpath
    if trainer.fast_dev_run:
        return None, None  # Lightning promises that such a run leaves no files
    if own_folder is not None:
        return None, own_folder
    root = trainer.default_root_dir
    if trainer.loggers:
        first = trainer.loggers[0]
        versioned = getattr(first, "log_dir", None)
        if isinstance(versioned, str):
            return None, versioned
        root = first.save_dir or root
    return None, _next_version(os.path.join(str(root), "tb_aiperf"))


def _next_version(root: str) -> str:
    """The first free `version_<n>` below `root`, as Lightning counts them: every training is a run of its own."""
    taken = [-1]
    if os.path.isdir(root):
        taken += [int(match[1]) for name in os.listdir(root) if (match := re.fullmatch(r"version_(\d+)", name))]
    return os.path.join(root, f"version_{max(taken) + 1}")
