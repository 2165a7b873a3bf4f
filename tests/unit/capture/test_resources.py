from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import namedtuple
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.capture import gpus, machine, process_tree
from tb_aiperf.capture.process_tree import ProcessSource, Usage, cpu_seconds_between, descendant_pids
from tb_aiperf.capture.rates import CounterRate, Unavailable
from tb_aiperf.capture.resources import ResourceSampler
from tb_aiperf.records import QUANTITIES

SECOND = 1_000_000_000
isnan = math.isnan


# --- rates


def test_a_rate_is_the_difference_of_counters_over_the_time_between() -> None:
    rate = CounterRate()
    assert isnan(rate.update(5 * SECOND, {"sda": 100}))
    assert rate.update(7 * SECOND, {"sda": 300}) == 100.0


def test_a_device_counts_from_its_second_reading_and_a_counter_that_went_back_adds_nothing() -> None:
    rate = CounterRate()
    rate.update(0, {"a": 1000})
    assert rate.update(SECOND, {"a": 1010, "b": 5_000_000}) == 10.0
    assert rate.update(2 * SECOND, {"a": 3, "b": 5_000_040}) == 40.0


def test_a_rate_over_no_time_is_missing() -> None:
    rate = CounterRate()
    rate.update(SECOND, {"a": 1})
    assert isnan(rate.update(SECOND, {"a": 2}))


# --- sampler


class FakeSource:
    def __init__(self, key: str, values: list[float | Exception]) -> None:
        self.name, self.keys = key, (key,)
        self.values = values
        self.calls = 0

    def read(self, now_ns: int) -> dict[str, float]:
        value = self.values[min(self.calls, len(self.values) - 1)]
        self.calls += 1
        if isinstance(value, Exception):
            raise value
        return {self.keys[0]: value}


