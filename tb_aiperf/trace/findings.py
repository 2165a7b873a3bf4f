"""The largest cause of time in a trace, and what acting on it can gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import Estimate, Finding
from tb_aiperf.trace.categories import CATEGORY_KEYS
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import IntArray

#: A step cannot become more than this many times as fast, whatever the arithmetic says.
_MAX_SPEEDUP = 100.0


@dataclass(frozen=True, slots=True)
class _Remedy:
    """What can be done about a category.

    removed: least, expected and most part of its exclusive time that acting on it removes. Exposed loading can vanish
    behind the step, so that all of it is expected to go; for the rest, half, between nothing and all. Kernels do not
    vanish: they get up to four times as fast at best.
    """

    meaning: str
    action: str
    removed: tuple[float, float, float] = (0.0, 0.5, 1.0)


_REMEDIES = {
    "kernel": _Remedy(
        "the device computes",
        "Reduce the device's work: lower precision, fused or compiled kernels, a smaller model.",
        (0.0, 0.5, 0.75),
    ),
    "memcpy": _Remedy(
        "the device copies and no kernel hides it",
        "Pin host memory, copy with non_blocking=True, and keep tensors on the device.",
    ),
    "memset": _Remedy("the device clears memory", "Reuse buffers; zero gradients with set_to_none=True."),
    "communication": _Remedy(
        "ranks communicate and no kernel hides it",
        "Overlap communication with compute, send less (gradient compression, accumulation), or find the late rank.",
    ),
    "runtime": _Remedy(
        "the host is in the device's runtime and no device work hides it",
        "Launch fewer, larger kernels (torch.compile, CUDA graphs) and avoid synchronisation.",
    ),
    "data_loading": _Remedy(
        "the program waits for its data loader and no device work hides it",
        "Give the loader more workers, prefetch, or make a sample cheaper.",
        (0.5, 1.0, 1.0),
    ),
    "cpu_op": _Remedy(
        "the host runs operators and no device work hides them",
        "Launch fewer, larger operators (torch.compile, CUDA graphs), or move work to the device.",
    ),
    "other": _Remedy(
        "nothing that the profiler records goes on",
        "Record with with_stack=True to see the program's own Python code.",
    ),
}


def find_findings(steps: Steps, categories: IntArray) -> list[Finding]:
    """The category with the largest exclusive share of the whole steps (of all steps if none is whole).

    categories: [8, k] nanoseconds. speedup: Amdahl's law over exclusive time, 1 / (1 - removed * share); its ends take
    the least and most that acting can remove together with the smallest and largest share among the steps.
    """
    whole = ~steps.partial if not steps.partial.all() else np.ones(len(steps), np.bool_)
    times = categories[:, whole]
    duration = times.sum(axis=0)
    times, duration = times[:, duration > 0], duration[duration > 0]
    if not len(duration):
        return []
    total = times.sum(axis=1)
    largest = int(total.argmax())
    share = float(total[largest] / duration.sum())
    per_step = times[largest] / duration
    remedy = _REMEDIES[CATEGORY_KEYS[largest]]
    least, expected, most = remedy.removed
    count = f"{len(duration)} steps" if len(duration) > 1 else "1 step"
    spread = f" ({per_step.min():.1%} to {per_step.max():.1%} of a step)" if len(duration) > 1 else ""
    return [
        Finding(
            cause=CATEGORY_KEYS[largest],
            share=share,
            speedup=Estimate(
                low=_amdahl(float(per_step.min()), least),
                expected=_amdahl(share, expected),
                high=_amdahl(float(per_step.max()), most),
            ),
            evidence=f"In {share:.1%} of {count}, {remedy.meaning}: {total[largest] / 1e6:.3f} of "
            f"{duration.sum() / 1e6:.3f} ms{spread}.",
            action=remedy.action,
        )
    ]


def _amdahl(share: float, removed: float) -> float:
    """Speed-up of the whole when `removed` of a part with `share` goes (Amdahl 1967)."""
    return 1 / max(1 - removed * share, 1 / _MAX_SPEEDUP)
