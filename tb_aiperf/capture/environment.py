"""`collect_environment`: what a training runs on and with, read without disturbing it.

Every probe stands alone and yields None where it fails. Nothing here imports torch or Lightning (what the program has
not loaded, it does not use), starts CUDA, waits for a device, iterates a loader or makes a collective call. The Trainer
is known by its attributes only.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tb_aiperf.capture.host import collect_host, guarded
from tb_aiperf.capture.model_summary import summarize_model
from tb_aiperf.records.environment import (
    Accelerator,
    Environment,
    LoaderSettings,
    Numerics,
    OptimizerSettings,
    ThreadSettings,
    TrainerSettings,
    Versions,
)
from tb_aiperf.version import __version__

T = TypeVar("T")

#: Environment variables that bear on speed. A fixed list: any other may hold a secret.
VARIABLES: tuple[str, ...] = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MALLOC_ARENA_MAX",
    "MKL_NUM_THREADS",
    "NCCL_ALGO",
    "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT",
    "NCCL_BUFFSIZE",
    "NCCL_CROSS_NIC",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "NCCL_SOCKET_NTHREADS",
    "NUMEXPR_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_WAIT_POLICY",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TORCHDYNAMO_DISABLE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CUDNN_V8_API_DISABLED",
    "TORCH_DISTRIBUTED_DEBUG",
    "TORCH_LOGS",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_AVOID_RECORD_STREAMS",
    "TORCH_NCCL_BLOCKING_WAIT",
)

#: Role of a loader and the Trainer's attribute that holds its loaders once the loop has made them.
_LOADERS = (
    ("train", "train_dataloader"),
    ("validate", "val_dataloaders"),
    ("test", "test_dataloaders"),
    ("predict", "predict_dataloaders"),
)


def collect_environment(trainer: Any = None, module: Any = None) -> Environment:
    """Environment of this process; with a Trainer and a module, of the attempt that they make. Never raises.

    Loaders, optimizers and the model are known best once training starts (Lightning's ``on_train_start``): before that
    the Trainer has no loaders and may not have wrapped the model.
    """
    torch = sys.modules.get("torch")
    return Environment(
        versions=guarded(lambda: collect_versions(torch)) or Versions(),
        host=collect_host(),
        accelerators=guarded(lambda: collect_accelerators(torch)),
        threads=guarded(lambda: collect_threads(torch)) or ThreadSettings(),
        numerics=guarded(lambda: collect_numerics(torch, trainer)) or Numerics(),
        trainer=None if trainer is None else guarded(lambda: collect_trainer(trainer)),
        loaders=None if trainer is None else guarded(lambda: collect_loaders(trainer)),
        optimizers=None if trainer is None else guarded(lambda: tuple(map(describe_optimizer, trainer.optimizers))),
        schedulers=None
        if trainer is None
        else guarded(lambda: tuple(_name(config.scheduler) for config in trainer.lr_scheduler_configs)),
        model=None
        if module is None
        else guarded(lambda: summarize_model(module, guarded(lambda: trainer.strategy.model))),
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def collect_versions(torch: Any) -> Versions:
    """Versions of what the program has loaded."""
    cuda = guarded(lambda: torch.version.cuda)
    return Versions(
        tb_aiperf=__version__,
        python=platform.python_version(),
        torch=_module_version("torch"),
        lightning=_module_version("lightning"),
        pytorch_lightning=_module_version("pytorch_lightning"),
        numpy=_module_version("numpy"),
        cuda_runtime=cuda,
        rocm=guarded(lambda: torch.version.hip),
        cudnn=guarded(lambda: _optional_text(torch.backends.cudnn.version())),
        nccl=guarded(lambda: ".".join(map(str, torch.cuda.nccl.version()))) if cuda else None,
        nvidia_driver=guarded(nvidia_driver),
    )


def nvidia_driver(path: Path = Path("/proc/driver/nvidia/version")) -> str | None:
    """Version of the kernel's NVIDIA driver (Linux)."""
    found = re.search(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", path.read_text(), re.MULTILINE)
    return found[1] if found else None


def collect_accelerators(torch: Any) -> tuple[Accelerator, ...] | None:
    """Accelerators that the process can see. Does not start CUDA: without it names and sizes are None."""
    if torch is None:
        return None
    if guarded(torch.backends.mps.is_available):
        # Metal shares the host's memory; the figure is what it recommends to stay under.
        return (Accelerator(kind="mps", count=1, memory_bytes=guarded(torch.mps.recommended_max_memory)),)
    count = torch.cuda.device_count()
    if not torch.cuda.is_initialized():
        return (Accelerator(kind="cuda", count=count),) if count else ()
    found: dict[Accelerator, int] = {}
    for index in range(count):
        properties = torch.cuda.get_device_properties(index)
        device = Accelerator(
            kind="cuda",
            count=1,
            name=properties.name,
            memory_bytes=properties.total_memory,
            compute_capability=f"{properties.major}.{properties.minor}",
            processors=getattr(properties, "multi_processor_count", None),
        )
        found[device] = found.get(device, 0) + 1
    return tuple(_with_count(device, number) for device, number in found.items())


def collect_threads(torch: Any) -> ThreadSettings:
    """Sizes of the CPU thread pools."""
    report = guarded(lambda: torch.__config__.parallel_info()) or ""

    def reported(name: str) -> int | None:
        found = re.search(rf"{name}\(\)\s*:\s*(\d+)", report)
        return int(found[1]) if found else None

    return ThreadSettings(
        intra_op=guarded(lambda: torch.get_num_threads()),
        inter_op=guarded(lambda: torch.get_num_interop_threads()),
        openmp=reported("omp_get_max_threads"),
        mkl=reported("mkl_get_max_threads"),
        omp_num_threads=os.environ.get("OMP_NUM_THREADS"),
    )


def collect_numerics(torch: Any, trainer: Any = None) -> Numerics:
    """Precision and repeatability settings."""
    return Numerics(
        precision=guarded(lambda: _optional_text(trainer.precision)),
        precision_plugin=guarded(lambda: _optional_name(trainer.precision_plugin)),
        float32_matmul_precision=guarded(lambda: torch.get_float32_matmul_precision()),
        matmul_tf32=_tf32(lambda: torch.backends.cuda.matmul),
        cudnn_tf32=_tf32(lambda: torch.backends.cudnn),
        cudnn_benchmark=guarded(lambda: torch.backends.cudnn.benchmark),
        cudnn_deterministic=guarded(lambda: torch.backends.cudnn.deterministic),
        deterministic_algorithms=guarded(lambda: torch.are_deterministic_algorithms_enabled()),
        anomaly_detection=guarded(lambda: torch.is_anomaly_enabled()),
    )


def _tf32(backend: Callable[[], Any]) -> bool | None:
    """Whether a backend may use TF32. The older flag raises once a program has used the newer setting."""
    older = guarded(lambda: bool(backend().allow_tf32))
    return guarded(lambda: bool(backend().fp32_precision == "tf32")) if older is None else older


def collect_trainer(trainer: Any) -> TrainerSettings:
    """Settings of a Trainer. Reads plain attributes: ``log_dir`` and the like are collective calls."""

    def read(name: str, kind: Callable[[Any], T]) -> T | None:
        def probe() -> T | None:
            value = getattr(trainer, name)
            return None if value is None else kind(value)

        return guarded(probe)

    return TrainerSettings(
        strategy=read("strategy", _name),
        accelerator=read("accelerator", _name),
        world_size=read("world_size", int),
        nodes=read("num_nodes", int),
        devices=read("num_devices", int),
        accumulate_grad_batches=read("accumulate_grad_batches", int),
        gradient_clip_val=read("gradient_clip_val", float),
        gradient_clip_algorithm=read("gradient_clip_algorithm", lambda value: str(getattr(value, "value", value))),
        max_epochs=read("max_epochs", int),
        max_steps=read("max_steps", int),
        log_every_n_steps=read("log_every_n_steps", int),
        val_check_interval=read(
            "val_check_interval", lambda value: value if type(value) in (int, float) else str(value)
        ),
        check_val_every_n_epoch=read("check_val_every_n_epoch", int),
        loggers=read("loggers", lambda values: tuple(map(_name, values))),
        callbacks=read("callbacks", lambda values: tuple(map(_name, values))),
        profiler=read("profiler", _name),
    )


def collect_loaders(trainer: Any) -> tuple[LoaderSettings, ...] | None:
    """Settings of every loader that the Trainer's loops hold; None where it does not tell."""
    found: list[LoaderSettings] = []
    told = False
    for role, attribute in _LOADERS:
        try:
            # Lightning's property returns the loaders that its loop holds and makes none.
            loaders = getattr(trainer, attribute)
        except Exception:  # noqa: BLE001  a Trainer of another kind
            continue
        told = True
        found.extend(describe_loader(loader, role, name) for name, loader in _flatten(loaders))
    return tuple(found) if told else None


def _flatten(loaders: Any, name: str | None = None) -> Iterator[tuple[str | None, Any]]:
    """(name, loader) of a loader or of a nested collection of them."""
    if loaders is None:
        return
    if isinstance(loaders, Mapping):
        members = list(loaders.items())
    elif isinstance(loaders, (list, tuple)):
        members = list(enumerate(loaders))
    else:
        yield name, loaders
        return
    for key, member in members:
        if name is not None:
            yield from _flatten(member, f"{name}.{key}")
        elif len(members) == 1 and isinstance(loaders, (list, tuple)):
            yield from _flatten(member)
        else:
            yield from _flatten(member, str(key))


def describe_loader(loader: Any, role: str, name: str | None = None) -> LoaderSettings:
    """Settings of one loader; those it does not have are None."""

    def read(attribute: str, kind: Callable[[Any], T]) -> T | None:
        def probe() -> T | None:
            value = getattr(loader, attribute)
            return None if value is None else kind(value)

        return guarded(probe)

    dataset: Any = guarded(lambda: loader.dataset)
    sampler: Any = guarded(lambda: loader.sampler)
    batch_size = read("batch_size", int)
    if batch_size is None:
        batch_size = guarded(lambda: int(loader.batch_sampler.batch_size))
    return LoaderSettings(
        role=role,
        name=name,
        loader=_name(loader),
        dataset=_optional_name(dataset),
        # Lightning asks a map-style dataset for its length as well. An iterable one may have to read itself through.
        dataset_length=None if _is_a(dataset, "IterableDataset") else guarded(lambda: len(dataset)),
        batch_size=batch_size,
        drop_last=read("drop_last", bool),
        sampler=_optional_name(sampler),
        batch_sampler=read("batch_sampler", _name),
        shuffle=_shuffles(sampler),
        num_workers=read("num_workers", int),
        prefetch_factor=read("prefetch_factor", int),
        pin_memory=read("pin_memory", bool),
        persistent_workers=read("persistent_workers", bool),
        start_method=_start_method(loader) if read("num_workers", int) else None,
    )


def _shuffles(sampler: Any) -> bool | None:
    if _is_a(sampler, "RandomSampler"):
        return True
    if _is_a(sampler, "SequentialSampler"):
        return False
    # DistributedSampler and its like keep the flag.
    flag = guarded(lambda: sampler.shuffle)
    return flag if isinstance(flag, bool) else None


def _start_method(loader: Any) -> str | None:
    context = guarded(lambda: loader.multiprocessing_context)
    if context is not None:
        return guarded(lambda: str(context.get_start_method()))
    # Without allow_none the call would fix the method for the whole program.
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def describe_optimizer(optimizer: Any) -> OptimizerSettings:
    """Settings of one optimizer."""
    groups: list[dict[str, Any]] | None = guarded(lambda: list(optimizer.param_groups))

    def flag(name: str) -> bool | None:
        value = guarded(lambda: groups[0].get(name)) if groups else None
        return value if isinstance(value, bool) else None

    return OptimizerSettings(
        optimizer=_name(optimizer),
        foreach=flag("foreach"),
        fused=flag("fused"),
        capturable=flag("capturable"),
        groups=None if groups is None else len(groups),
        tensors=guarded(lambda: sum(len(group["params"]) for group in groups or ())),
    )


def _with_count(device: Accelerator, count: int) -> Accelerator:
    return Accelerator(
        kind=device.kind,
        count=count,
        name=device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=device.compute_capability,
        processors=device.processors,
    )


def _module_version(name: str) -> str | None:
    return guarded(lambda: _optional_text(sys.modules[name].__version__))


def _name(value: Any) -> str:
    return type(value).__name__


def _optional_name(value: Any) -> str | None:
    return None if value is None else _name(value)


def _optional_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _is_a(value: Any, name: str) -> bool:
    """Whether a base class of `value` has this name; spares importing the class."""
    return any(base.__name__ == name for base in type(value).__mro__)
