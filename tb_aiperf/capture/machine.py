"""CPU, memory, disks and network of the whole machine."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from tb_aiperf.capture.rates import CounterRate, Unavailable

#: Block devices without a disk of their own: they lie in memory or pass requests on to other block devices, where the
#: same bytes are counted again (`nvme0c1n1` is one path to `nvme0n1`).
_LAYERED = re.compile(r"(loop|ram|zram|dm-|md|drbd|bcache|zd|sr|fd)\d|nvme\d+c\d+n\d+")
_PARTITION = re.compile(r"(?<=\d)p\d+$|(?<=[a-z])\d+$")
_LOOPBACK = re.compile(r"lo\d*$|Loopback", re.IGNORECASE)


class CpuSource:
    """Shares of all cores' time: busy, and idle while a disk request is outstanding (Linux only)."""

    name = "system CPU"
    keys: tuple[str, ...] = ("system_cpu_share", "io_wait_share")

    def __init__(self) -> None:
        self._before: Mapping[str, float] | None = None

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        # Guests' time is counted in `user` as well.
        times = {key: value for key, value in psutil.cpu_times()._asdict().items() if not key.startswith("guest")}
        before, self._before = self._before, times
        # The kernel's idle counters can go back a little.
        spent = {key: max(0.0, value - before[key]) if before else 0.0 for key, value in times.items()}
        total = sum(spent.values())
        io_wait = spent.get("iowait", 0.0)
        shares = {"system_cpu_share": (total - spent["idle"] - io_wait) / total if total else math.nan}
        if "iowait" in times:
            shares["io_wait_share"] = io_wait / total if total else math.nan
        return shares


class MemorySource:
    """Memory in use: total minus available."""

    name = "system memory"
    keys: tuple[str, ...] = ("system_memory_bytes",)

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        memory = psutil.virtual_memory()
        return {"system_memory_bytes": float(memory.total - memory.available)}


class DiskSource:
    """Bytes per second read from and written to all disks, each byte once."""

    name = "disks"
    keys: tuple[str, ...] = ("disk_read_bytes_per_s", "disk_write_bytes_per_s")

    def __init__(self, sys_block: Path = Path("/sys/block")) -> None:
        self._sys_block = sys_block
        self._read, self._write = CounterRate(), CounterRate()

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        # nowrap holds a lock of psutil's that a forked worker could inherit locked; `CounterRate` copes with wraps.
        counters: Mapping[str, Any] = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
        disks = whole_disks(counters, self._sys_block) if sys.platform == "linux" else set(counters)
        if not disks:
            raise Unavailable("the system shows no disks")
        return {
            "disk_read_bytes_per_s": self._read.update(now_ns, {disk: counters[disk].read_bytes for disk in disks}),
            "disk_write_bytes_per_s": self._write.update(now_ns, {disk: counters[disk].write_bytes for disk in disks}),
        }


def whole_disks(names: Iterable[str], sys_block: Path = Path("/sys/block")) -> set[str]:
    """Of Linux block devices, those that are a disk: no partitions, nothing that is layered over another device."""
    names = set(names)
    disks = {name for name in names if not _LAYERED.match(name)}
    if sys_block.is_dir():
        return {disk for disk in disks if (sys_block / disk).exists() and not _has_entries(sys_block / disk / "slaves")}
    return {disk for disk in disks if _PARTITION.sub("", disk) == disk or _PARTITION.sub("", disk) not in names}


class NetworkSource:
    """Bytes per second received and sent, each byte once; loopback is left out."""

    name = "network"
    keys: tuple[str, ...] = ("network_receive_bytes_per_s", "network_send_bytes_per_s")

    def __init__(self, sys_net: Path = Path("/sys/class/net")) -> None:
        self._sys_net = sys_net
        self._receive, self._send = CounterRate(), CounterRate()

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        counters: Mapping[str, Any] = psutil.net_io_counters(pernic=True, nowrap=False) or {}
        names = counted_interfaces(counters, self._sys_net)
        if not names:
            raise Unavailable("the system shows no network interfaces but loopback")
        return {
            "network_receive_bytes_per_s": self._receive.update(now_ns, {n: counters[n].bytes_recv for n in names}),
            "network_send_bytes_per_s": self._send.update(now_ns, {n: counters[n].bytes_sent for n in names}),
        }


def counted_interfaces(names: Iterable[str], sys_net: Path = Path("/sys/class/net")) -> set[str]:
    """Interfaces to add up: those with hardware where there are any, else all but loopback.

    On a host, bridges, bonds, tunnels and containers' interfaces pass on what the hardware counts already. In a
    container there is no hardware to see. A virtual function below another interface with hardware (accelerated
    networking) is counted there.
    """
    names = {name for name in names if not _LOOPBACK.match(name)}
    hardware = {name for name in names if (sys_net / name / "device").exists()}
    return {name for name in hardware if not (sys_net / name / "master" / "device").exists()} or names


def _has_entries(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
