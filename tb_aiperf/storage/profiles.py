"""Windows of torch.profiler and the timelines of their steps as payloads, and back."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from tb_aiperf.records import EVENT_KINDS, CollectiveCalls, Lane, ProfileWindow, StepTimeline
from tb_aiperf.storage import codec
from tb_aiperf.storage.codec import Chunk, Columns, DamagedChunkError, Payload
from tb_aiperf.storage.tags import Count, Int64

#: Names are `StepTimeline`'s, in the order in which they are stored. `start` is kept as gap to the end of the event
#: before, which takes fewer bytes than differences of starts: events of a row follow each other.
_COLUMNS = ("lane", "row", "kind", "name", "shape", "gap", "duration", "launch")
#: Device work is launched in order.
_DIFFERENCES = ("launch",)
#: Far beyond any time that a trace can hold, and so far below 2^63 that sums and differences do not wrap.
_MAX_NS = 1 << 61
_MAX_US = _MAX_NS / 1000
_LANE_KINDS = ("host", "python", "device")


class _Window(ProfileWindow, frozen=True, kw_only=True):
    """A window with its place."""

    attempt: str
    window: Count


class _Calls(msgspec.Struct, frozen=True, kw_only=True):
    """What matching across ranks needs of a `_Window`."""

    attempt: str
    window: Count
    calls: CollectiveCalls | None


class _Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a timeline's payload holds beside the columns."""

    attempt: str
    chunk: Count
    step: Int64 | None
    step_duration_ns: Count
    lanes: tuple[Lane, ...]
    names: tuple[str, ...]
    shapes: tuple[str, ...]
    left_out: Count
    left_out_ns: Count


def encode_window(window: ProfileWindow, attempt: str, number: int) -> bytes:
    """Payload of a window. Raises ValueError if it is too large to be read again."""
    return codec.encode_struct(
        _Window(profile=window.profile, calls=window.calls, timelines=window.timelines, attempt=attempt, window=number)
    )


def decode_window(payload: Payload, attempt: str, number: int) -> ProfileWindow:
    """The window that a tag of this attempt and number must hold. Raises DamagedChunkError."""
    window = codec.decode_struct(payload, _Window)
    _check_place(window, attempt, number)
    if window.calls is not None:
        _check_calls(window.calls)
    if any(not 0 <= place.chunk < 1 << 63 for place in window.timelines):
        raise DamagedChunkError("a timeline has an impossible number")
    for step in window.profile.steps:
        if not 0 <= step.duration_us <= _MAX_US or not all(
            0 <= spent <= _MAX_US for spent in msgspec.structs.astuple(step.categories_us)
        ):
            raise DamagedChunkError("a step has an impossible duration")
    return ProfileWindow(profile=window.profile, calls=window.calls, timelines=window.timelines)


def decode_calls(payload: Payload, attempt: str, number: int) -> CollectiveCalls | None:
    """The collectives of a window; everything else is passed over. Raises DamagedChunkError."""
    window = codec.decode_struct(payload, _Calls)
    _check_place(window, attempt, number)
    if window.calls is not None:
        _check_calls(window.calls)
    return window.calls


def _check_place(window: _Window | _Calls, attempt: str, number: int) -> None:
    if (window.attempt, window.window) != (attempt, number):
        raise DamagedChunkError(f"holds window {window.window} of attempt {window.attempt!r}")


def _check_calls(calls: CollectiveCalls) -> None:
    """Raise DamagedChunkError unless the columns are of one length and refer to what there is."""
    n = len(calls.operation)
    fits = all(len(column) == n for column in (calls.group, calls.sequence, calls.start_ns, calls.duration_ns))
    bounds = (
        (calls.operation, 0, len(calls.operations) - 1),
        (calls.group, -1, len(calls.groups) - 1),
        (calls.sequence, -1, _MAX_NS),
        (calls.start_ns, -_MAX_NS, _MAX_NS),
        (calls.duration_ns, 0, _MAX_NS),
    )
    if not fits or any(column and (min(column) < low or max(column) > high) for column, low, high in bounds):
        raise DamagedChunkError("impossible collectives")


