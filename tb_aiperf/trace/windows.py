"""A trace file as windows of whole events: the file is never held at once, so it may be larger than memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.events import Event, decode_events
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.salvage import ARRAY_END, BOUNDARY, INVALID, repair, salvage
from tb_aiperf.trace.source import read_blocks

#: Decoded at once. Larger ones are not faster.
WINDOW_BYTES = 1 << 20
#: The longest event, and the longest text before and behind the events.
MAX_EVENT_BYTES = 64 << 20
#: The part of a block that is searched for its last boundary first.
_LAST_BYTES = 64 << 10
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_SPACE = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Metadata(msgspec.Struct):
    """What the analysis needs from outside the events; the rest, of any size, is skipped."""

    deviceProperties: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    distributedInfo: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    baseTimeNanoseconds: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815


_decode_metadata = msgspec.json.Decoder(_Metadata).decode


class EventFile:
    """The events and the metadata (of `_Metadata`) of a trace file.

    metadata is complete after `windows` has been read to its end. Iterating raises `TraceError`.
    """

    def __init__(self, path: str | os.PathLike[str], notes: Notes) -> None:
        self.path = path
        self.notes = notes
        self.metadata: dict[str, Any] = {}
        self._blocks = read_blocks(path, notes)
        #: What has been read and not used, and its place in the inflated file.
        self._rest = b""
        self._offset = 0

    def windows(self) -> Iterator[list[Event]]:
        """Lists of events in file order."""
        is_object = self._read_header()
        ended = False
        while not ended:
            text, last = self._next_window()
            events, ended = self._last_events(text) if last else self._events(text)
            yield events
            if last and not ended:
                self.notes.add("the file ends before its list of events does", self._offset)
                return
        if is_object:
            self._read_trailer()

    def _next_window(self) -> tuple[bytes, bool]:
        """Text up to and without the last comma between events, and False; or all the rest, and True."""
        parts, size = [self._rest], len(self._rest)
        while block := next(self._blocks, b""):
            size += len(block)
            # The end of the block is enough to look at: an event is short, and so the text is joined but once.
            if size >= WINDOW_BYTES and (cut := _last_boundary(block)) is not None:
                parts.append(block[:cut])
                self._rest = block[cut + 1 :]
                return b"".join(parts), False
            parts.append(block)
            self._limit(size)
        self._rest = b""
        return b"".join(parts), True

    def _events(self, text: bytes) -> tuple[list[Event], bool]:
        """Events of a window that is not the last, and whether the list of events ends in it after all."""
        try:
            events = decode_events(text)
        except INVALID:
            result = salvage(text, self._offset, False, self.notes)
            self._offset += result.consumed
            if result.at_end or result.consumed < len(text):
                self._rest = b"%b,%b" % (text[result.consumed :], self._rest)
            else:
                self._offset += 1
            return result.events, result.at_end
        self._offset += len(text) + 1
        return events, False

    def _last_events(self, text: bytes) -> tuple[list[Event], bool]:
        """Events of the last window, and whether the list of events ends in it, as it does in a whole file."""
        end = _array_end(text)
        if end is not None:
            try:
                events = decode_events(text[:end])
            except INVALID:
                pass
            else:
                self._rest = text[end + 1 :]
                self._offset += end + 1
                return events, True
        result = salvage(text, self._offset, True, self.notes)
        self._rest = text[result.consumed :]
        self._offset += result.consumed
        return result.events, result.at_end

    def _read_header(self) -> bool:
        """Go to the first event; whether the file is an object (True) or a bare list."""
        more = True
        while more:
            more = self._grow()
            start = self._rest.removeprefix(_BYTE_ORDER_MARK).lstrip(_SPACE)
            if start[:1] == b"[":
                self._use(len(self._rest) - len(start) + 1)
                return False
            if start and start[:1] != b"{":
                break
            matches = list(_EVENTS_KEY.finditer(self._rest))
            for match in matches:
                if self._take_metadata(self._rest[: match.end()].removeprefix(_BYTE_ORDER_MARK) + b"]}"):
                    self._use(match.end())
                    return True
            if matches:
                self.notes.add("the text before the events is not valid JSON and was left out", self._offset)
                self._use(matches[0].end())
                return True
        raise self._error("has no list of traceEvents", "Pass the .json or .json.gz file that torch.profiler exported.")

    def _read_trailer(self) -> None:
        while self._grow():
            pass
        rest = self._rest.strip(_SPACE)
        if rest.startswith(b",") and not self._take_metadata(b"{" + rest[1:]):
            self.notes.add("the text behind the events is not valid JSON and was left out", self._offset)

    def _grow(self) -> bool:
        """At least double the rest; False if the file ends before."""
        parts, size = [self._rest], len(self._rest)
        wanted = max(WINDOW_BYTES, 2 * size)
        while size < wanted and (block := next(self._blocks, b"")):
            parts.append(block)
            size += len(block)
        self._rest = b"".join(parts)
        self._limit(size)
        return size >= wanted

    def _use(self, count: int) -> None:
        self._rest = self._rest[count:]
        self._offset += count

    def _limit(self, size: int) -> None:
        if size > MAX_EVENT_BYTES:
            raise self._error(
                f"no event in {MAX_EVENT_BYTES >> 20} MiB of text", "This is not a profiler's trace, or it is damaged."
            )

    def _take_metadata(self, text: bytes) -> bool:
        """Keep what `text`, an object without its events, tells; False if it is no JSON."""
        for candidate in (text, repair(text)):
            try:
                known = _decode_metadata(candidate)
                # Decoding has skipped the values unread, so they may hold what it would not take.
                values = {name: bytes(getattr(known, name)) for name in known.__struct_fields__}
                self.metadata |= {name: msgspec.json.decode(value) for name, value in values.items() if value}
            except INVALID:
                continue
            if candidate is not text:
                self.notes.add("invalid JSON outside the events was repaired", self._offset)
            return True
        return False

    def _error(self, problem: str, remedy: str) -> TraceError:
        return TraceError(self.path, problem, f"byte {self._offset}", remedy)


def _last_boundary(text: bytes) -> int | None:
    """Place of the comma between the last whole event and the rest."""
    for start in (max(0, len(text) - _LAST_BYTES), 0):
        last = None
        for match in BOUNDARY.finditer(text, start):
            last = match.start(1)
        if last is not None:
            return last
    return None


def _array_end(text: bytes) -> int | None:
    """Place of the bracket that ends the array, which must have nothing but valid metadata behind it."""
    if text.rstrip(_SPACE)[-1:] == b"]":
        # The bare list; inside an object a brace comes last.
        return len(text.rstrip(_SPACE)) - 1
    if text.lstrip(_SPACE)[:1] == b"]":
        return len(text) - len(text.lstrip(_SPACE))
    # Lists of objects among the arguments of events end in the same way, so the search begins in the last event.
    for match in ARRAY_END.finditer(text, max(0, text.rfind(b'"ph"'))):
        rest = text[match.end(1) :].strip(_SPACE)
        if rest == b"}" or (rest.startswith(b",") and _is_json(b"{" + rest[1:])):
            return match.start(1)
    return None


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except INVALID:
        return False
    return True
