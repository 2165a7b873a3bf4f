from __future__ import annotations

import multiprocessing
import os
import platform
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import psutil
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, TensorDataset

from tb_aiperf.capture import host
from tb_aiperf.capture.environment import (
    VARIABLES,
    collect_accelerators,
    collect_environment,
    collect_numerics,
    collect_trainer,
    describe_loader,
    describe_optimizer,
    nvidia_driver,
)
from tb_aiperf.capture.model_summary import summarize_model
from tb_aiperf.records import Environment
from tb_aiperf.records.environment import Accelerator, LoaderSettings, ModelSummary, OptimizerSettings, TrainerSettings


class Hostile:
    """Raises at any attribute."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__"):
            return super().__getattribute__(name)
        raise RuntimeError(f"asked for {name}")


def test_nothing_is_needed_and_the_record_survives_json() -> None:
    environment = collect_environment()
    assert environment.trainer is environment.loaders is environment.optimizers is environment.model is None
    assert environment.versions.python == platform.python_version()
    assert environment.versions.torch == torch.__version__
    assert environment.versions.numpy == np.__version__
    assert environment.host.logical_cores == psutil.cpu_count()
    assert environment.host.memory_bytes == psutil.virtual_memory().total
    assert environment.threads.intra_op == torch.get_num_threads()
    assert environment.threads.openmp == torch.get_num_threads()
    assert environment.numerics.float32_matmul_precision == torch.get_float32_matmul_precision()
    assert msgspec.json.decode(msgspec.json.encode(environment), type=Environment) == environment


def test_a_hostile_trainer_and_module_give_none_and_no_error() -> None:
    environment = collect_environment(Hostile(), Hostile())
    assert environment.trainer == TrainerSettings()
    assert environment.loaders is environment.optimizers is environment.schedulers is environment.model is None
    assert environment.versions.torch == torch.__version__


def test_torch_is_not_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    environment = collect_environment()
    assert "torch" not in sys.modules
    assert environment.versions.torch is environment.threads.intra_op is environment.accelerators is None


def test_only_listed_variables_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    monkeypatch.setenv("NCCL_SECRET", "password")
    environment = collect_environment()
    assert environment.variables == {"OMP_NUM_THREADS": "3", "NCCL_P2P_DISABLE": "1"}
    assert environment.threads.omp_num_threads == "3"


# --- a real Trainer


def test_a_real_training(tmp_path: Any) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
            self.layers[0].weight.requires_grad = False

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layers(batch[0]).mean()

        def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None: ...

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.layers.parameters(), foreach=False)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    collected: list[Environment] = []

    class Collect(lightning.Callback):
        def on_train_start(self, trainer: Any, module: Any) -> None:
            collected.append(collect_environment(trainer, module))

    data = TensorDataset(torch.randn(10, 4))
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        precision="bf16-mixed",
        accumulate_grad_batches=3,
        gradient_clip_val=0.5,
        gradient_clip_algorithm="value",
        log_every_n_steps=7,
        logger=lightning.loggers.CSVLogger(tmp_path),
        callbacks=[Collect()],
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    train = DataLoader(data, batch_size=4, shuffle=True, num_workers=1, prefetch_factor=3, persistent_workers=True)
    validate = [DataLoader(data, batch_size=2), DataLoader(data, batch_size=5, drop_last=True)]
    trainer.fit(Model(), train, validate)

    (environment,) = collected
    assert environment.versions.lightning == sys.modules["lightning"].__version__
    assert environment.numerics.precision == "bf16-mixed"
    assert environment.numerics.precision_plugin == "MixedPrecision"
    assert environment.trainer == TrainerSettings(
        strategy="SingleDeviceStrategy",
        accelerator="CPUAccelerator",
        world_size=1,
        nodes=1,
        devices=1,
        accumulate_grad_batches=3,
        gradient_clip_val=0.5,
        gradient_clip_algorithm="value",
        max_epochs=2,
        max_steps=-1,
        log_every_n_steps=7,
        val_check_interval=1.0,
        check_val_every_n_epoch=1,
        loggers=("CSVLogger",),
        callbacks=("Collect", "ModelCheckpoint"),
        profiler="PassThroughProfiler",
    )
    assert environment.loaders == (
        LoaderSettings(
            role="train",
            loader="DataLoader",
            dataset="TensorDataset",
            dataset_length=10,
            batch_size=4,
            drop_last=False,
            sampler="RandomSampler",
            batch_sampler="BatchSampler",
            shuffle=True,
            num_workers=1,
            prefetch_factor=3,
            pin_memory=False,
            persistent_workers=True,
            start_method=multiprocessing.get_start_method(),
        ),
        *(
            LoaderSettings(
                role="validate",
                name=name,
                loader="DataLoader",
                dataset="TensorDataset",
                dataset_length=10,
                batch_size=batch_size,
                drop_last=drop_last,
                sampler="SequentialSampler",
                batch_sampler="BatchSampler",
                shuffle=False,
                num_workers=0,
                pin_memory=False,
                persistent_workers=False,
            )
            for name, batch_size, drop_last in (("0", 2, False), ("1", 5, True))
        ),
    )
    assert environment.optimizers == (
        OptimizerSettings(optimizer="Adam", foreach=False, fused=None, capturable=False, groups=1, tensors=6),
    )
    assert environment.schedulers == ("StepLR",)
    # 4·8 + 8, 8 + 8, 8 + 1 parameters; running mean and variance of 8 in float32 and one int64 counter.
    assert environment.model == ModelSummary(
        model="Model",
        parameters=65,
        trainable_parameters=33,
        parameter_bytes=260,
        local_parameters=65,
        local_parameter_bytes=260,
        buffers=17,
        buffer_bytes=72,
        sharded=False,
        uninitialized_tensors=0,
        compiled=False,
        automatic_optimization=True,
    )
    assert msgspec.json.decode(msgspec.json.encode(environment), type=Environment) == environment


# --- loaders


def test_a_nested_collection_of_loaders_keeps_its_names() -> None:
    loader = DataLoader(TensorDataset(torch.zeros(3)))
    trainer = SimpleNamespace(
        train_dataloader={"a": loader, "b": [loader, loader]}, val_dataloaders=[loader], test_dataloaders=None
    )
    loaders = collect_environment(trainer).loaders
    assert loaders is not None
    assert [(one.role, one.name) for one in loaders] == [
        ("train", "a"),
        ("train", "b.0"),
        ("train", "b.1"),
        ("validate", None),
    ]


def test_a_loader_is_not_iterated_and_an_iterable_dataset_not_asked_for_its_length() -> None:
    asked: list[str] = []

    class Stream(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            asked.append("iter")

        def __len__(self) -> int:
            asked.append("len")
            return 5

    assert describe_loader(DataLoader(Stream(), batch_size=None, num_workers=2), "train") == LoaderSettings(
        role="train",
        loader="DataLoader",
        dataset="Stream",
        drop_last=False,
        sampler="_InfiniteConstantSampler",
        num_workers=2,
        prefetch_factor=2,
        pin_memory=False,
        persistent_workers=False,
        start_method=multiprocessing.get_start_method(),
    )
    assert asked == []


def test_batch_size_of_a_batch_sampler_and_start_method_of_a_context() -> None:
    data = TensorDataset(torch.zeros(9))
    sampler = torch.utils.data.BatchSampler(RandomSampler(data), 3, drop_last=False)
    loader = DataLoader(data, batch_sampler=sampler, num_workers=1, multiprocessing_context="spawn")
    settings = describe_loader(loader, "train")
    assert (settings.batch_size, settings.batch_sampler, settings.start_method) == (3, "BatchSampler", "spawn")


@pytest.mark.parametrize("shuffle", [True, False])
def test_shuffling_of_a_distributed_sampler(shuffle: bool) -> None:
    data = TensorDataset(torch.zeros(9))
    sampler = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, shuffle=shuffle)
    assert describe_loader(DataLoader(data, sampler=sampler), "train").shuffle is shuffle


def test_a_loader_of_another_kind_says_what_it_can() -> None:
    assert describe_loader([1, 2], "train") == LoaderSettings(role="train", loader="list")


def test_the_start_method_is_not_fixed_by_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, bool]] = []
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda **options: asked.append(options))
    settings = describe_loader(DataLoader(TensorDataset(torch.zeros(1)), num_workers=1), "train")
    assert asked == [{"allow_none": True}]
    assert settings.start_method == multiprocessing.get_all_start_methods()[0]


# --- optimizer and trainer


def test_optimizer_flags_of_the_first_group() -> None:
    layer = nn.Linear(2, 2)
    groups = [{"params": [layer.weight]}, {"params": [layer.bias], "lr": 1.0}]
    assert describe_optimizer(torch.optim.AdamW(groups, fused=True)) == OptimizerSettings(
        optimizer="AdamW", foreach=None, fused=True, capturable=False, groups=2, tensors=2
    )


def test_val_check_interval_may_be_a_count_a_share_or_text() -> None:
    for value, expected in ((100, 100), (0.25, 0.25), ("00:00:10:00", "00:00:10:00"), (None, None)):
        assert collect_trainer(SimpleNamespace(val_check_interval=value)).val_check_interval == expected
    assert type(collect_trainer(SimpleNamespace(val_check_interval=100)).val_check_interval) is int


def test_no_collective_property_is_read() -> None:
    class Trainer:
        @property
        def log_dir(self) -> str:
            raise SystemExit("a collective call")

    assert collect_environment(Trainer()).trainer == TrainerSettings()


# --- model


def test_lazy_parameters_have_no_size_yet() -> None:
    module = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 2))
    summary = summarize_model(module)
    assert (summary.parameters, summary.trainable_parameters, summary.parameter_bytes) == (None, None, None)
    assert (summary.local_parameters, summary.local_parameter_bytes, summary.uninitialized_tensors) == (8, 32, 2)
    assert summary.sharded is None


def test_meta_and_shared_parameters_count_once() -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(10, 10, bias=False), nn.Linear(10, 10, bias=False))
    module[1].weight = module[0].weight
    summary = summarize_model(module.to(torch.bfloat16))
    assert (summary.parameters, summary.parameter_bytes) == (100, 200)


class FakeModule:
    """A module of tensors described by attributes."""

    automatic_optimization = False

    def __init__(self, *parameters: Any, parts: tuple[Any, ...] = ()) -> None:
        self._tensors = parameters
        self._parts = parts

    def parameters(self) -> Any:
        return iter(self._tensors)

    def buffers(self) -> Any:
        return iter(())

    def modules(self) -> Any:
        return iter((self, *self._parts))


def fake_tensor(elements: int, item_bytes: int = 4, trainable: bool = True, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(requires_grad=trainable, numel=lambda: elements, element_size=lambda: item_bytes, **more)


def test_a_distributed_tensor_is_whole_by_shape_and_local_by_shard() -> None:
    shard = fake_tensor(100, _local_tensor=fake_tensor(25))
    summary = summarize_model(FakeModule(shard, fake_tensor(7, trainable=False)))
    assert (summary.parameters, summary.trainable_parameters, summary.parameter_bytes) == (107, 100, 428)
    assert (summary.local_parameters, summary.local_parameter_bytes, summary.sharded) == (32, 128, True)
    assert summary.automatic_optimization is False


def test_deepspeeds_empty_tensors_keep_their_size_beside_them() -> None:
    summary = summarize_model(FakeModule(fake_tensor(0, 2, ds_numel=64, ds_tensor=fake_tensor(16))))
    assert (summary.parameters, summary.parameter_bytes) == (64, 128)
    assert (summary.local_parameters, summary.local_parameter_bytes, summary.sharded) == (16, 32, True)


def test_flat_parameters_keep_the_shapes_of_the_originals() -> None:
    flat = fake_tensor(8, _shapes=[torch.Size([3, 4]), torch.Size([3])])
    part = SimpleNamespace(_handle=SimpleNamespace(flat_param=flat))
    summary = summarize_model(FakeModule(fake_tensor(8), fake_tensor(0)), FakeModule(parts=(part,)))
    assert (summary.parameters, summary.trainable_parameters, summary.parameter_bytes) == (15, 15, 60)
    assert (summary.local_parameters, summary.sharded) == (8, True)


def test_flat_parameters_of_one_rank_are_not_sharded() -> None:
    part = SimpleNamespace(_handle=SimpleNamespace(flat_param=fake_tensor(15, _shapes=[torch.Size([3, 5])])))
    summary = summarize_model(FakeModule(fake_tensor(15)), FakeModule(parts=(part,)))
    assert (summary.parameters, summary.local_parameters, summary.sharded) == (15, 15, False)


def test_flat_parameters_that_do_not_tell_leave_the_whole_unknown() -> None:
    part = SimpleNamespace(_handle=SimpleNamespace(flat_param=fake_tensor(8)))
    summary = summarize_model(FakeModule(fake_tensor(8)), FakeModule(parts=(part,)))
    assert (summary.parameters, summary.trainable_parameters, summary.parameter_bytes) == (None, None, None)
    assert (summary.local_parameters, summary.sharded) == (8, None)


def test_compilation_is_seen_in_all_its_forms() -> None:
    module = nn.Sequential(nn.Linear(1, 1))
    assert summarize_model(module).compiled is False
    assert summarize_model(module, torch.compile(nn.Linear(1, 1))).compiled is True
    module[0].compile()
    assert summarize_model(module).compiled is True
    unwrapped = nn.Linear(1, 1)
    unwrapped._compiler_ctx = {"compiler": "dynamo"}  # as Lightning leaves it
    assert summarize_model(unwrapped).compiled is True


# --- numerics and accelerators


def test_tf32_by_the_newer_setting_where_the_older_flag_raises() -> None:
    class Matmul:
        fp32_precision = "tf32"

        @property
        def allow_tf32(self) -> bool:
            raise RuntimeError("mix of the legacy and new APIs")

    backends = SimpleNamespace(cuda=SimpleNamespace(matmul=Matmul()), cudnn=SimpleNamespace(allow_tf32=False))
    numerics = collect_numerics(SimpleNamespace(backends=backends))
    assert (numerics.matmul_tf32, numerics.cudnn_tf32, numerics.cudnn_benchmark) == (True, False, None)


def fake_torch(count: int, initialized: bool) -> SimpleNamespace:
    def properties(index: int) -> SimpleNamespace:
        assert initialized, "would start CUDA"
        name, memory = ("big", 80) if index < 2 else ("small", 24)
        return SimpleNamespace(name=name, total_memory=memory, major=9, minor=0, multi_processor_count=132)

    cuda = SimpleNamespace(
        device_count=lambda: count, is_initialized=lambda: initialized, get_device_properties=properties
    )
    return SimpleNamespace(cuda=cuda, backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False)))


def test_equal_accelerators_are_one_entry() -> None:
    same = {"kind": "cuda", "compute_capability": "9.0", "processors": 132}
    assert collect_accelerators(fake_torch(3, initialized=True)) == (
        Accelerator(count=2, name="big", memory_bytes=80, **same),  # type: ignore[arg-type]
        Accelerator(count=1, name="small", memory_bytes=24, **same),  # type: ignore[arg-type]
    )


def test_cuda_is_not_started_to_ask() -> None:
    assert collect_accelerators(fake_torch(2, initialized=False)) == (Accelerator(kind="cuda", count=2),)
    assert collect_accelerators(fake_torch(0, initialized=False)) == ()


def test_the_driver_version_is_the_kernel_modules(tmp_path: Any) -> None:
    for line in (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (dvs-builder@U16)\n",
    ):
        (tmp_path / "version").write_text(line + "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
        assert nvidia_driver(tmp_path / "version") == "535.104.05"


# --- host


def write(path: Any, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tightest_limit_of_nested_cgroups(tmp_path: Any) -> None:
    write(tmp_path / "proc", "0::/pod/container\n")
    write(tmp_path / "fs/cpu.max", "800000 100000\n")
    write(tmp_path / "fs/pod/cpu.max", "150000 100000\n")
    write(tmp_path / "fs/pod/memory.max", "2000000\n")
    write(tmp_path / "fs/pod/container/cpu.max", "max 100000\n")
    write(tmp_path / "fs/pod/container/memory.max", "3000000\n")
    assert host.cgroup_cores(tmp_path / "proc", tmp_path / "fs") == 1.5
    assert host.cgroup_memory_bytes(tmp_path / "proc", tmp_path / "fs") == 2_000_000


def test_cgroups_of_version_1_and_no_limit(tmp_path: Any) -> None:
    write(tmp_path / "proc", "7:memory:/job\n3:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n")
    write(tmp_path / "fs/cpu/job/cpu.cfs_quota_us", "50000\n")
    write(tmp_path / "fs/cpu/job/cpu.cfs_period_us", "100000\n")
    write(tmp_path / "fs/memory/job/memory.limit_in_bytes", "9223372036854771712\n")
    assert host.cgroup_cores(tmp_path / "proc", tmp_path / "fs") == 0.5
    assert host.cgroup_memory_bytes(tmp_path / "proc", tmp_path / "fs") is None
    write(tmp_path / "fs/cpu/job/cpu.cfs_quota_us", "-1\n")
    assert host.cgroup_cores(tmp_path / "proc", tmp_path / "fs") is None


def test_a_container_that_sees_the_hosts_path_has_its_limit_at_the_top(tmp_path: Any) -> None:
    write(tmp_path / "proc", "0::/docker/0123\n")
    write(tmp_path / "fs/cpu.max", "400000 100000\n")
    assert host.cgroup_cores(tmp_path / "proc", tmp_path / "fs") == 4.0
    assert host.cgroup_cores(tmp_path / "none", tmp_path / "fs") is None


def test_usable_cores_are_the_smaller_of_affinity_and_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "affinity_cores", lambda: 8)
    monkeypatch.setattr(host, "cgroup_cores", lambda: 2.5)
    assert host.collect_host().usable_cores == 2.5
    monkeypatch.setattr(host, "cgroup_cores", lambda: None)
    assert host.collect_host().usable_cores == 8.0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity to read")
def test_affinity_of_this_process() -> None:
    assert host.affinity_cores() == len(os.sched_getaffinity(0))


@pytest.mark.skipif(platform.system() != "Linux", reason="/proc/cpuinfo is Linux's")
def test_the_cpu_model_is_the_first_cores(tmp_path: Any) -> None:
    write(
        tmp_path / "cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n\nprocessor\t: 1\nmodel name\t: Other\n"
    )
    assert host.cpu_model(tmp_path / "cpuinfo") == "Some CPU @ 2 GHz"
    write(tmp_path / "cpuinfo", "processor\t: 0\nBogoMIPS\t: 1\n\nprocessor\t: 1\nmodel name\t: Other\n")
    assert host.cpu_model(tmp_path / "cpuinfo") is None
