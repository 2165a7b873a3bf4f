"""Size of a model: whole and held by this rank, for plain, lazy, meta and sharded parameters."""

from __future__ import annotations

from typing import Any

from tb_aiperf.capture.host import guarded
from tb_aiperf.records.environment import ModelSummary


def summarize_model(module: Any, wrapped: Any = None) -> ModelSummary:
    """Summary of `module`; `wrapped` is what the strategy runs (a DDP or FSDP wrapper around it), if anything.

    Reads shapes and flags only: no parameter's data is touched, so no device is waited for.
    """
    flat = guarded(lambda: _flat_parameters(wrapped)) or []
    tensors = [_Tensor(parameter) for parameter in module.parameters()]
    buffers = [_Tensor(buffer) for buffer in module.buffers()]
    shaped = [tensor for tensor in tensors if not tensor.lazy]
    local = sum(tensor.local for tensor in shaped)
    local_bytes = sum(tensor.local * tensor.item_bytes for tensor in shaped)
    whole: int | None = None
    trainable: int | None = None
    whole_bytes: int | None = None
    if flat:
        # Fully sharded by flat parameters: the module's own are views into this rank's shard and have lost their shape.
        whole = guarded(lambda: sum(_elements(shape) for parameter in flat for shape in parameter._shapes))
        if whole is not None and all(tensor.trainable for tensor in tensors):
            trainable = whole
        whole_bytes = guarded(
            lambda: sum(
                _elements(shape) * parameter.element_size() for parameter in flat for shape in parameter._shapes
            )
        )
    elif len(shaped) == len(tensors):
        whole = sum(tensor.whole for tensor in shaped)
        trainable = sum(tensor.whole for tensor in shaped if tensor.trainable)
        whole_bytes = sum(tensor.whole * tensor.item_bytes for tensor in shaped)
    return ModelSummary(
        model=type(module).__name__,
        parameters=whole,
        trainable_parameters=trainable,
        parameter_bytes=whole_bytes,
        local_parameters=local,
        local_parameter_bytes=local_bytes,
        buffers=sum(buffer.local for buffer in buffers),
        buffer_bytes=sum(buffer.local * buffer.item_bytes for buffer in buffers),
        sharded=_sharded(local, whole, shaped),
        uninitialized_tensors=sum(tensor.lazy for tensor in tensors + buffers),
        compiled=guarded(lambda: _compiled(module, wrapped)),
        automatic_optimization=guarded(lambda: bool(module.automatic_optimization)),
    )


class _Tensor:
    """Sizes of one parameter or buffer. whole, local: elements; equal unless the tensor is sharded."""

    __slots__ = ("item_bytes", "lazy", "local", "trainable", "whole")

    def __init__(self, tensor: Any) -> None:
        self.trainable = bool(tensor.requires_grad)
        self.item_bytes = 0
        self.whole = self.local = 0
        # A lazy module's parameter has no shape before the first forward pass, and raises when asked for it.
        self.lazy = _is_lazy(tensor)
        if self.lazy:
            return
        self.item_bytes = int(tensor.element_size())
        self.whole = self.local = int(tensor.numel())
        if (shard := getattr(tensor, "_local_tensor", None)) is not None:
            # A DTensor has the global shape. Its public to_local() is an operation of autograd.
            self.local = int(shard.numel())
        elif (elements := getattr(tensor, "ds_numel", None)) is not None:
            # DeepSpeed's third stage leaves an empty tensor and keeps the size and this rank's shard beside it.
            self.whole = int(elements)
            partition = guarded(lambda: int(tensor.ds_tensor.numel()))
            self.local = self.local if partition is None else partition


def _is_lazy(tensor: Any) -> bool:
    return any(base.__name__ == "UninitializedTensorMixin" for base in type(tensor).__mro__)


def _flat_parameters(wrapped: Any) -> list[Any]:
    """Flat parameters of FullyShardedDataParallel wrappers, each of which holds many original ones."""
    if wrapped is None:
        return []
    handles = [part.__dict__.get("_handle") for part in wrapped.modules()]
    return [handle.flat_param for handle in handles if hasattr(handle, "flat_param")]


def _sharded(local: int, whole: int | None, shaped: list[_Tensor]) -> bool | None:
    """Whether this rank holds a part only; None where the whole is not known and no single tensor tells."""
    if any(tensor.local < tensor.whole for tensor in shaped):
        return True
    return None if whole is None else local < whole


def _elements(shape: Any) -> int:
    elements = 1
    for size in shape:
        elements *= int(size)
    return elements


def _compiled(module: Any, wrapped: Any) -> bool:
    """Whether torch.compile is at work on the module, its wrapper or a part of either."""
    for part in (*module.modules(), *(wrapped.modules() if wrapped is not None else ())):
        state = part.__dict__
        if type(part).__name__ == "OptimizedModule":
            return True
        # module.compile() leaves the first; Lightning, given a compiled module, unwraps it and leaves the second.
        if state.get("_compiled_call_impl") is not None or state.get("_compiler_ctx") is not None:
            return True
    return False
