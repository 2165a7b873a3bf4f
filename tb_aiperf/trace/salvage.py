"""Events out of text that is not valid JSON: found by their boundaries, repaired where that is safe, else dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from tb_aiperf.trace.events import Event, decode_events, decode_leniently
from tb_aiperf.trace.notes import Notes

#: Keys that an event may begin with.
_KEYS = rb"ph|cat|name|args|pid|tid|ts|tts|dur|id|id2|s|bp|sf"
#: Between two events of an array. The key behind it makes a brace inside a name or an argument an unlikely match; a
#: file may be cut off inside that key.
BOUNDARY = re.compile(rb'\}\s*(,)\s*\{(?=\s*"(?:%b)"\s*:|\s*"?\w{0,4}"?\s*\Z)' % _KEYS)
#: Behind the last event.
ARRAY_END = re.compile(rb'\}\s*(\])\s*(?:,\s*"|\}|$)')
#: Something that is no event between two of them, or before the first.
_STRANGE = re.compile(rb'(?:^|(?<=\})\s*,)[^{}\[\]"]{0,64},\s*(?=\{\s*"(?:%b)"\s*:)' % _KEYS)
#: A bracket that may end the array.
_BRACKET = re.compile(rb"\s*(\])(?!\s*,\s*\{)")
#: Behind that bracket of a bare list, and of one in an object: another document. More events show that the bracket is
#: a stray one.
_NEXT_DOCUMENT = re.compile(rb'[\s,]*(?:\[|\{\s*"(?!(?:%b)"\s*:))' % _KEYS)
_NEXT_DOCUMENT_OF_OBJECT = re.compile(rb"\s*\}" + _NEXT_DOCUMENT.pattern)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}]', re.DOTALL)
#: How many pieces between boundaries may belong to one event (dictionaries in its arguments look like events).
MAX_PIECES = 16
#: How many places are tried at which the array, or what stands before or behind it, may end.
MAX_ENDS = 16
#: Repair takes many times the memory of its text.
MAX_REPAIR_BYTES = 1 << 20

#: What may stand between events, or behind the last where a file is cut off.
_BETWEEN = b" \t\r\n,\0"

INVALID = (msgspec.DecodeError, RecursionError)

_decode_values = msgspec.json.Decoder(list[msgspec.Raw]).decode

_BARE_WORD = re.compile(
    rb'("[^"\\]*(?:\\.[^"\\]*)*")|[-+]?\b(?:nan|inf|infinity|n/a|none|undefined)\b', re.IGNORECASE | re.DOTALL
)
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(rb'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')


@dataclass
class Salvaged:
    """events in order; consumed: bytes used up; at_end: whether the array ends there."""

    events: list[Event]
    consumed: int
    at_end: bool = False


def repair(text: bytes) -> bytes:
    """Valid JSON for what writers get wrong: control characters, lone backslashes, bad UTF-8, NaN, Infinity, N/A.

    Braces, brackets and quotes stay as they are, so text that is not one whole value does not become one. Texts longer
    than `MAX_REPAIR_BYTES` come back unchanged.
    """
    if len(text) > MAX_REPAIR_BYTES:
        return text
    text = _CONTROL.sub(b" ", text)
    text = _ESCAPE.sub(lambda match: match[0] if match[1] else b"\\\\", text)
    text = text.decode("utf-8", "replace").encode()
    return _BARE_WORD.sub(lambda match: match[1] or b"null", text)


def salvage(text: bytes, offset: int, last: bool, in_object: bool, notes: Notes) -> Salvaged:
    """What can be had of `text`, which starts at an event; offset: its place in the file, for the notes.

    last: whether nothing comes behind; unless it is, trailing pieces that may yet become an event are left for the next
    call. in_object: whether the list of events is a value of an object, not the whole file. Linear in `text`.
    """
    end = len(text.rstrip(_BETWEEN)) if last else len(text)
    cuts = [match.start(1) for match in BOUNDARY.finditer(text, 0, end)]
    starts = [0, *(cut + 1 for cut in cuts)]
    ends = [*cuts, end]
    last_phase = text.rfind(b'"ph"')
    next_document = _NEXT_DOCUMENT_OF_OBJECT if in_object else _NEXT_DOCUMENT
    events: list[Event] = []
    index = 0
    while index < len(starts):
        start = starts[index]
        candidates = ends[index : index + MAX_PIECES]
        pieces = next((count for count, stop in enumerate(candidates, 1) if _is_closed(text[start:stop])), 0)
        event = _decode_piece(text[start : candidates[pieces - 1]], offset + start, notes) if pieces else None
        if event is not None:
            events.append(event)
            index += pieces
            continue
        stop = _object_end(text, start, candidates[-1])
        match = None if stop is None else _BRACKET.match(text, stop)
        if match and ((last and match.end() > last_phase) or next_document.match(text, match.end())):
            event = _decode_piece(text[start:stop], offset + start, notes)
            if event is not None:
                return Salvaged([*events, event], match.end(1), at_end=True)
        for match in islice(ARRAY_END.finditer(text, start, candidates[-1]), MAX_ENDS):
            # A list in the arguments of a broken event ends in the same way, but more events follow.
            if match.end() <= last_phase:
                continue
            event = _decode_piece(text[start : match.start() + 1], offset + start, notes)
            if event is not None:
                return Salvaged([*events, event], match.end(1), at_end=True)
        if last and stop is not None and index == len(starts) - 1:
            event = _decode_piece(text[start:stop], offset + start, notes)
            if event is not None:
                _note_dropped(text[stop:end], offset + stop, False, notes)
                return Salvaged([*events, event], len(text))
        if not (pieces or last) and len(candidates) < MAX_PIECES:
            return Salvaged(events, start)
        events += _events_among(text[start : ends[index]], offset + start, notes)
        _note_dropped(text[start : ends[index]], offset + start, last and index == len(starts) - 1, notes)
        index += 1
    return Salvaged(events, len(text))


def _is_closed(piece: bytes) -> bool:
    """Whether brackets, braces and quotes pair up, as they do in an event however broken it is otherwise.

    Counting cannot tell whether they stand in a text, so the answer is a guess; decoding decides.
    """
    piece = _ESCAPED.sub(b"", piece)
    return (
        piece.count(b"{") == piece.count(b"}") and piece.count(b"[") == piece.count(b"]") and piece.count(b'"') % 2 == 0
    )


def _object_end(text: bytes, start: int, end: int) -> int | None:
    """Place behind the object that begins first, if it ends."""
    depth = 0
    for token in _TOKEN.finditer(text, start, end):
        depth += {b"{": 1, b"}": -1}.get(token[0], 0)
        if depth <= 0 and token[0] == b"}":
            return token.end() if depth == 0 else None
    return None


def _events_among(piece: bytes, offset: int, notes: Notes) -> list[Event]:
    """The events of a piece in which something else stands beside them."""
    try:
        parts: list[Any] = _decode_values(b"[%b]" % piece)
    except INVALID:
        parts = _STRANGE.split(piece)
    if len(parts) < 2:
        return []
    events = (_decode_piece(bytes(part), offset, notes) for part in parts)
    return [event for event in events if event is not None]


def _decode_piece(piece: bytes, offset: int, notes: Notes) -> Event | None:
    """The event of `piece`, repaired if need be; None if it is not exactly one."""
    try:
        events = decode_events(piece)
        return events[0] if len(events) == 1 else None
    except INVALID:
        pass
    kind = "values of a wrong type were converted or left out"
    try:
        try:
            event = decode_leniently(piece)
        except msgspec.ValidationError:
            return None
        except INVALID:
            event = decode_leniently(repair(piece))
            kind = "invalid JSON was repaired"
    except INVALID:
        return None
    notes.add(kind, offset)
    return event


def _note_dropped(piece: bytes, offset: int, tail: bool, notes: Notes) -> None:
    if not piece.strip(_BETWEEN + b"]}"):
        return
    kind = "the file is cut off; its last, incomplete event was dropped" if tail else "an unreadable event was dropped"
    notes.add(kind, offset)
