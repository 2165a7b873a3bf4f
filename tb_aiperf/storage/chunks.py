"""Sealed chunks and tail slots of a series to tables: what they must hold, and what can be joined."""

from __future__ import annotations

from collections.abc import Mapping

from tb_aiperf.storage.codec import UNUSABLE, Chunk, DamagedChunkError, Payload
from tb_aiperf.storage.formats import Place, SeriesFormat, Table
from tb_aiperf.storage.tags import parse_tag


def open_sealed(form: SeriesFormat[Table], payload: Payload | None, attempt: str, number: int) -> Chunk:
    """A sealed chunk, opened. Raises DamagedChunkError."""
    if payload is None:
        raise DamagedChunkError("listed, but not there")
    place, chunk = form.open(payload)
    if (place.attempt, place.chunk, place.offset) != (attempt, number, 0):
        raise DamagedChunkError(f"holds chunk {place.chunk} of attempt {place.attempt!r}")
    return chunk


def join(form: SeriesFormat[Table], opened: Mapping[str, Chunk]) -> tuple[Table | None, dict[str, DamagedChunkError]]:
    """The rows of chunks by tag, and those that cannot be joined."""
    try:
        return form.join(list(opened.values())) if opened else None, {}
    except UNUSABLE as error:
        if len(opened) == 1:
            return None, {tag: DamagedChunkError.of(error) for tag in opened}
    bad: dict[str, DamagedChunkError] = {}
    for tag, chunk in opened.items():
        bad.update(join(form, {tag: chunk})[1])
    fine = {tag: chunk for tag, chunk in opened.items() if tag not in bad}
    table, _ = join(form, fine) if bad else (None, {})
    return table, bad or {tag: DamagedChunkError("too large together with the other chunks") for tag in opened}


def join_tail(
    payloads: Mapping[str, Payload], form: SeriesFormat[Table], sealed: frozenset[int], run: str, attempt: str
) -> tuple[Table | None, list[str]]:
    """Rows of tail slots whose chunk is not among `sealed`, as far as they follow each other without a hole."""
    parts: list[tuple[int, int, str, Chunk]] = []
    damaged: dict[str, DamagedChunkError] = {}
    for tag, payload in payloads.items():
        try:
            place, chunk = _open_slot(form, tag, payload, attempt)
        except UNUSABLE as error:
            damaged[tag] = DamagedChunkError.of(error)
            continue
        if place.chunk not in sealed:
            parts.append((place.chunk, place.offset, tag, chunk))
    usable: dict[str, Chunk] = {}
    # Slots of older chunks are written over one by one: holes there are no damage.
    newest = max((part[0] for part in parts), default=-1)
    newest = -1 if newest < max(sealed, default=-1) else newest
    holes: dict[str, DamagedChunkError] = {}
    number, expected = -1, 0
    for of_chunk, offset, tag, chunk in sorted(parts, key=lambda part: part[:2]):
        if of_chunk != number:
            number, expected = of_chunk, 0
        if offset == expected:
            usable[tag] = chunk
            expected += len(chunk)
        elif offset > expected and of_chunk == newest and not damaged and not holes:
            holes[tag] = DamagedChunkError(f"rows {expected} to {offset - 1} before it are missing from the file")
    damaged.update(holes)
    table, unjoined = join(form, usable)
    damaged.update(unjoined)
    return table, [str(error.located(run, tag)) for tag, error in damaged.items()]


def _open_slot(form: SeriesFormat[Table], tag: str, payload: Payload, attempt: str) -> tuple[Place, Chunk]:
    """A tail slot, opened. Raises DamagedChunkError."""
    place, chunk = form.open(payload)
    named = parse_tag(tag)
    if named is None or named.slot is None or place.attempt != attempt:
        raise DamagedChunkError(f"holds rows of attempt {place.attempt!r}")
    # Slots are filled in order, each with a row at least.
    if place.offset < named.slot or (place.offset == 0) != (named.slot == 0):
        raise DamagedChunkError(f"holds rows from {place.offset} on, as another slot does")
    return place, chunk