def make_sampler(*sources: FakeSource, **options: int) -> ResourceSampler:
    ticks = iter(range(10 * SECOND, 10_000 * SECOND, SECOND // 2))
    return ResourceSampler(4 * SECOND, sources=sources, clock=lambda: next(ticks), **options)


def test_samples_come_out_as_a_table_once_in_microseconds_since_the_origin() -> None:
    sampler = make_sampler(FakeSource("process_rss_bytes", [10.0, 20.0]))
    assert sampler.sample() == {"process_rss_bytes": 10.0}
    sampler.sample()
    table = sampler.take()
    # Two clock readings a sample: one for the row, one for the source.
    assert table.time_us.tolist() == [6_000_000, 7_000_000]
    assert {key: column.tolist() for key, column in table.values.items()} == {"process_rss_bytes": [10.0, 20.0]}
    assert len(sampler.take()) == 0


def test_a_failed_sample_is_nan_and_three_in_a_row_switch_the_source_off() -> None:
    broken = OSError("no such file")
    source = FakeSource("system_cpu_share", [0.5, broken, broken, 0.25, broken, broken, broken])
    sampler = make_sampler(source, FakeSource("process_rss_bytes", [1.0]))
    for _ in range(9):
        sampler.sample()
    assert source.calls == 7
    table = sampler.take()
    np.testing.assert_array_equal(
        table.values["system_cpu_share"], [0.5, np.nan, np.nan, 0.25, np.nan, np.nan, np.nan, np.nan, np.nan]
    )
    assert table.values["process_rss_bytes"].tolist() == [1.0] * 9
    assert sampler.notes == ("system_cpu_share not measured: failed 3 times in a row: OSError: no such file",)
    sampler.sample()
    assert set(sampler.take().values) == {"process_rss_bytes"}


def test_what_the_machine_cannot_measure_is_absent_at_once() -> None:
    source = FakeSource("gpu_power_watts", [Unavailable("no GPU")])
    sampler = make_sampler(source)
    assert sampler.sample() == {}
    sampler.sample()
    assert source.calls == 1
    assert sampler.notes == ("gpu_power_watts not measured: no GPU",)
    assert sampler.take().values == {}


def test_the_buffer_is_bounded_and_says_what_it_dropped() -> None:
    sampler = make_sampler(FakeSource("process_rss_bytes", [1.0, 2.0, 3.0, 4.0, 5.0]), capacity=3)
    for _ in range(5):
        sampler.sample()
    assert sampler.take().values["process_rss_bytes"].tolist() == [3.0, 4.0, 5.0]
    assert sampler.notes == ("2 resource samples dropped: not taken in time",)


def test_a_forked_child_samples_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeSource("process_rss_bytes", [1.0])
    sampler = make_sampler(source)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert sampler.sample() == {}
    assert source.calls == 0


# --- processes


def tree(**usage: tuple[float, float]) -> dict[str, Usage]:
    return {name: Usage(own, waited, 0) for name, (own, waited) in usage.items()}


def test_cpu_of_living_processes_adds_up() -> None:
    assert cpu_seconds_between(tree(root=(10, 0), w=(4, 0)), tree(root=(10.5, 0), w=(5, 0))) == 1.5


def test_a_new_worker_counts_from_its_start() -> None:
    assert cpu_seconds_between(tree(root=(10, 0)), tree(root=(10.5, 0), w=(0.25, 0))) == 0.75


def test_an_ended_worker_counts_to_its_end() -> None:
    # The worker had 100 s at the first reading and ended at 100.75 s; its parent has waited for it.
    assert cpu_seconds_between(tree(root=(10, 0), w=(100, 0)), tree(root=(10.5, 100.75))) == 1.25


def test_a_process_that_came_and_went_in_between_counts() -> None:
    assert cpu_seconds_between(tree(root=(10, 7)), tree(root=(10, 7.5))) == 0.5


def test_an_ended_worker_that_nobody_waited_for_does_not_make_the_rate_negative() -> None:
    assert cpu_seconds_between(tree(root=(10, 0), w=(100, 0)), tree(root=(10.5, 0))) == 0.5


@given(st.data())
def test_cpu_seconds_are_conserved_whenever_processes_start_end_and_are_waited_for(data: st.DataObject) -> None:
    """Integer ticks; each round all processes work, then some workers end into the root's account and some start."""
    now, worked, number = {"root": Usage(3, 0, 0), "w0": Usage(5, 0, 0)}, 0, 1
    for _ in range(data.draw(st.integers(1, 6))):
        before, spent = dict(now), 0
        for name, usage in now.items():
            add = data.draw(st.integers(0, 9))
            spent += add
            now[name] = usage._replace(own_s=usage.own_s + add)
        for name in data.draw(st.sets(st.sampled_from(sorted(now)))) - {"root"}:
            ended = now.pop(name)
            now["root"] = now["root"]._replace(waited_s=now["root"].waited_s + ended.own_s + ended.waited_s)
        for _ in range(data.draw(st.integers(0, 2))):
            start = data.draw(st.integers(0, 4))
            now[f"w{number}"] = Usage(start, 0, 0)
            number, spent = number + 1, spent + start
        assert cpu_seconds_between(before, now) == spent
        worked += spent


Times = namedtuple("Times", "user system children_user children_system")


class FakeProcess:
    """Stands in for psutil.Process; `machine` maps pid -> (start, times, rss), or an exception."""

    machine: dict[int, tuple[int, Times, int] | Exception]

    def __init__(self, pid: int = 1) -> None:
        if pid not in self.machine:
            raise psutil.NoSuchProcess(pid)
        self.pid = pid
        entry = self.machine[pid]
        self.ident = (pid, 0 if isinstance(entry, Exception) else entry[0])

    def __hash__(self) -> int:
        return hash(self.ident)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FakeProcess) and self.ident == other.ident

    def is_running(self) -> bool:
        return self.pid in self.machine and self == FakeProcess(self.pid)

    def oneshot(self) -> AbstractContextManager[None]:
        return nullcontext()

    def cpu_times(self) -> Times:
        return self._entry()[1]

    def memory_info(self) -> SimpleNamespace:
        return SimpleNamespace(rss=self._entry()[2])

    def _entry(self) -> tuple[int, Times, int]:
        entry = self.machine.get(self.pid, psutil.NoSuchProcess(self.pid))
        if isinstance(entry, Exception):
            raise entry
        return entry


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, Times, int] | Exception]:
    FakeProcess.machine = {}
    monkeypatch.setattr(process_tree.psutil, "Process", FakeProcess)
    return FakeProcess.machine


