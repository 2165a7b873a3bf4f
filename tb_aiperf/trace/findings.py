"""What takes the time of a step, ranked, and what acting on each can gain.

The step is divided once, so that no time is counted under two names: without a device, into its categories; with one,
into what the device does and why it idles. Shares therefore sum to at most 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tb_aiperf.records import Estimate, Finding
from tb_aiperf.trace.categories import CATEGORY_KEYS
from tb_aiperf.trace.device_timeline import IDLE_KEYS
from tb_aiperf.trace.evidence import CallTotal, Evidence
from tb_aiperf.trace.steps import Steps
from tb_aiperf.trace.table import IntArray

#: What takes less of the step cannot make it 5 % faster by being gone (1 / 0.95 = 1.053), and less than that is seldom
#: seen above the noise of a step. The largest part is named however small it is.
MIN_SHARE = 0.05
#: Shares are printed with so many digits.
_VISIBLE = 0.0005
#: A step cannot become more than this many times as fast, whatever the arithmetic says.
MAX_SPEEDUP = 100.0
#: So many names are cited as evidence, of at most so many characters.
NAMED = 3
LONGEST_NAME = 72


@dataclass(frozen=True, slots=True)
class _Remedy:
    """What can be done about a cause.

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
    "synchronisation": _Remedy(
        "the device has run dry while the host was blocked waiting for it, and waits for new work",
        "Read results back less often, and many at once: .item(), .cpu(), printing a tensor or branching on it blocks.",
    ),
    "launch": _Remedy(
        "the device waits for the host to launch the next work",
        "Launch fewer, larger kernels: torch.compile, CUDA graphs, fused or foreach optimizers, larger batches.",
    ),
    "other": _Remedy(
        "nothing that the profiler records goes on",
        "Record with with_stack=True to see the program's own Python code.",
    ),
}
#: The device idles there for a reason that no other part tells.
_OTHER_IDLE = _Remedy(
    "the device idles between work that was queued in good time, or while the host does nothing that is recorded",
    "Look at the step's timeline; record with with_stack=True to see the program's own Python code.",
)
_LOOK_AT_FRAMES = "Look at the Python frames in the step's timeline."
_NO_WORKERS = "Give the loader workers (num_workers above 0): it loads in the program's own process."
_LONG_HOST_WORK = (
    "Make the host's work between launches shorter, or launch further ahead; call sites (with_stack=True) show where."
)
#: How to avoid copies, by what their names say, the first that fits.
_COPIES = (
    (
        ("Pageable -> Device", "Host -> Device"),
        "Pin host memory (pin_memory=True in the data loader) and copy with non_blocking=True.",
    ),
    (("HtoD",), "Copy ahead of need, with non_blocking=True on a stream of its own."),
    (("DtoH", "Device -> Host"), "Bring results to the host less often, and many at once."),
    (
        ("DtoD", "Device -> Device"),
        "Avoid copies on the device (contiguous, clone, cat): write into views or buffers that are reused.",
    ),
)


def find_findings(
    steps: Steps, categories: IntArray, idle: IntArray | None = None, evidence: Evidence | None = None
) -> list[Finding]:
    """The parts of the whole steps (of all steps if none is whole) from `MIN_SHARE`, and always the largest, ranked.

    categories: [8, k] nanoseconds. idle: [5, k] nanoseconds, None without device work. speedup: Amdahl's law over
    exclusive time, 1 / (1 - removed * share); its ends take the least and most that acting can remove together with the
    smallest and largest share among the steps.
    """
    evidence = evidence or Evidence()
    whole = steps.judged
    whole &= categories.sum(axis=0) > 0
    categories = categories[:, whole]
    if not whole.any():
        return []
    idle = None if idle is None else idle[:, whole]
    parts = _parts(categories, idle)
    duration = categories.sum(axis=0)
    shares = {cause: float(times.sum() / duration.sum()) for cause, times in parts.items()}
    ranked = sorted(parts, key=lambda cause: -shares[cause])
    named = [cause for place, cause in enumerate(ranked) if not place or shares[cause] >= MIN_SHARE]
    on_device = idle is not None
    findings = []
    for cause in named:
        remedy = _OTHER_IDLE if on_device and cause == "other" else _REMEDIES[cause]
        told, action = _DETAILS.get(cause, _nothing)(evidence)
        sentences = [_measure(remedy.meaning, shares[cause], parts[cause], duration), *told]
        if idle is not None:
            sentences += _relation(cause, shares[cause], categories, idle)
        findings.append(
            Finding(
                cause=cause,
                share=shares[cause],
                speedup=_speedup(shares[cause], parts[cause] / duration, remedy.removed),
                evidence=" ".join(sentences),
                action=action or remedy.action,
            )
        )
    return findings


#: Causes of idle time that the categories know under other names.
_IDLE = ("synchronisation", "launch", "other")


def _parts(categories: IntArray, idle: IntArray | None) -> dict[str, IntArray]:
    """Cause -> [k] nanoseconds; they sum to the steps."""
    category = dict(zip(CATEGORY_KEYS, categories, strict=True))
    if idle is None:
        return category
    cause = dict(zip(IDLE_KEYS, idle, strict=True))
    parts = {key: category[key] for key in ("kernel", "memcpy", "memset")}
    # The rest of the device's busy time is collectives; host ranges of a collective lie in its idle time.
    exposed = categories.sum(axis=0) - sum(parts.values()) - idle.sum(axis=0)
    return {
        **parts,
        "communication": exposed + cause["communication"],
        "data_loading": cause["input"],
        **{key: cause[key] for key in _IDLE},
    }


