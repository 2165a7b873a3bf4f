"""What an event is, by the category and the name that the profiler gave it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

import numpy as np

from tb_aiperf.trace.table import BoolArray, Names


class Kind(Enum):
    """Where an event goes; INSTANT and IGNORED are also where whole phases go."""

    OPERATOR = "operator"
    ANNOTATION = "annotation"
    RUNTIME = "runtime"
    KERNEL = "kernel"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    PYTHON = "python"
    OVERHEAD = "overhead"
    INSTANT = "instant"
    LEGACY = "legacy"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


#: Lower-case category -> kind. ``gpu_user_annotation`` repeats host marks on the device's clock: never host time.
_KINDS = {
    "cpu_op": Kind.OPERATOR,
    "operator": Kind.OPERATOR,
    "user_annotation": Kind.ANNOTATION,
    "runtime": Kind.RUNTIME,
    "driver": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "python_function": Kind.PYTHON,
    "gpu_user_annotation": Kind.IGNORED,
    "trace": Kind.IGNORED,
    "overhead": Kind.OVERHEAD,
    "cuda_sync": Kind.IGNORED,
    "": Kind.LEGACY,
}


def kind_of(category: str) -> Kind:
    """The kind of a category in any letter case."""
    category = category.lower()
    if category.endswith(("_runtime", "_driver")):
        return Kind.RUNTIME
    return _KINDS.get(category, Kind.UNKNOWN)


STEP_MARK = re.compile(r"ProfilerStep#(\d{1,18})", re.ASCII)
DATA_LOADING = re.compile(r"enumerate\((?:DataLoader|DataPipe)\)#")
COLLECTIVE_KERNEL = re.compile(r"nccl|rccl|oneccl|mccl", re.IGNORECASE)
#: A collective that runs on the host, by its range there.
HOST_COLLECTIVE = re.compile(r"(?:gloo|mpi|ucc):")
#: A host range inside which a collective is issued or awaited, whatever the backend.
COLLECTIVE_CALL = re.compile(r"(?:gloo|mpi|ucc|nccl|xccl|c10d):")
#: Calls that block the host until the device has caught up.
SYNCHRONISATION = re.compile(r"(?:cuda|hip|cu|xpu|ze)\w*Synchronize|(?:cuda|hip|cu)Memcpy(?!.*Async)\w*", re.IGNORECASE)


def name_mask(names: Sequence[str], pattern: re.Pattern[str], *, anywhere: bool = False) -> BoolArray:
    """[len(names)] whether each name matches `pattern` at its start, or `anywhere`.

    Index it with a table's name column: each distinct name is matched once, however many events carry it, and asked
    once, however often this is called with the same `Names`.
    """
    masks = names.masks if isinstance(names, Names) else {}
    question = pattern, anywhere
    if question not in masks:
        test = pattern.search if anywhere else pattern.match
        masks[question] = np.fromiter((test(name) is not None for name in names), np.bool_, len(names))
        masks[question].setflags(write=False)
    return masks[question]