def test_the_source_adds_up_the_tree_in_cores_and_bytes(processes: dict[int, object]) -> None:
    listed = [[2, 3], [3, 4]]
    source = ProcessSource(lambda pid: listed[0])
    processes.update({1: (0, Times(10, 1, 0, 0), 1000), 2: (1, Times(4, 0, 0, 0), 100), 3: (1, Times(6, 0, 0, 0), 50)})
    first = source.read(0)
    assert isnan(first["process_cpu_cores"])
    assert first["process_rss_bytes"] == 1150
    # In 2 s the root works 1 s, worker 2 another 0.5 s to its end, worker 3 works 2 s, and worker 4 starts: 0.5 s.
    del processes[2]
    processes.update(
        {1: (0, Times(11, 1, 4, 0.5), 1000), 3: (1, Times(7, 1, 0, 0), 60), 4: (9, Times(0.5, 0, 0, 0), 7)}
    )
    del listed[0]
    assert source.read(2 * SECOND) == {"process_cpu_cores": 4.0 / 2, "process_rss_bytes": 1067}


def test_a_reused_pid_is_another_process(processes: dict[int, object]) -> None:
    source = ProcessSource(lambda pid: [2])
    processes.update({1: (0, Times(0, 0, 0, 0), 0), 2: (1, Times(50, 0, 0, 0), 0)})
    source.read(0)
    processes.update({1: (0, Times(0, 0, 51, 0), 0), 2: (8, Times(0.5, 0, 0, 0), 0)})
    assert source.read(SECOND)["process_cpu_cores"] == 1.5


def test_a_worker_that_the_listing_misses_once_is_still_counted(processes: dict[int, object]) -> None:
    listed: list[int] = [2]
    source = ProcessSource(lambda pid: list(listed))
    processes.update({1: (0, Times(0, 0, 0, 0), 0), 2: (1, Times(50, 0, 0, 0), 9)})
    source.read(0)
    listed.clear()
    processes[2] = (1, Times(51, 0, 0, 0), 9)
    assert source.read(SECOND) == {"process_cpu_cores": 1.0, "process_rss_bytes": 9}
    listed.append(2)
    processes[2] = (1, Times(52, 0, 0, 0), 9)
    assert source.read(2 * SECOND)["process_cpu_cores"] == 1.0


def test_a_worker_that_ends_during_the_reading_makes_it_start_again(processes: dict[int, object]) -> None:
    listings = [[2], [2, 3], [2]]
    source = ProcessSource(lambda pid: listings.pop(0))
    processes.update({1: (0, Times(0, 0, 0, 0), 1), 2: (1, Times(1, 0, 0, 0), 1)})
    source.read(0)
    processes[2] = (1, Times(2, 0, 0, 0), 1)
    assert source.read(SECOND)["process_cpu_cores"] == 1.0  # 3 was listed, but is gone
    assert listings == []


def test_a_tree_that_never_stands_still_fails_that_sample_only(processes: dict[int, object]) -> None:
    processes[1] = (0, Times(0, 0, 0, 0), 1)
    source = ProcessSource(lambda pid: [7])
    with pytest.raises(RuntimeError, match="ended during every reading"):
        source.read(0)


def test_a_zombie_and_a_forbidden_process_are_left_out(processes: dict[int, object]) -> None:
    source = ProcessSource(lambda pid: [2, 3])
    processes.update({1: (0, Times(0, 0, 0, 0), 8), 2: psutil.ZombieProcess(2), 3: psutil.AccessDenied(3)})
    assert source.read(0)["process_rss_bytes"] == 8


def test_descendants_are_read_from_every_thread_parents_first(tmp_path) -> None:
    for path, children in {
        "1/task/1": "30 20",
        "1/task/5": "40 20",  # 20 moves to another thread while the list is read
        "20/task/20": "",
        "30/task/30": "31",
        "31/task/31": "",
    }.items():
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "children").write_text(children)
    # 40 has ended since it was listed: no folder.
    found = descendant_pids(1, tmp_path)
    assert sorted(found) == [20, 30, 31, 40]
    assert found.index(30) < found.index(31)


