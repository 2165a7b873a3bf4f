"""`ResourceTable`: what the machine did beside the steps, sampled at a fixed interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A sampled quantity: key in files and JSON, title, unit and definition."""

    key: str
    title: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ResourceTable:
    """n samples of several quantities.

    time_us   [n] microseconds since the attempt's start, rising
    values    quantity key -> [n] float64; NaN where one sample failed. A quantity that cannot be measured on this
              machine has no key at all
    """

    time_us: npt.NDArray[np.int64]
    values: Mapping[str, npt.NDArray[np.float64]]

    def __post_init__(self) -> None:
        for key, column in self.values.items():
            if column.shape != self.time_us.shape:
                raise ValueError(f"quantity {key!r} has shape {column.shape}, not {self.time_us.shape}")

    def __len__(self) -> int:
        return len(self.time_us)


QUANTITIES: tuple[Quantity, ...] = (
    Quantity(
        key="process_cpu_cores",
        title="CPU, training processes",
        unit="cores",
        meaning="CPU time of the process and its children (data-loader workers) per second of wall-clock.",
    ),
    Quantity(
        key="process_rss_bytes",
        title="Memory, training processes",
        unit="bytes",
        meaning="Resident memory of the process and its children, added up; shared pages count once per process.",
    ),
    Quantity(
        key="system_cpu_share",
        title="CPU, whole machine",
        unit="share of all cores",
        meaning="Busy time of all cores over their total time, all programs included.",
    ),
    Quantity(
        key="system_memory_bytes",
        title="Memory in use, whole machine",
        unit="bytes",
        meaning="Total minus available memory.",
    ),
    Quantity(
        key="io_wait_share",
        title="I/O wait",
        unit="share of all cores",
        meaning="Time in which cores were idle while a disk request was outstanding (Linux).",
    ),
    Quantity(
        key="disk_read_bytes_per_s",
        title="Disk read",
        unit="bytes/s",
        meaning="Bytes read from all disks of the machine per second.",
    ),
    Quantity(
        key="disk_write_bytes_per_s",
        title="Disk write",
        unit="bytes/s",
        meaning="Bytes written to all disks of the machine per second.",
    ),
    Quantity(
        key="network_receive_bytes_per_s",
        title="Network in",
        unit="bytes/s",
        meaning="Bytes received per second on network interfaces with hardware; where none shows, as in a container, "
        "on all but loopback.",
    ),
    Quantity(
        key="network_send_bytes_per_s",
        title="Network out",
        unit="bytes/s",
        meaning="Bytes sent per second on network interfaces with hardware; where none shows, as in a container, "
        "on all but loopback.",
    ),
    Quantity(
        key="gpu_utilisation_share",
        title="GPU utilisation",
        unit="share of time",
        meaning="Share of the sampling period in which at least one kernel ran, mean over this process's GPUs (NVML).",
    ),
    Quantity(
        key="gpu_memory_bytes",
        title="GPU memory",
        unit="bytes",
        meaning="Memory in use on this process's GPUs, all programs included, added up (NVML).",
    ),
    Quantity(
        key="gpu_power_watts",
        title="GPU power",
        unit="W",
        meaning="Power draw of this process's GPUs, added up (NVML).",
    ),
)
