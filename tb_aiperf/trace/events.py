"""Typed decoding of trace events: the fields that the analysis needs, straight from the bytes.

Events of no interest (flows, counters, metadata) decode into empty structs, which costs little more than skipping them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar, Union

import msgspec

from tb_aiperf.trace.kinds import Kind

#: What a column of numpy's int64 holds.
Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Number = Integer | float
Label = int | str | float | None


class SpanArguments(msgspec.Struct, gc=False, frozen=True):
    """`args` of a complete event. -1, empty or None: not recorded.

    shapes: JSON of the input dimensions. sequence, forward_thread: autograd's; forward_thread is set on backward
    operators. module: of ``python_function`` events. The rest describes a collective.
    """

    correlation: Integer = -1
    shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=msgspec.Raw(b""))
    sequence: Integer = msgspec.field(name="Sequence number", default=-1)
    forward_thread: Integer = msgspec.field(name="Fwd thread id", default=-1)
    module: Integer = msgspec.field(name="Python module id", default=-1)
    collective: str | None = msgspec.field(name="Collective name", default=None)
    group: Label = msgspec.field(name="Process Group Name", default=None)
    group_id: Label = msgspec.field(name="Process Group ID", default=None)
    group_sequence: int | None = msgspec.field(name="Seq", default=None)
    elements: int | None = msgspec.field(name="In msg nelems", default=None)
    dtype: str | None = None


class InstantArguments(msgspec.Struct, gc=False, frozen=True):
    """`args` of an instant event; those of ``[memory]`` matter. -1: not recorded, 0 for size and device_type."""

    address: Integer = msgspec.field(name="Addr", default=-1)
    size: Integer = msgspec.field(name="Bytes", default=0)
    device_type: Integer = msgspec.field(name="Device Type", default=0)
    device: Integer = msgspec.field(name="Device Id", default=-1)
    allocated: Integer = msgspec.field(name="Total Allocated", default=-1)
    reserved: Integer = msgspec.field(name="Total Reserved", default=-1)


_NO_SPAN_ARGUMENTS = SpanArguments()
_NO_INSTANT_ARGUMENTS = InstantArguments()


class Span(msgspec.Struct, gc=False, tag="X", tag_field="ph"):
    """A complete event: ts and dur in microseconds."""

    ts: Number
    cat: str = ""
    name: str = ""
    dur: Number | None = None
    pid: Label = None
    tid: Label = None
    args: SpanArguments = _NO_SPAN_ARGUMENTS


class Instant(msgspec.Struct, gc=False, tag="i", tag_field="ph"):
    """An instant event; its category in the file does not matter."""

    cat: ClassVar[Kind] = Kind.INSTANT
    ts: Number
    name: str = ""
    pid: Label = None
    tid: Label = None
    args: InstantArguments = _NO_INSTANT_ARGUMENTS


class ExactSpan(Span, gc=False, tag="X", tag_field="ph"):
    """A complete event whose time a double cannot hold to the nanosecond."""

    ts: Decimal  # type: ignore[assignment]


class ExactInstant(Instant, gc=False, tag="i", tag_field="ph"):
    """An instant event whose time a double cannot hold to the nanosecond."""

    ts: Decimal  # type: ignore[assignment]


#: The other phases of the Trace Event Format.
_OTHER_PHASES = "BEICbnestfPNODRcVvaSTpFM()"
_OTHERS = tuple(
    msgspec.defstruct(f"Other{index}", [], tag=phase, tag_field="ph", gc=False, namespace={"cat": Kind.IGNORED})
    for index, phase in enumerate(_OTHER_PHASES)
)

Event = Any
_EVENT: Any = Union[(Span, Instant, *_OTHERS)]
_EXACT_EVENT: Any = Union[(ExactSpan, ExactInstant, *_OTHERS)]

_decode_events = msgspec.json.Decoder(list[_EVENT]).decode
_decode_exact_events = msgspec.json.Decoder(list[_EXACT_EVENT]).decode
_decode_any = msgspec.json.Decoder(Any, float_hook=Decimal).decode
#: Takes numbers from texts, into which msgspec encodes a Decimal.
_decode_event_leniently = msgspec.json.Decoder(_EXACT_EVENT, strict=False).decode

#: A double of this many microseconds still tells nanoseconds apart: half its spacing is below 0.5 ns.
EXACT_MICROSECONDS = 1 << 43


def _is_large(ts: int | float) -> bool:
    return type(ts) is float and not -EXACT_MICROSECONDS < ts < EXACT_MICROSECONDS


def decode_events(text: bytes) -> list[Event]:
    """Events of the inside of a JSON array; `ts` is a Decimal where a double does not tell nanoseconds apart.

    Raises `msgspec.DecodeError` or `RecursionError` if one is not valid.
    """
    array = b"[%b]" % text
    events = _decode_events(array)
    if any(event.cat is not Kind.IGNORED and _is_large(event.ts) for event in events):
        return _decode_exact_events(array)
    return events


def decode_leniently(text: bytes) -> Event:
    """One event, numbers taken from strings where need be and unusable arguments left out.

    Raises `msgspec.ValidationError` if it is no event even so, another `msgspec.DecodeError` or `RecursionError` if it
    is no JSON.
    """
    value = _decode_any(text)
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"an event is an object, not {type(value).__name__}")
    arguments = value.pop("args", None)
    if isinstance(arguments, dict):
        known = {key: argument for key, argument in arguments.items() if argument is not None}
        try:
            return _decode_event_leniently(msgspec.json.encode({**value, "args": known}))
        except msgspec.ValidationError:
            pass
    return _decode_event_leniently(msgspec.json.encode(value))
