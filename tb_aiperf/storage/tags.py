"""Names of summaries and the index that each carries.

==============================================  ==========================================================
``tb_aiperf/<series>/<attempt>/<chunk:06d>``    sealed chunk: written once
``tb_aiperf/<series>/<attempt>/tail/<slot>``    rows not sealed yet; a slot is written again for later chunks
``tb_aiperf/<kind>/<attempt>``                  report: JSON; the last one counts
==============================================  ==========================================================
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

PLUGIN_NAME = "tb_aiperf"
STEPS = "steps"
RESOURCES = "resources"
ATTEMPT = "attempt"
ENVIRONMENT = "environment"

INDEX_VERSION = 1


class ChunkIndex(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a summary's `plugin_content` says, so that a listing needs no data.

    v: version of storage. loop, started (Unix ns), rank, world: of the attempt. named: stages that the program named.
    Of a sealed chunk: rows, steps (rows that are steps), first and last step number among those. Loaders keep only the
    first metadata of a tag, so a tail slot says nothing about its rows.
    """

    v: int
    loop: str
    started: int
    rank: int = 0
    world: int = 1
    named: tuple[str, ...] = ()
    rows: int = 0
    steps: int = 0
    first: int | None = None
    last: int | None = None


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
        case [prefix, kind, attempt] if prefix == PLUGIN_NAME:
            return Tag(kind, attempt)
        case [prefix, series, attempt, chunk] if prefix == PLUGIN_NAME and chunk.isdecimal():
            return Tag(series, attempt, chunk=int(chunk))
        case [prefix, series, attempt, "tail", slot] if prefix == PLUGIN_NAME and slot.isdecimal():
            return Tag(series, attempt, slot=int(slot))
    return None
