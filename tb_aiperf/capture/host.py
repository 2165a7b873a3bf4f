"""Probes of the machine: operating system, CPU, memory and the limits that a container sets."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil

from tb_aiperf.records.environment import Host

T = TypeVar("T")

#: cgroup v1 writes "no limit" as the largest multiple of a page; no machine has an exbibyte.
_NO_LIMIT_BYTES = 1 << 60


def guarded(probe: Callable[[], T]) -> T | None:
    """What `probe` returns, None where it raises."""
    try:
        return probe()
    except Exception:  # noqa: BLE001  a probe may meet any program and machine; none may harm the training
        return None


def collect_host() -> Host:
    """The machine that this process runs on."""
    affinity, quota = guarded(affinity_cores), guarded(cgroup_cores)
    limits = [float(limit) for limit in (affinity, quota) if limit]
    return Host(
        hostname=guarded(socket.gethostname),
        operating_system=guarded(operating_system),
        architecture=guarded(platform.machine) or None,
        cpu_model=guarded(cpu_model),
        physical_cores=guarded(lambda: psutil.cpu_count(logical=False)),
        logical_cores=guarded(psutil.cpu_count),
        affinity_cores=affinity,
        cgroup_cores=quota,
        usable_cores=min(limits) if limits else None,
        memory_bytes=guarded(lambda: int(psutil.virtual_memory().total)),
        cgroup_memory_bytes=guarded(cgroup_memory_bytes),
    )


def operating_system() -> str:
    """Distribution where it is known, system and kernel release: ``Debian GNU/Linux 12 (Linux 6.1.0)``."""
    kernel = f"{platform.system()} {platform.release()}"
    with contextlib.suppress(OSError):
        name = platform.freedesktop_os_release().get("PRETTY_NAME")
        return f"{name} ({kernel})" if name else kernel
    return kernel


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Marketing name of the CPU."""
    if platform.system() != "Linux":
        return platform.processor() or None
    # The file is generated as it is read and long on large machines; the first core's lines suffice.
    with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip() or None
            if not line.strip():
                break
    return None


def affinity_cores() -> int:
    """Logical cores that the scheduler lets this process run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return len(psutil.Process().cpu_affinity())


def cgroup_cores(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """CPU quota in cores: the tightest on the way from this process's cgroup to the root. None without a quota."""
    quotas: list[float] = []
    for folder in _cgroup_folders("cpu", proc, root):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            if (folder / "cpu.max").is_file():
                allowed, period = (folder / "cpu.max").read_text().split()
            else:
                allowed = (folder / "cpu.cfs_quota_us").read_text()
                period = (folder / "cpu.cfs_period_us").read_text()
            if allowed != "max" and int(allowed) > 0:
                quotas.append(int(allowed) / int(period))
    return min(quotas, default=None)


def cgroup_memory_bytes(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Memory limit in bytes: the tightest on the way from this process's cgroup to the root. None without a limit."""
    limits: list[int] = []
    for folder in _cgroup_folders("memory", proc, root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):
                limits.append(int((folder / name).read_text()))
    return min((limit for limit in limits if limit < _NO_LIMIT_BYTES), default=None)


def _cgroup_folders(controller: str, proc: Path, root: Path) -> Iterator[Path]:
    """Folders of this process's cgroup for `controller` and of its ancestors, of both cgroup versions."""
    if not proc.is_file():
        return
    for line in proc.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top = root
        elif controller in controllers.split(","):
            top = root / controller
        else:
            continue
        # Inside a container the path may be the host's and lead nowhere here; `top` is then the container's own.
        folder = top / path.lstrip("/")
        while folder != top and top in folder.parents:
            yield folder
            folder = folder.parent
        yield top
