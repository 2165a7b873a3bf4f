"""Utilisation, memory and power of this process's NVIDIA GPUs, from NVML."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tb_aiperf.capture.rates import Unavailable


class VisibleGpus:
    """NVML handles of the GPUs that this process can see, opened at first use.

    ordinals: CUDA ordinals to restrict them to; None means all.
    """

    def __init__(self, ordinals: Sequence[int] | None = None) -> None:
        self._ordinals = ordinals
        self._handles: list[Any] | None = None
        self.nvml: Any = None

    def handles(self) -> list[Any]:
        """One handle per GPU, or per MIG instance. Raises `Unavailable` where there are none."""
        if self._handles is None:
            self._handles = self._open()
        if not self._handles:
            raise Unavailable("no NVIDIA GPU is visible to this process")
        return self._handles

    def _open(self) -> list[Any]:
        try:
            import pynvml as nvml

            nvml.nvmlInit()
        except ImportError:
            raise Unavailable("nvidia-ml-py is not installed") from None
        except Exception as error:
            raise Unavailable(f"NVML does not start: {error}") from error
        self.nvml = nvml
        if self._ordinals is not None and (uuids := _torch_uuids(self._ordinals)) is not None:
            with contextlib.suppress(nvml.NVMLError):
                return [_handle_by_uuid(nvml, uuid) for uuid in uuids]
        visible = visible_handles(nvml, os.environ.get("CUDA_VISIBLE_DEVICES"))
        if self._ordinals is None:
            return visible
        return [visible[ordinal] for ordinal in self._ordinals if 0 <= ordinal < len(visible)]


def visible_handles(nvml: Any, variable: str | None) -> list[Any]:
    """NVML handles in the order of CUDA's ordinals, for a value of CUDA_VISIBLE_DEVICES (None: unset).

    Entries are indices, UUIDs or unambiguous beginnings of UUIDs, and UUIDs of MIG instances; as in CUDA, an entry that
    names no device hides itself and all after it.
    """
    handles: list[Any] = []
    if variable is None:
        for index in range(nvml.nvmlDeviceGetCount()):
            # NVML counts GPUs that a container or a job may not open; CUDA does not see those.
            with contextlib.suppress(nvml.NVMLError):
                handles.append(nvml.nvmlDeviceGetHandleByIndex(index))
        return handles
    for entry in filter(None, (entry.strip() for entry in variable.split(","))):
        try:
            if entry.lstrip("-").isdigit():
                if int(entry) < 0:
                    break
                handles.append(nvml.nvmlDeviceGetHandleByIndex(int(entry)))
            else:
                handles.append(_handle_by_uuid(nvml, entry))
        except nvml.NVMLError:
            break
    return handles


def _handle_by_uuid(nvml: Any, uuid: str) -> Any:
    """Handle of the device or MIG instance whose UUID is, or begins with, `uuid`."""
    try:
        return nvml.nvmlDeviceGetHandleByUUID(uuid)
    except nvml.NVMLError:
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            if str(nvml.nvmlDeviceGetUUID(handle)).startswith(uuid):
                return handle
        raise


def _torch_uuids(ordinals: Sequence[int]) -> list[str] | None:
    """UUIDs of CUDA ordinals as torch reports them; None where it cannot tell without starting CUDA.

    CUDA numbers the fastest GPU first, NVML goes by the bus: on a machine of unequal GPUs only UUIDs match them.
    """
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return None
        return [f"GPU-{torch.cuda.get_device_properties(ordinal).uuid}" for ordinal in ordinals]
    except Exception:  # noqa: BLE001  older versions of torch have no UUID
        return None


class GpuSource:
    """One quantity over all of the process's GPUs; each is a source of its own, since a GPU may lack some."""

    def __init__(self, key: str, gpus: VisibleGpus) -> None:
        self.name = key
        self.keys: tuple[str, ...] = (key,)
        self._gpus = gpus
        self._combine = _COMBINE[key]

    def read(self, now_ns: int) -> Mapping[str, float]:
        """See `Source.read`."""
        handles = self._gpus.handles()
        nvml = self._gpus.nvml
        try:
            return {self.keys[0]: self._combine(nvml, handles)}
        except nvml.NVMLError_NotSupported as error:
            raise Unavailable("the GPU or its MIG instance does not report it") from error


def _utilisation_share(nvml: Any, handles: Sequence[Any]) -> float:
    percent = [float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu) for handle in handles]
    return sum(percent) / 100 / len(percent)


def _memory_bytes(nvml: Any, handles: Sequence[Any]) -> float:
    return float(sum(_used_bytes(nvml, handle) for handle in handles))


def _used_bytes(nvml: Any, handle: Any) -> int:
    """Memory that programs use. NVML's first version of the call adds what the driver keeps for itself."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2).used)
    except (nvml.NVMLError, AttributeError, TypeError):
        return int(nvml.nvmlDeviceGetMemoryInfo(handle).used)


def _power_watts(nvml: Any, handles: Sequence[Any]) -> float:
    milliwatts = sum(int(nvml.nvmlDeviceGetPowerUsage(handle)) for handle in handles)
    return milliwatts / 1000


_COMBINE: dict[str, Callable[[Any, Sequence[Any]], float]] = {
    "gpu_utilisation_share": _utilisation_share,
    "gpu_memory_bytes": _memory_bytes,
    "gpu_power_watts": _power_watts,
}
