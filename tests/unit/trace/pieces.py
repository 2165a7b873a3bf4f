"""Small generated traces, and traces cut into pieces: figures must not depend on where the cuts lie."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from tb_aiperf.trace import Trace, spill
from tb_aiperf.trace.large import LargeTrace
from tb_aiperf.trace.table import Table
from tests.unit.trace.events import Event, kernel, mark, read, span

_TABLES = ("operators", "annotations", "runtime", "device", "python", "overhead", "memory")


@dataclass
class _Columns:
    """Hands over part after part of a trace, as a reader does that goes through a file."""

    trace: Trace
    count: int
    part: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return self.trace.names

    def take(self, kind: type[Table]) -> Any:
        (table,) = (table for table in (getattr(self.trace, name) for name in _TABLES) if type(table) is kind)
        low, high = (len(table) * part // self.count for part in (self.part, self.part + 1))
        return table.select(slice(low, high))


@contextmanager
def in_pieces(trace: Trace, parts: int, segment_bytes: int) -> Iterator[LargeTrace]:
    """The trace by way of the disk, where it is written in parts; the cuts may lie at any row."""
    large = LargeTrace(trace.path, segment_bytes)
    try:
        with patch.object(spill, "SAMPLE_ROWS", 1):
            columns = _Columns(trace, parts)
            for columns.part in range(parts):
                large.take(columns)  # type: ignore[arg-type]
            large.finish(trace)
            yield large
    finally:
        large.close()


def trace_of(events: list[Event]) -> Trace:
    """The columns of events, and of one operator more, as a trace needs one."""
    with tempfile.TemporaryDirectory() as directory:
        return read(Path(directory), [*events, span("aten::any", 5, 30)])


moments, lengths, threads, ids = st.integers(0, 60), st.integers(0, 40), st.integers(1, 2), st.integers(-1, 6)


def _ranges(category: str, *names: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Event]:
    return st.builds(span, st.sampled_from(names), moments, lengths, st.just(category), threads, **arguments)


#: An event of any kind.
anything: st.SearchStrategy[Event] = st.one_of(
    _ranges("cpu_op", "aten::a", "aten::b", "gloo:all_reduce", "enumerate(DataLoader)#x", "ProfilerStep#3"),
    _ranges("cpu_op", "aten::a", "aten::b", **{"Input Dims": st.sampled_from([[[2]], [[3, 4]]])}),
    _ranges("user_annotation", "mine", "c10d::wait", "nccl:x", "enumerate(DataLoader)#x", "gloo:send"),
    st.builds(mark, st.integers(1, 4), moments, lengths),
    _ranges("cuda_runtime", "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync", correlation=ids),
    st.builds(
        kernel,
        ids,
        moments,
        lengths,
        st.sampled_from(["gemm", "ncclDevKernel_AllReduce", "ncclDevKernel_Generic"]),
        st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset"]),
        st.integers(7, 8),
    ),
    st.builds(
        kernel,
        ids,
        moments,
        lengths,
        st.just("ncclDevKernel_Generic"),
        **{
            "Collective name": st.sampled_from(["allreduce", "allgather"]),
            "Process Group Name": st.sampled_from(["0", "1"]),
            "In msg nelems": st.integers(-1, 8),
            "dtype": st.sampled_from(["Float", "Long"]),
        },
    ),
    _ranges("python_function", "a.py(1): f", "b.py(2): g", "<built-in len>"),
)
#: Few to many of them, how they are written in parts, and how large the segments are.
pieces = (st.lists(anything, max_size=50), st.integers(1, 3), st.sampled_from([1, 150, 500, 2000]))