def encode_timeline(timeline: StepTimeline, attempt: str, number: int) -> bytes:
    """Payload of a timeline, 3 to 5 bytes per event. Raises ValueError if it is too large to be read again."""
    start, duration = (column.astype(np.int64) for column in (timeline.start, timeline.duration))
    gap = start.copy()
    gap[1:] -= start[:-1] + duration[:-1]
    columns = {name: gap if name == "gap" else getattr(timeline, name) for name in _COLUMNS}
    meta = _Timeline(
        attempt=attempt,
        chunk=number,
        step=timeline.step,
        step_duration_ns=timeline.step_duration_ns,
        lanes=timeline.lanes,
        names=timeline.names,
        shapes=timeline.shapes,
        left_out=timeline.left_out,
        left_out_ns=timeline.left_out_ns,
    )
    # The same operators with the same shapes come again, layer by layer.
    return codec.encode(columns, msgspec.to_builtins(meta), _DIFFERENCES, repeats=True)


def decode_timeline(payload: Payload, attempt: str, number: int) -> StepTimeline:
    """The timeline that a tag of this attempt and number must hold. Raises DamagedChunkError."""
    chunk = Chunk(payload)
    try:
        meta = msgspec.convert(chunk.meta, _Timeline)
    except msgspec.ValidationError as error:
        raise DamagedChunkError(f"unreadable header: {error}") from None
    if (meta.attempt, meta.chunk) != (attempt, number):
        raise DamagedChunkError(f"holds timeline {meta.chunk} of attempt {meta.attempt!r}")
    if not chunk.places.keys() >= set(_COLUMNS) or "f" in chunk.header.kinds:
        raise DamagedChunkError("not a timeline")
    columns = dict(zip(_COLUMNS, Columns([chunk]).integers(_COLUMNS), strict=True))
    _check_within("lane", columns["lane"], 0, len(meta.lanes) - 1)
    _check_within("kind", columns["kind"], 0, len(EVENT_KINDS) - 1)
    _check_within("name", columns["name"], 0, len(meta.names) - 1)
    _check_within("shape", columns["shape"], -1, len(meta.shapes) - 1)
    _check_within("launch", columns["launch"], -1, len(chunk) - 1)
    _check_within("duration", columns["duration"], 0, _MAX_NS)
    if any(lane.kind not in _LANE_KINDS for lane in meta.lanes):
        raise DamagedChunkError("a lane of unknown kind")
    rows = np.array([lane.rows for lane in meta.lanes], np.int64)
    if (columns["row"] < 0).any() or (columns["row"] >= rows[columns["lane"]]).any():
        raise DamagedChunkError("a row that its lane does not have")
    start = columns.pop("gap")
    start[1:] += columns["duration"][:-1]
    np.cumsum(start, out=start)
    _check_within("start", start, -_MAX_NS, _MAX_NS)
    return StepTimeline(
        step=meta.step,
        step_duration_ns=meta.step_duration_ns,
        lanes=meta.lanes,
        names=meta.names,
        shapes=meta.shapes,
        start=start,
        left_out=meta.left_out,
        left_out_ns=meta.left_out_ns,
        **columns,
    )


def without_events(timeline: StepTimeline) -> StepTimeline:
    """The timeline with every event left out."""
    nothing = timeline.lane[:0]
    return StepTimeline(
        step=timeline.step,
        step_duration_ns=timeline.step_duration_ns,
        lanes=(),
        names=(),
        shapes=(),
        lane=nothing,
        row=nothing,
        kind=nothing,
        name=nothing,
        shape=nothing,
        start=nothing,
        duration=nothing,
        launch=nothing,
        left_out=timeline.left_out + len(timeline),
        left_out_ns=max(timeline.left_out_ns, int(timeline.duration.max(initial=0))),
    )


def _check_within(what: str, values: npt.NDArray[np.int64], low: int, high: int) -> None:
    if len(values) and (values.min() < low or values.max() > high):
        raise DamagedChunkError(f"impossible {what}: {int(values.min())} to {int(values.max())}")
