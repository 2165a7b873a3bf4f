"""CPU and memory of the training process and its descendants (data-loader workers)."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil

#: Readings of the whole tree before a sample gives up because processes keep ending meanwhile.
_TRIES = 4


class Usage(NamedTuple):
    """One process. own_s: its CPU time; waited_s: that of its ended descendants that it has waited for; in seconds."""

    own_s: float
    waited_s: float
    rss_bytes: int


class ProcessSource:
    """CPU cores in use and resident memory of this process and its descendants.

    When a process ends and its parent waits for it, the kernel adds its CPU time to the parent's account of its ended
    children. So own and waited-for times over the living tree never fall, and their difference between two samples
    holds the last moments of ended workers and the whole of processes that came and went in between. Where that
    account is not kept (Windows, macOS, an orphan, SIGCHLD ignored) the sum can fall; the CPU time that the living
    ones added, each compared with itself, is then the lower bound that counts.
    """

    name = "process CPU and memory"
    keys: tuple[str, ...] = ("process_cpu_cores", "process_rss_bytes")

    def __init__(self, descendants: Callable[[int], list[int]] | None = None) -> None:
        self._descendants = descendants or descendant_pids
        self._before: dict[Any, Usage] | None = None
        self._time_ns = 0

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        usage = self._read_tree()
        cores = math.nan
        if self._before is not None and now_ns > self._time_ns:
            cores = cpu_seconds_between(self._before, usage) / ((now_ns - self._time_ns) / 1e9)
        self._before, self._time_ns = usage, now_ns
        return {"process_cpu_cores": cores, "process_rss_bytes": float(sum(one.rss_bytes for one in usage.values()))}

    def _read_tree(self) -> dict[Any, Usage]:
        """Usage of every living process of the tree, by `psutil.Process` (equal only for the same pid and start).

        Parents come before their children: a child that can still be read was not yet in its parent's account when
        that was read, and one that cannot may be, so the reading starts again.
        """
        for _ in range(_TRIES):
            root = psutil.Process()
            pids = [root.pid, *self._descendants(root.pid)]
            # A listing can miss a process while another ends, and loses those whose parent ended: ask for them by name.
            known = [process for process in self._before or () if process.pid not in pids and process.is_running()]
            try:
                processes = [root, *(psutil.Process(pid) for pid in pids[1:]), *known]
                return {process: usage for process in processes if (usage := _usage(process)) is not None}
            except psutil.NoSuchProcess:
                continue
        raise RuntimeError("processes ended during every reading of the tree")


def _usage(process: Any) -> Usage | None:
    """Usage of one process; None where it may not be asked. Raises psutil.NoSuchProcess."""
    try:
        with process.oneshot():
            times = process.cpu_times()
            memory = 0
            with contextlib.suppress(psutil.ZombieProcess):  # ended and not yet waited for: CPU time, no memory
                memory = int(process.memory_info().rss)
    except (psutil.ZombieProcess, psutil.AccessDenied):  # the first is a kind of NoSuchProcess, but still stands
        return None
    waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return Usage(own_s=times.user + times.system, waited_s=waited, rss_bytes=memory)


def cpu_seconds_between(before: Mapping[Any, Usage], after: Mapping[Any, Usage]) -> float:
    """CPU seconds that a process tree used between two readings of it; never negative.

    A process that is new in `after` counts from its start.
    """
    nothing = Usage(0.0, 0.0, 0)
    conserved = _total(after) - _total(before)
    living = sum(max(0.0, usage.own_s - before.get(process, nothing).own_s) for process, usage in after.items())
    return max(conserved, living)


def _total(tree: Mapping[Any, Usage]) -> float:
    return sum(usage.own_s + usage.waited_s for usage in tree.values())


def descendant_pids(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """All descendants of `pid`, parents before their children.

    Linux lists a thread's children in one file where the kernel is built so; elsewhere psutil reads every process of
    the machine, which takes long on a large one.
    """
    if not (proc / str(pid) / "task" / str(pid) / "children").exists():
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    found = [pid]
    for parent in found:  # grows as it is read
        found.extend(child for child in _children(parent, proc) if child not in found)
    return found[1:]


def _children(pid: int, proc: Path) -> list[int]:
    """Children of `pid`, whichever of its threads started them; none where it ended."""
    children: list[int] = []
    threads = f"{proc}/{pid}/task"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(threads):
            # Hundreds of threads are usual: no pathlib and no buffer, which double the cost.
            with (
                contextlib.suppress(FileNotFoundError, ProcessLookupError),
                open(f"{threads}/{thread}/children", "rb", buffering=0) as listing,
            ):
                children.extend(map(int, listing.read().split()))
    return children
