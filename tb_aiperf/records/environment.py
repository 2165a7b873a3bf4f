"""`Environment`: hardware, versions and settings that an attempt ran with, as far as they bear on its speed.

Everywhere in this module None means "could not be determined" (or "does not apply"), never "zero" or "off".
"""

from __future__ import annotations

import msgspec


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Version strings. lightning and pytorch_lightning: whichever of the two packages is loaded."""

    tb_aiperf: str | None = None
    python: str | None = None
    torch: str | None = None
    lightning: str | None = None
    pytorch_lightning: str | None = None
    numpy: str | None = None
    cuda_runtime: str | None = None
    rocm: str | None = None
    cudnn: str | None = None
    nccl: str | None = None
    nvidia_driver: str | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of this rank.

    affinity_cores: logical cores that the scheduler lets this process run on. cgroup_cores: CPU quota of its container
    in cores, a fraction where the quota is one. usable_cores: the smaller of both. memory_bytes: physical memory;
    cgroup_memory_bytes: the container's limit. A cgroup figure is None where no limit is set.
    """

    hostname: str | None = None
    operating_system: str | None = None
    architecture: str | None = None
    cpu_model: str | None = None
    physical_cores: int | None = None
    logical_cores: int | None = None
    affinity_cores: int | None = None
    cgroup_cores: float | None = None
    usable_cores: float | None = None
    memory_bytes: int | None = None
    cgroup_memory_bytes: int | None = None


class Accelerator(msgspec.Struct, frozen=True, kw_only=True):
    """Equal accelerators that this process can see.

    kind: torch's device type (``cuda``, ``mps``). count: how many. memory_bytes: of one. compute_capability: CUDA's,
    such as ``9.0``. processors: streaming multiprocessors of one.
    """

    kind: str
    count: int
    name: str | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None
    processors: int | None = None


class ThreadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """CPU threads of the training process.

    intra_op, inter_op: torch's pools. openmp, mkl: the most threads either library uses. omp_num_threads: the
    environment variable OMP_NUM_THREADS, None where unset.
    """

    intra_op: int | None = None
    inter_op: int | None = None
    openmp: int | None = None
    mkl: int | None = None
    omp_num_threads: str | None = None


class Numerics(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that trade precision or repeatability for speed.

    precision: the Trainer's, such as ``bf16-mixed``. precision_plugin: class name. float32_matmul_precision:
    ``highest``, ``high`` or ``medium``. matmul_tf32, cudnn_tf32: whether float32 work may run in TF32.
    anomaly_detection: autograd's, which makes backward passes several times slower.
    """

    precision: str | None = None
    precision_plugin: str | None = None
    float32_matmul_precision: str | None = None
    matmul_tf32: bool | None = None
    cudnn_tf32: bool | None = None
    cudnn_benchmark: bool | None = None
    cudnn_deterministic: bool | None = None
    deterministic_algorithms: bool | None = None
    anomaly_detection: bool | None = None


class TrainerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The Trainer's settings, in its own words: ``max_steps`` -1 means no limit.

    strategy, accelerator, profiler, loggers, callbacks: class names. world_size: processes of the attempt.
    devices: per node. gradient_clip_algorithm: ``norm`` or ``value``. val_check_interval: batches where an integer,
    share of an epoch where a fraction, time where text.
    """

    strategy: str | None = None
    accelerator: str | None = None
    world_size: int | None = None
    nodes: int | None = None
    devices: int | None = None
    accumulate_grad_batches: int | None = None
    gradient_clip_val: float | None = None
    gradient_clip_algorithm: str | None = None
    max_epochs: int | None = None
    max_steps: int | None = None
    log_every_n_steps: int | None = None
    val_check_interval: int | float | str | None = None
    check_val_every_n_epoch: int | None = None
    loggers: tuple[str, ...] | None = None
    callbacks: tuple[str, ...] | None = None
    profiler: str | None = None


class LoaderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One data loader.

    role: ``train``, ``validate``, ``test`` or ``predict``. name: its key or index where the role has several.
    loader, dataset, sampler, batch_sampler: class names. prefetch_factor: batches per worker. shuffle: None where the
    sampler does not tell. start_method: how workers start (``fork``, ``spawn``, ``forkserver``).
    dataset_length: samples, None for an iterable dataset. batch_size: samples per batch on this rank.
    """

    role: str
    name: str | None = None
    loader: str | None = None
    dataset: str | None = None
    dataset_length: int | None = None
    batch_size: int | None = None
    drop_last: bool | None = None
    sampler: str | None = None
    batch_sampler: str | None = None
    shuffle: bool | None = None
    num_workers: int | None = None
    prefetch_factor: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    start_method: str | None = None


class OptimizerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One optimizer.

    optimizer: class name. foreach, fused, capturable: flags of its first group; None also where the choice is left to
    torch. tensors: parameter tensors over all groups.
    """

    optimizer: str
    foreach: bool | None = None
    fused: bool | None = None
    capturable: bool | None = None
    groups: int | None = None
    tensors: int | None = None


class ModelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Size of the model. Shared parameters count once.

    parameters, trainable_parameters, parameter_bytes: of the whole model, even where it is sharded; None where that
    is not known (lazy parameters without a shape yet, a shard that does not tell its origin).
    local_parameters, local_parameter_bytes: what this rank holds while nothing is gathered. Equal to the whole unless
    the model is sharded. buffers, buffer_bytes: elements and bytes of buffers on this rank.
    sharded: whether this rank holds a part only, None where the whole is not known.
    uninitialized_tensors: lazy parameters and buffers without a shape.
    compiled: whether the module or one of its parts is compiled by torch.compile.
    """

    model: str | None = None
    parameters: int | None = None
    trainable_parameters: int | None = None
    parameter_bytes: int | None = None
    local_parameters: int | None = None
    local_parameter_bytes: int | None = None
    buffers: int | None = None
    buffer_bytes: int | None = None
    sharded: bool | None = None
    uninitialized_tensors: int | None = None
    compiled: bool | None = None
    automatic_optimization: bool | None = None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt ran on and with; recorded once per attempt and rank.

    accelerators: one entry per kind of device, empty where the process has none. schedulers: class names of
    learning-rate schedulers. variables: environment variables that bear on speed, those set only, from a fixed list.
    """

    versions: Versions = msgspec.field(default_factory=Versions)
    host: Host = msgspec.field(default_factory=Host)
    accelerators: tuple[Accelerator, ...] | None = None
    threads: ThreadSettings = msgspec.field(default_factory=ThreadSettings)
    numerics: Numerics = msgspec.field(default_factory=Numerics)
    trainer: TrainerSettings | None = None
    loaders: tuple[LoaderSettings, ...] | None = None
    optimizers: tuple[OptimizerSettings, ...] | None = None
    schedulers: tuple[str, ...] | None = None
    model: ModelSummary | None = None
    variables: dict[str, str] = msgspec.field(default_factory=dict)