# --- machine


def test_cpu_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = namedtuple("Fields", "user system idle iowait guest")
    readings = iter([fields(100, 50, 800, 50, 30), fields(103, 51, 805, 51, 33), fields(103, 51, 805, 51, 33)])
    monkeypatch.setattr(machine.psutil, "cpu_times", lambda: next(readings))
    source = machine.CpuSource()
    assert all(map(isnan, source.read(0).values()))
    # 3 user (of which 3 for a guest) + 1 system + 5 idle + 1 waiting = 10
    assert source.read(SECOND) == {"system_cpu_share": 0.4, "io_wait_share": 0.1}
    assert all(map(isnan, source.read(2 * SECOND).values()))


def test_io_wait_is_absent_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = namedtuple("Fields", "user system idle")
    readings = iter([fields(0, 0, 0), fields(1, 1, 2)])
    monkeypatch.setattr(machine.psutil, "cpu_times", lambda: next(readings))
    source = machine.CpuSource()
    source.read(0)
    assert source.read(SECOND) == {"system_cpu_share": 0.5}


def test_memory_in_use_is_total_minus_available(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(total=1000, available=300, used=100)
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: memory)
    assert machine.MemorySource().read(0) == {"system_memory_bytes": 700.0}


def make_block_devices(root, *names: str, stacked: tuple[str, ...] = ()) -> None:
    for name in names + stacked:
        (root / name / "slaves").mkdir(parents=True)
    for name in stacked:
        (root / name / "slaves" / "below").mkdir()


def test_each_disk_byte_counts_once(tmp_path) -> None:
    make_block_devices(tmp_path, "sda", "nvme0n1", "nvme0c0n1", "loop0", "zram0", stacked=("dm-0", "md127", "mapped"))
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p1", "nvme0c0n1", "loop0", "zram0", "dm-0", "md127", "mapped"]
    assert machine.whole_disks(names, tmp_path) == {"sda", "nvme0n1"}


def test_partitions_are_told_by_name_where_sysfs_is_hidden(tmp_path) -> None:
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "mmcblk0", "mmcblk0p1", "vdb1", "dm-1"]
    assert machine.whole_disks(names, tmp_path / "none") == {"sda", "nvme0n1", "mmcblk0", "vdb1"}


def test_disk_rates(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    make_block_devices(tmp_path, "sda", "sdb")
    counters = namedtuple("Counters", "read_bytes write_bytes")
    readings = iter(
        [
            {"sda": counters(100, 1000), "sda1": counters(100, 1000), "sdb": counters(0, 0)},
            {"sda": counters(300, 1000), "sda1": counters(300, 1000), "sdb": counters(0, 50)},
        ]
    )
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(machine.psutil, "disk_io_counters", lambda perdisk, nowrap: next(readings))
    source = machine.DiskSource(tmp_path)
    source.read(0)
    assert source.read(2 * SECOND) == {"disk_read_bytes_per_s": 100.0, "disk_write_bytes_per_s": 25.0}


def test_no_disks_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.psutil, "disk_io_counters", lambda perdisk, nowrap: None)
    with pytest.raises(Unavailable, match="no disks"):
        machine.DiskSource().read(0)


def test_interfaces_with_hardware_count_and_what_lies_over_them_does_not(tmp_path) -> None:
    names = ["lo", "eth0", "bond0", "docker0", "veth12", "eth1", "vf0"]
    for name in names:
        (tmp_path / name).mkdir()
    for name in ("eth0", "eth1", "vf0"):
        (tmp_path / name / "device").mkdir()
    (tmp_path / "eth0" / "master").symlink_to(tmp_path / "bond0")  # of a bond: counts
    (tmp_path / "vf0" / "master").symlink_to(tmp_path / "eth1")  # a virtual function below eth1: counted there
    assert machine.counted_interfaces(names, tmp_path) == {"eth0", "eth1"}