def _measure(meaning: str, share: float, times: IntArray, duration: IntArray) -> str:
    per_step = times / duration
    count = f"{len(duration)} steps" if len(duration) > 1 else "1 step"
    spread = f" ({per_step.min():.1%} to {per_step.max():.1%} of a step)" if len(duration) > 1 else ""
    taken = f"{times.sum() / 1e6:.3f} of {duration.sum() / 1e6:.3f} ms"
    return f"In {share:.1%} of {count}, {meaning}: {taken}{spread}."


def _relation(cause: str, share: float, categories: IntArray, idle: IntArray) -> list[str]:
    """How the share of a cause relates to those of the categories, where the two differ."""
    category = dict(zip(CATEGORY_KEYS, categories.sum(axis=1) / categories.sum(), strict=True))
    if cause in _IDLE:
        host = category["runtime"] + category["cpu_op"] + category["other"]
        return [f"This is part of what the categories runtime, cpu_op and other show, {host:.1%} together."]
    if cause == "communication":
        waiting = float(idle[IDLE_KEYS.index("communication")].sum() / categories.sum())
        told = f"For {waiting:.1%} of the time the device idles and the host is in a collective's call."
        return [told] if waiting >= _VISIBLE else []
    if cause == "data_loading" and share - category[cause] >= _VISIBLE:
        return [f"The category shows {category[cause]:.1%}, because calls of the device's runtime come before it."]
    return []


def _speedup(share: float, per_step: np.ndarray, removed: tuple[float, float, float]) -> Estimate:
    least, expected, most = removed
    return Estimate(
        low=_amdahl(float(per_step.min()), least),
        expected=_amdahl(share, expected),
        high=_amdahl(float(per_step.max()), most),
    )


def _amdahl(share: float, removed: float) -> float:
    """Speed-up of the whole when `removed` of a part with `share` goes (Amdahl 1967)."""
    return 1 / max(1 - removed * share, 1 / MAX_SPEEDUP)


#: More sentences of evidence, and what to do in place of the general remedy, if anything.
_Details = tuple[list[str], str | None]


def _nothing(evidence: Evidence) -> _Details:
    return [], None


def _kernels(evidence: Evidence) -> _Details:
    rows = [(_short(row.name), row.total_us, row.calls) for row in evidence.kernel_times if not row.communication]
    return _cite("Longest in the whole trace", rows), None


def _copies(evidence: Evidence) -> _Details:
    copies: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for row in evidence.device_work:
        if row.kind == "memcpy":
            copies[row.name] = copies[row.name][0] + row.total_us, copies[row.name][1] + row.calls
    rows = sorted(((_short(name), *sums) for name, sums in copies.items()), key=lambda row: (-row[1], row[0]))
    if not rows:
        return [], None
    action = next((action for words, action in _COPIES if any(word in rows[0][0] for word in words)), None)
    return _cite("Copies in the whole trace", rows), action


def _communication(evidence: Evidence) -> _Details:
    rows = [
        (
            row.operation + (f" in group {_short(row.group)}" if row.group is not None else ""),
            row.total_us if row.exposed_us is None else row.exposed_us,
            row.calls,
        )
        for row in evidence.operations
    ]
    exposed = any(row.exposed_us is not None for row in evidence.operations)
    title = "Exposed in the whole trace" if exposed else "In the whole trace"
    return _cite(title, sorted(rows, key=lambda row: (-row[1], row[0]))), None


def _other(evidence: Evidence) -> _Details:
    return [], _LOOK_AT_FRAMES if evidence.frames else None


def _runtime(evidence: Evidence) -> _Details:
    return _cite("The host was blocked in", map(_call, evidence.blocking)), None


def _loading(evidence: Evidence) -> _Details:
    waits = evidence.loading
    in_process = bool(waits) and "_SingleProcess" in waits[0].name
    return _cite("Waits", map(_call, waits)), _NO_WORKERS if in_process else None


def _operators(evidence: Evidence) -> _Details:
    ranked = sorted(evidence.operator_times, key=lambda row: -row.host_self_us)
    rows = ((_short(row.name), row.host_self_us, row.calls) for row in ranked)
    return _cite("Most time of their own on the host in the whole trace", rows), None


def _launches(evidence: Evidence) -> _Details:
    kernel, interval = evidence.kernel_us, evidence.launch_interval_us
    if kernel is None or interval is None:
        return [], None
    figures = (
        f"A kernel takes {_time(kernel)} (median of {evidence.kernels:,}), and kernels are launched every "
        f"{_time(interval)} (median of {evidence.launches:,})"
    )
    if kernel < interval:
        return [f"{figures}: they end sooner than the next are launched."], None
    return [f"{figures}: most launches come in time, so single pieces of the host's work take long."], _LONG_HOST_WORK


_DETAILS: dict[str, Callable[[Evidence], _Details]] = {
    "kernel": _kernels,
    "memcpy": _copies,
    "communication": _communication,
    "runtime": _runtime,
    "data_loading": _loading,
    "cpu_op": _operators,
    "synchronisation": _runtime,
    "launch": _launches,
    "other": _other,
}


def _call(call: CallTotal) -> tuple[str, float, int]:
    name = _short(call.name) + (f" from {_short(call.operator)}" if call.operator else "")
    return name, call.total_us, call.calls


def _cite(title: str, rows: Iterable[tuple[str, float, int]]) -> list[str]:
    """A sentence that names the first rows of name, microseconds and number of calls; none without any."""
    cited = [
        f"{name} ({_time(time)} in {calls:,} call{'' if calls == 1 else 's'})"
        for (name, time, calls), _ in zip(rows, range(NAMED), strict=False)
        if time
    ]
    return [f"{title}: {', '.join(cited)}."] if cited else []


def _time(microseconds: float) -> str:
    return f"{microseconds / 1000:.3f} ms" if microseconds >= 1000 else f"{microseconds:.1f} µs"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
