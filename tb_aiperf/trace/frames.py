"""Which Python frames tell a person where in the program something happens."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tb_aiperf.trace.table import BoolArray

#: As the profiler names the frame of a function. Built-ins and modules (``nn.Module: Linear_3``) have other forms.
_FRAME = re.compile(r"(?P<file>.+)\(\d+\): (?P<function>.+)")
#: What the profiler leaves in front of a library's folder where the library is not on the program's path.
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/|.*/lib/python3\.\d+/")

#: Rules of a library, by the beginning of its files: what of it is shown, as file and function. Of torch that is what a
#: program calls by name; of Lightning where it is the cause itself (logging, callbacks, moving a batch).
_SHOWN = {
    "torch/": re.compile(
        r"torch/nn/(?!parallel/|modules/module\.py|modules/lazy\.py).*"
        r"|torch/optim/(?!optimizer\.py).*"
        r"|torch/optim/optimizer\.py (?:step|zero_grad)"
        r"|torch/_tensor\.py (?!__torch_function__|_\w+$|wrapped$).*"
        r"|torch/functional\.py .*"
        r"|torch/(?:cuda/)?amp/grad_scaler\.py (?!_).*"
        r"|torch/(?:cuda|xpu|hip)/__init__\.py (?!_|<).*"
        r"|torch/distributed/distributed_c10d\.py .*"
        r"|torch/utils/checkpoint\.py (?:checkpoint|recompute_fn)"
        r"|torch/utils/data/.*"
    ),
    **dict.fromkeys(
        ("lightning/", "pytorch_lightning/", "lightning_fabric/", "lightning_utilities/"),
        re.compile(
            r"\w+/(?:pytorch/)?(?:callbacks/|loggers/|trainer/connectors/logger_connector/).*"
            r"|\w+/(?:pytorch/)?core/(?:hooks|module)\.py (?!_|backward|optimizer_step).*"
            r"|\w+/(?:pytorch/)?trainer/trainer\.py (?:fit|validate|test|predict)"
        ),
    ),
}
#: Parts of the standard library that only call on.
_PLUMBING = (
    "abc.py", "asyncio/", "concurrent/", "contextlib.py", "dataclasses.py", "functools.py", "importlib/",
    "multiprocessing/", "runpy.py", "threading.py", "weakref.py", "<frozen ", "<string>",
)  # fmt: skip
#: Functions of libraries above that only call on.
_WRAPPERS = re.compile(r"wrapper|inner|_fn|_no_grad_wrapper|decorate_context|maybe_fallback|_use_grad")


def tell_place(names: Sequence[str]) -> BoolArray:
    """[len(names)] whether the frame of each name tells a place: one of the program, or of a library that it calls.

    Built-ins, modules, the inside of torch and of Lightning, and what only calls on do not.
    """
    return np.fromiter(map(_tells_place, names), np.bool_, len(names))


def _tells_place(name: str) -> bool:
    frame = _FRAME.fullmatch(name)
    if frame is None:
        return False
    file, function = _INSTALLED.sub("", frame["file"].replace("\\", "/"), count=1), frame["function"]
    for library, shown in _SHOWN.items():
        if file.startswith(library):
            return shown.fullmatch(f"{file} {function}") is not None and _WRAPPERS.fullmatch(function) is None
    return not file.startswith(_PLUMBING)
