"""Names of summaries and the index that each carries.

==============================================  ==========================================================
``tb_aiperf/<series>/<attempt>/<chunk:06d>``    sealed chunk: written once
``tb_aiperf/<series>/<attempt>/tail/<slot>``    rows not sealed yet; a slot is written again for later chunks
``tb_aiperf/profile/<attempt>/<window:06d>``    window of torch.profiler; ``timeline``: of one step of a window
``tb_aiperf/<kind>/<attempt>``                  report: JSON; the last one counts
==============================================  ==========================================================
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

PLUGIN_NAME = "tb_aiperf"
STEPS = "steps"
RESOURCES = "resources"
ATTEMPT = "attempt"
ENVIRONMENT = "environment"
PROFILE = "profile"
TIMELINE = "timeline"

INDEX_VERSION = 1

#: Whole numbers that were read are bounded: larger ones overflow what computes with them.
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_DIGITS = 18


class ChunkIndex(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a summary's `plugin_content` says, so that a listing needs no data.

    v: version of storage. loop, started (Unix ns), rank, world: of the attempt. named: stages that the program named.
    Of a sealed chunk: rows, steps (rows that are steps), first and last step number among those. Of a window of the
    profiler: recorded (Unix ns). Loaders keep only the first metadata of a tag, so a tail slot says nothing about its
    rows.
    """

    v: int
    loop: str
    started: Int64
    rank: Count = 0
    world: Count = 1
    named: tuple[str, ...] = ()
    rows: Count = 0
    steps: Count = 0
    first: Int64 | None = None
    last: Int64 | None = None
    recorded: Int64 | None = None


class Tag(NamedTuple):
    """A parsed name. series: first component. chunk, slot: which of the two this is; both None for a report."""

    series: str
    attempt: str
    chunk: int | None = None
    slot: int | None = None


def chunk_tag(series: str, attempt: str, chunk: int) -> str:
    """Name of a sealed chunk."""
    return f"{PLUGIN_NAME}/{series}/{attempt}/{chunk:06d}"


def tail_tag(series: str, attempt: str, slot: int) -> str:
    """Name of a tail slot."""
    return f"{PLUGIN_NAME}/{series}/{attempt}/tail/{slot}"


def report_tag(kind: str, attempt: str) -> str:
    """Name of a report."""
    return f"{PLUGIN_NAME}/{kind}/{attempt}"


def parse_tag(name: str) -> Tag | None:
    """The parts of a name, or None if it is not one of ours."""
    match name.split("/"):
        case [prefix, _, attempt, *_] if prefix != PLUGIN_NAME or not attempt:
            return None
        case [_, kind, attempt]:
            return Tag(kind, attempt)
        case [_, series, attempt, digits] if (chunk := _number(digits)) is not None:
            tag = Tag(series, attempt, chunk=chunk)
            return tag if chunk_tag(series, attempt, chunk) == name else None
        case [_, series, attempt, "tail", digits] if (slot := _number(digits)) is not None:
            tag = Tag(series, attempt, slot=slot)
            return tag if tail_tag(series, attempt, slot) == name else None
    return None


def _number(digits: str) -> int | None:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS else None
