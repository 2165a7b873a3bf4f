"""`TraceProfile`: what one torch.profiler trace tells. Times are microseconds, shares lie in [0, 1].

Everywhere in this module None means "the trace does not tell"; a warning of the profile says why.
"""

from __future__ import annotations

import msgspec


class CategoryTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Exclusive parts of a step in microseconds; they sum to the step. A moment counts for the first that covers it.

    kernel: a kernel that is no collective's. memcpy, memset: copies and sets by the device. communication: a
    collective's kernel, or its host range on a CPU backend. runtime: a call of the device's runtime or driver.
    data_loading: the program waits in its data loader. cpu_op: an operator on any host thread. other: none of these.
    """

    kernel: float
    memcpy: float
    memset: float
    communication: float
    runtime: float
    data_loading: float
    cpu_op: float
    other: float


class IdleTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Idle time of the device inside a step in microseconds, by cause; they sum to the idle time.

    input: the program waits in its data loader. synchronisation: the device ran dry while the host was blocked waiting
    for it. launch: the host was in operators or launching, and nothing was queued. communication: the host was in a
    collective's call. other: none of these.
    """

    input: float
    synchronisation: float
    launch: float
    communication: float
    other: float


class StepProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One profiled step.

    step: number of the profiler's mark, None for the whole of a trace without marks. start_us: since the first event
    of the trace. partial: the trace may miss some of the step, or hold work of the step before it. idle_us: None
    without device work.
    """

    step: int | None
    start_us: float
    duration_us: float
    partial: bool
    categories_us: CategoryTimes
    idle_us: IdleTimes | None


class DeviceTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The device from its first to its last work in microseconds.

    compute: kernels that are no collective, and memory sets. communication, memcpy: all of it; the exposed parts are
    what no compute (and for copies, no communication) hides. ``compute + communication_exposed + memcpy_exposed`` is
    busy, and ``busy + idle`` is total.
    """

    compute: float
    communication: float
    communication_exposed: float
    memcpy: float
    memcpy_exposed: float
    busy: float
    idle: float
    total: float


class OperatorTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of an operator. host_self_us: outside operators inside it. device_us: durations of the device work that
    it launched itself, added up, so that the operators and the unattributed time sum to the device's work.
    device_total_us: that of all inside it, too."""

    name: str
    calls: int
    host_self_us: float
    host_total_us: float
    device_us: float
    device_total_us: float


class OperatorShapeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of an operator with the same input shapes. shapes: JSON, None for calls whose shapes are not recorded.
    The times are those of `OperatorTimes`."""

    name: str
    shapes: str | None
    calls: int
    host_self_us: float
    host_total_us: float
    device_us: float
    device_total_us: float


class OperatorSteps(msgspec.Struct, frozen=True, kw_only=True):
    """An operator step by step: [k] for the k steps of the profile. A call belongs to the step in which it begins.
    The times are those of `OperatorTimes`."""

    name: str
    calls: list[int]
    host_self_us: list[float]
    device_us: list[float]


