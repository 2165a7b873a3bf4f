"""Where an attempt's records go: the logger's own event file, else an own folder; the same answer on every rank."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import re
from dataclasses import dataclass
from typing import Any

from tb_aiperf.records import new_attempt_id

#: Rank 0 answers in the same hook; it may come to it later by as long as other callbacks' setup takes there.
RANK_0_ANSWERS_WITHIN = datetime.timedelta(seconds=60)


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


def summary_writer_of(logger: Any) -> Any:
    """The logger's SummaryWriter of torch or tensorboardX, or None. Lightning's stand-ins on other ranks are none."""
    try:
        experiment = logger.experiment
    except Exception:  # noqa: BLE001  a logger that has none, or whose server does not answer
        return None
    is_writer = any(base.__name__ == "SummaryWriter" for base in type(experiment).__mro__)
    return experiment if is_writer else None


def resolve_destination(trainer: Any, dirpath: str | None, own_folder: str | None) -> Destination:
    """Decide on rank 0 and tell the other ranks.

    dirpath     the user's choice of run folder, if any
    own_folder  the folder made for an earlier attempt of the same Trainer, to be used again
    Raises TimeoutError on a rank whose rank 0 says nothing.
    """
    rank = trainer.global_rank
    writer, folder, attempt, failure = None, None, new_attempt_id(), None
    if rank == 0:
        try:
            writer, folder = _choose(trainer, dirpath, own_folder)
        except Exception as error:  # noqa: BLE001  the other ranks wait for an answer
            failure = error
    if trainer.world_size > 1:
        folder, attempt = _agree(trainer, folder, attempt)
        if rank > 0 and folder is not None:
            folder = os.path.join(folder, f"rank_{rank}")
    if failure is not None:
        raise failure
    return Destination(folder, writer, attempt)


_agreements = itertools.count()


def _agree(trainer: Any, folder: str | None, attempt: str) -> tuple[str | None, str]:
    """Rank 0's folder and attempt, on every rank.

    Through the process group's key-value store rather than a collective: a rank on which the callback is missing or
    switched off then costs the others their records, not the training.
    """
    import torch.distributed as distributed

    key = f"tb_aiperf/{next(_agreements)}"
    if not (distributed.is_available() and distributed.is_initialized()):
        told: tuple[str | None, str] = trainer.strategy.broadcast((folder, attempt))
        return told
    store = distributed.distributed_c10d._get_default_store()
    if trainer.global_rank == 0:
        store.set(key, json.dumps([folder, attempt]))
        return folder, attempt
    try:
        store.wait([key], RANK_0_ANSWERS_WITHIN)
    except RuntimeError as error:
        raise TimeoutError(
            f"rank {trainer.global_rank} heard nothing from rank 0 within {RANK_0_ANSWERS_WITHIN.seconds} s: "
            "PerfMonitor must be on every rank (its argument ranks= chooses which of them record)"
        ) from error
    folder, attempt = json.loads(store.get(key))
    return folder, attempt


def _choose(trainer: Any, dirpath: str | None, own_folder: str | None) -> tuple[Any, str | None]:
    for logger in trainer.loggers:
        writer = summary_writer_of(logger)
        if writer is not None:
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