def test_without_hardware_every_interface_but_loopback_counts(tmp_path) -> None:
    assert machine.counted_interfaces(["lo", "lo0", "eth0", "Loopback Pseudo-Interface 1"], tmp_path) == {"eth0"}


def test_network_rates(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    counters = namedtuple("Counters", "bytes_recv bytes_sent")
    readings = iter(
        [
            {"lo": counters(0, 0), "eth0": counters(1000, 10)},
            {"lo": counters(9999, 9999), "eth0": counters(5000, 20)},
        ]
    )
    monkeypatch.setattr(machine.psutil, "net_io_counters", lambda pernic, nowrap: next(readings))
    source = machine.NetworkSource(tmp_path)
    source.read(0)
    assert source.read(4 * SECOND) == {"network_receive_bytes_per_s": 1000.0, "network_send_bytes_per_s": 2.5}


# --- GPUs


class FakeNvml(SimpleNamespace):
    """NVML with GPUs given as dictionaries: uuid, percent, used, reserved, milliwatts. A handle is an index or UUID."""

    nvmlMemory_v2 = 2

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):
        pass

    def __init__(self, *devices: dict[str, object]) -> None:
        self.devices = devices
        self.mig = {"MIG-77": {"used": 5, "reserved": 0}}

    def nvmlInit(self) -> None: ...

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index >= len(self.devices) or self.devices[index].get("forbidden"):
            raise self.NVMLError("invalid argument")
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return str(self.devices[handle]["uuid"])

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object:
        if uuid in self.mig:
            return uuid
        for index, device in enumerate(self.devices):
            if device["uuid"] == uuid:
                return index
        raise self.NVMLError("not found")

    def _figure(self, handle: object, name: str) -> int:
        device = self.mig[handle] if isinstance(handle, str) else self.devices[handle]  # type: ignore[index]
        if name not in device:
            raise self.NVMLError_NotSupported
        return device[name]  # type: ignore[return-value]

    def nvmlDeviceGetUtilizationRates(self, handle: object) -> SimpleNamespace:
        return SimpleNamespace(gpu=self._figure(handle, "percent"))

    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int | None = None) -> SimpleNamespace:
        used = self._figure(handle, "used")
        return SimpleNamespace(used=used if version else used + self._figure(handle, "reserved"))

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:
        return self._figure(handle, "milliwatts")


TWO_GPUS = (
    {"uuid": "GPU-aa11", "percent": 90, "used": 1000, "reserved": 7, "milliwatts": 300_500},
    {"uuid": "GPU-bb22", "percent": 50, "used": 3000, "reserved": 7, "milliwatts": 99_500},
)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml(*TWO_GPUS)
    monkeypatch.setitem(sys.modules, "pynvml", fake)  # type: ignore[arg-type]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


def read_gpus(ordinals: list[int] | None = None) -> tuple[dict[str, float], tuple[str, ...]]:
    visible = gpus.VisibleGpus(ordinals)
    keys = ("gpu_utilisation_share", "gpu_memory_bytes", "gpu_power_watts")
    sampler = ResourceSampler(0, sources=[gpus.GpuSource(key, visible) for key in keys])
    return sampler.sample(), sampler.notes


def test_two_gpus_mean_utilisation_and_summed_memory_and_power(nvml: FakeNvml) -> None:
    values, notes = read_gpus()
    assert values == {"gpu_utilisation_share": 0.7, "gpu_memory_bytes": 4000.0, "gpu_power_watts": 400.0}
    assert notes == ()


@pytest.mark.parametrize(
    ("variable", "handles"),
    [
        (None, [0, 1]),
        ("", []),
        ("-1", []),
        ("1", [1]),
        ("1, 0", [1, 0]),
        ("0,-1,1", [0]),
        ("0,9,1", [0]),
        ("GPU-bb22", [1]),
        ("GPU-bb,GPU-aa", [1, 0]),
        ("GPU-cc", []),
        ("MIG-77", ["MIG-77"]),
    ],
)
def test_visible_devices(nvml: FakeNvml, variable: str | None, handles: list[object]) -> None:
    assert gpus.visible_handles(nvml, variable) == handles


