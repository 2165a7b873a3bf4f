"""`StepTimeline`: the events of one profiled step, to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_aiperf.records.trace_profile import Part

IntArray = npt.NDArray[np.integer[Any]]

#: Kinds of events; `StepTimeline.kind` is an index into this.
EVENT_KINDS: tuple[Part, ...] = (
    Part(key="operator", title="Operator", color="cpu_op", meaning="An operator on a host thread."),
    Part(key="annotation", title="Annotation", color="annotation", meaning="A range that the program named."),
    Part(key="runtime", title="Runtime call", color="runtime", meaning="A call of the device's runtime or driver."),
    Part(
        key="synchronisation",
        title="Synchronisation",
        color="synchronisation",
        meaning="A runtime call that blocks the host until the device has caught up.",
    ),
    Part(key="data_loading", title="Data loading", color="data_loading", meaning="The program waits in its loader."),
    Part(key="python", title="Python", color="python", meaning="A Python function, as the profiler recorded it."),
    Part(key="kernel", title="Kernel", color="kernel", meaning="A kernel that is no collective's."),
    Part(key="memcpy", title="Copy", color="memcpy", meaning="A copy by the device."),
    Part(key="memset", title="Memory set", color="memset", meaning="A memory set by the device."),
    Part(key="communication", title="Communication", color="communication", meaning="A collective."),
)


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One thread of the host, the Python frames of one, or one stream of a device.

    kind: ``host``, ``python`` or ``device``. title: such as ``thread 1234`` or ``GPU 0 stream 7``. rows: how deep its
    events nest (or overlap).
    """

    kind: str
    title: str
    rows: int


@dataclass(frozen=True)
class StepTimeline:
    """n events of one step, in order of lane, row and start.

    step              number of the profiler's mark, None without marks
    step_duration_ns  of the step
    lanes             host threads first, each followed by its Python frames, then devices
    names, shapes     what columns refer to
    lane      [n] index into `lanes`
    row       [n] from 0, the outermost: events of a row do not overlap
    kind      [n] index into `EVENT_KINDS`
    name      [n] index into `names`
    shape     [n] index into `shapes`, -1 where not recorded
    start     [n] nanoseconds since the start of the step; below 0 for an event that began before it
    duration  [n] nanoseconds, whole even where it reaches beyond the step
    launch    [n] of device work, the place of the runtime call that launched it; -1 where that is not among the events
    left_out      how many events of the step are not here: of too many, the shortest are left out
    left_out_ns   nanoseconds of the longest of those, 0 if there is none
    """

    step: int | None
    step_duration_ns: int
    lanes: tuple[Lane, ...]
    names: tuple[str, ...]
    shapes: tuple[str, ...]
    lane: IntArray
    row: IntArray
    kind: IntArray
    name: IntArray
    shape: IntArray
    start: IntArray
    duration: IntArray
    launch: IntArray
    left_out: int
    left_out_ns: int

    def __len__(self) -> int:
        return len(self.lane)