class CallSite(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of an operator from one place of the program.

    frames: Python frames as the profiler names them, ``file(line): function``, innermost first; those that tell no
    place are left out, and none are left where the trace does not tell. backward: the operator ran in a backward pass,
    and the frames are those of its forward call. The times are those of `OperatorTimes`.
    """

    operator: str
    frames: list[str]
    backward: bool
    calls: int
    host_self_us: float
    device_us: float


class ModuleTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of an instance of ``torch.nn.Module``, in its forward pass.

    module: the profiler's number of the instance. parent: place in the list of the module that called it first, None
    for the outermost. host_self_us, host_total_us: outside and including modules inside it. device_us: durations of
    the device work launched during its calls, added up.
    """

    name: str
    module: int
    parent: int | None
    calls: int
    host_self_us: float
    host_total_us: float
    device_us: float


class KernelTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a kernel; total_us: their durations, added up. communication: whether it is a collective's."""

    name: str
    communication: bool
    calls: int
    total_us: float
    min_us: float
    max_us: float


class DeviceWorkTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All device work of one name that one operator launched; copies and memory sets included.

    kind: ``kernel``, ``communication``, ``memcpy`` or ``memset``. operator: None where the trace does not tell.
    """

    name: str
    kind: str
    operator: str | None
    calls: int
    total_us: float
    min_us: float
    max_us: float


class OperationTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of a collective operation in a process group, as one rank saw them.

    total_us: durations, added up; waiting for other ranks included. exposed_us: the part of their union in which no
    kernel ran but those of collectives; None on a CPU backend. bytes: sent by this rank; None where not recorded.
    """

    operation: str
    group: str | None
    calls: int
    total_us: float
    exposed_us: float | None
    bytes: int | None


class MemoryHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that allocations of an operator hold at the peak. operator: None where no operator asked for them."""

    operator: str | None
    bytes: int


class DeviceMemoryProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one device.

    device: ``cpu`` or such as ``cuda:0``. relative: the profiler recorded no totals, so bytes count from the start of
    the trace. time_us, allocated_bytes, reserved_bytes: the curve, thinned so that peaks stay; reserved is None where
    not recorded. holders: what lives at the peak and was allocated within the trace, largest first.
    """

    device: str
    relative: bool
    peak_us: float
    peak_allocated_bytes: int
    peak_reserved_bytes: int | None
    time_us: list[float]
    allocated_bytes: list[int]
    reserved_bytes: list[int] | None
    holders: list[MemoryHolder]


class MemoryProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of each device that the profiler recorded."""

    devices: list[DeviceMemoryProfile]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a person reads about a category, an idle cause or a kind of event. color: key into the palette."""

    key: str
    title: str
    color: str
    meaning: str


#: In order of priority: a moment counts for the first that covers it.
CATEGORIES: tuple[Part, ...] = (
    Part(key="kernel", title="Kernels", color="kernel", meaning="A kernel runs that is no collective's."),
    Part(key="memcpy", title="Copies", color="memcpy", meaning="The device copies, and no kernel runs."),
    Part(key="memset", title="Memory sets", color="memset", meaning="The device sets memory, and does nothing else."),
    Part(
        key="communication",
        title="Communication",
        color="communication",
        meaning="Only a collective runs: its kernel, or its range on the host with a CPU backend.",
    ),
    Part(
        key="runtime",
        title="Runtime calls",
        color="runtime",
        meaning="The host is in a call of the device's runtime or driver, and the device does nothing.",
    ),
    Part(
        key="data_loading",
        title="Data loading",
        color="data_loading",
        meaning="The program waits in its data loader, and the device does nothing.",
    ),
    Part(
        key="cpu_op",
        title="Host operators",
        color="cpu_op",
        meaning="A host thread runs an operator, and none of the above happens.",
    ),
    Part(key="other", title="Other", color="other", meaning="None of these: Python code, or what is not recorded."),
)

#: In order of priority.
IDLE_CAUSES: tuple[Part, ...] = (
    Part(key="input", title="Input", color="data_loading", meaning="The program waits in its data loader."),
    Part(
        key="synchronisation",
        title="Synchronisation",
        color="synchronisation",
        meaning="The device ran dry while the host was blocked waiting for it, until the next work starts.",
    ),
    Part(
        key="communication",
        title="Communication",
        color="communication",
        meaning="The host is in a collective's call.",
    ),
    Part(
        key="launch",
        title="Launch",
        color="runtime",
        meaning="The host is in operators or launching, and nothing was queued for the device.",
    ),
    Part(
        key="other",
        title="Other",
        color="other",
        meaning="The next work was queued in good time, or the host runs nothing that is recorded.",
    ),
)

#: What `Finding.cause` may be: no cause of idle time that is a category under another name.
FINDING_CAUSES: tuple[Part, ...] = (
    *CATEGORIES,
    *(cause for cause in IDLE_CAUSES if cause.key in ("synchronisation", "launch")),
)


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An interval with its expected value."""

    low: float
    expected: float
    high: float


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of time spent.

    cause: one of `FINDING_CAUSES`: on a device, its idle time goes by its causes. share: of the step
    time that the profile is judged by; no time counts for two findings, so those of a profile sum to at most 1.
    speedup: old over new step time if acted upon. evidence: the figures. action: what to try.
    """

    cause: str
    share: float
    speedup: Estimate
    evidence: str
    action: str


class TraceProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One trace file, read.

    device: name of the device that ran the work, ``cpu`` where the trace has no device work. marked: whether the
    program marked its steps. unattributed_device_us: device work whose operator the trace does not tell.
    profiler_overhead_us: time inside steps in which the profiler itself was at work, as far as it recorded that; a
    lower bound of what profiling cost. Tables come largest first; of very long ones the tail is left out, which
    a warning tells.
    """

    path: str
    rank: int | None
    world_size: int | None
    device: str
    marked: bool
    warnings: list[str]
    steps: list[StepProfile]
    device_timeline_us: DeviceTimes | None
    operators: list[OperatorTimes]
    operators_by_shape: list[OperatorShapeTimes] | None
    operators_by_step: list[OperatorSteps] | None
    call_sites: list[CallSite] | None
    modules: list[ModuleTimes] | None
    kernels: list[KernelTimes]
    device_work: list[DeviceWorkTimes]
    unattributed_device_us: float | None
    memory: MemoryProfile | None
    collectives: list[OperationTimes]
    profiler_overhead_us: float | None
    findings: list[Finding]


class CollectiveCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The n collectives of one rank in order of their start, as columns: what matching them across ranks needs.

    operation  [n] index into `operations`, such as ``all_reduce``
    group      [n] index into `groups`, -1 where the profiler recorded none
    sequence   [n] number of the collective within its group, -1 where the profiler recorded none
    start_ns, duration_ns  [n] on the rank's own clock, since 1970 where the trace tells its base
    """

    operations: list[str]
    groups: list[str]
    operation: list[int]
    group: list[int]
    sequence: list[int]
    start_ns: list[int]
    duration_ns: list[int]


class CollectiveTimes(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of a collective operation in a process group, matched across ranks.

    transfer_us: the shortest rank's duration per call, added up. wait_us: per rank, what its calls took above that.
    late_us: per rank, by how much it began after the first rank, added up; the rank that is late makes others wait.
    Both are None for a rank that is not in the group.
    """

    operation: str
    group: str | None
    calls: int
    transfer_us: float
    wait_us: list[float | None]
    late_us: list[float | None]


class CollectivesProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Collectives across the given ranks.

    ranks: in the order of every list here. clock_offset_us: of each rank's clock
    against the first's, estimated from the common ends of collectives; None where nothing matched.
    """

    ranks: list[int]
    calls: int
    operations: list[CollectiveTimes]
    clock_offset_us: list[float] | None
    warnings: list[str]


class TraceAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Several trace files, read.

    collectives: None unless there are traces of at least two ranks of one run with collectives.
    """

    traces: list[TraceProfile]
    collectives: CollectivesProfile | None