def test_a_gpu_that_may_not_be_opened_is_not_visible() -> None:
    assert gpus.visible_handles(FakeNvml({"uuid": "GPU-1", "forbidden": True}, TWO_GPUS[1]), None) == [1]


def test_only_visible_gpus_are_measured(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bb22")
    assert read_gpus()[0] == {"gpu_utilisation_share": 0.5, "gpu_memory_bytes": 3000.0, "gpu_power_watts": 99.5}


def test_ordinals_pick_among_the_visible_ones(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert read_gpus([1])[0]["gpu_power_watts"] == 300.5


def test_ordinals_follow_torchs_own_order_where_cuda_runs(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    # CUDA numbers the faster GPU, second on the bus, as 0.
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        get_device_properties=lambda ordinal: SimpleNamespace(uuid=["bb22", "aa11"][ordinal]),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))  # type: ignore[arg-type]
    assert read_gpus([0])[0]["gpu_power_watts"] == 99.5


def test_a_mig_instance_has_memory_only(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-77")
    values, notes = read_gpus()
    assert values == {"gpu_memory_bytes": 5.0}
    assert notes == (
        "gpu_utilisation_share not measured: the GPU or its MIG instance does not report it",
        "gpu_power_watts not measured: the GPU or its MIG instance does not report it",
    )


def test_memory_by_the_first_version_of_the_call_where_there_is_no_second(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(FakeNvml, "nvmlMemory_v2")
    assert read_gpus()[0]["gpu_memory_bytes"] == 4014.0


def test_no_visible_gpu_and_no_nvml_are_absent(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    values, notes = read_gpus()
    assert values == {}
    assert notes[0] == "gpu_utilisation_share not measured: no NVIDIA GPU is visible to this process"
    monkeypatch.setitem(sys.modules, "pynvml", None)  # type: ignore[arg-type]
    assert read_gpus()[1][1] == "gpu_memory_bytes not measured: nvidia-ml-py is not installed"


def test_nvml_that_does_not_start_is_absent(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise nvml.NVMLError("Driver Not Loaded")

    monkeypatch.setattr(nvml, "nvmlInit", fail, raising=False)
    assert read_gpus()[1][0] == "gpu_utilisation_share not measured: NVML does not start: Driver Not Loaded"


# --- this machine

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_samples_of_this_machine_account_for_the_cpu_time_of_processes_that_came_and_went() -> None:
    sampler = ResourceSampler(time.perf_counter_ns())
    own = psutil.Process()
    servers = own.children(recursive=True)  # of other tests
    resident = sum(process.memory_info().rss for process in (own, *servers))

    def servers_cpu() -> float:
        return sum(sum(server.cpu_times()[:2]) for server in servers)

    elsewhere = servers_cpu()
    first = sampler.sample()
    before = os.times()
    staying = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for _ in range(2):
        subprocess.run([sys.executable, "-c", BURN], check=True)
        last = sampler.sample()
    rss_with_child = last["process_rss_bytes"]
    staying.communicate(b"\n")
    sampler.sample()
    after = os.times()
    table = sampler.take()

    assert isnan(first["process_cpu_cores"])
    assert first["process_rss_bytes"] == pytest.approx(resident, rel=0.2)
    assert rss_with_child > first["process_rss_bytes"] + 2e6
    assert 0 < first["system_memory_bytes"] < psutil.virtual_memory().total
    assert set(table.values) <= {quantity.key for quantity in QUANTITIES}
    assert (np.diff(table.time_us) > 0).all()
    cores = table.values["process_cpu_cores"][1:]
    assert (cores >= 0).all()
    seconds = float((cores * np.diff(table.time_us)).sum() / 1e6)
    spent = sum(after[:4]) - sum(before[:4]) + servers_cpu() - elsewhere
    assert spent >= 0.6
    # The kernel counts in ticks of 10 ms, for each process and each of user and system time.
    assert seconds == pytest.approx(spent, abs=0.1)
    # Two readings within one of the kernel's ticks have no rate.
    shares = table.values["system_cpu_share"][1:3]
    assert ((shares >= 0) & (shares <= 1)).all()
