"""A trace file as windows of whole events: the file is never held at once, so it may be larger than memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from tb_aiperf.trace.columns import Columns
from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.events import Event, decode_events
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.salvage import ARRAY_END, BOUNDARY, INVALID, MAX_ENDS, repair, salvage
from tb_aiperf.trace.source import read_blocks

#: Decoded at once. Larger ones are not faster.
WINDOW_BYTES = 1 << 20
#: The longest event, and the longest text before and behind the events.
MAX_EVENT_BYTES = 64 << 20
#: The ends of a block that are searched for its last boundary first.
_LAST_BYTES = (4 << 10, 64 << 10)
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_FILLED_EVENTS_KEY = re.compile(rb'("traceEvents"\s*:\s*\[)\s*\{')
_SPACE = b" \t\r\n"
#: What file systems and editors leave at the end of a file.
_PADDING = _SPACE + b"\0\x1a"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Metadata(msgspec.Struct):
    """What the analysis needs from outside the events; the rest, of any size, is skipped."""

    deviceProperties: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    distributedInfo: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    baseTimeNanoseconds: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815


_decode_metadata = msgspec.json.Decoder(_Metadata).decode


class EventFile:
    """The events and the metadata (of `_Metadata`) of a trace file.

    metadata is complete after `windows` or `read_into` has come to its end. Iterating raises `TraceError`.
    """

    def __init__(self, path: str | os.PathLike[str], notes: Notes) -> None:
        self.path = path
        self.notes = notes
        self.metadata: dict[str, Any] = {}
        self._blocks = read_blocks(path, notes)
        self._is_object = True
        #: What has been read and not used, and its place in the inflated file.
        self._rest = b""
        self._offset = 0

    def windows(self) -> Iterator[list[Event]]:
        """Lists of events in file order."""
        return self._windows(lambda text: False)

    def read_into(self, columns: Columns) -> Iterator[int]:
        """Add the events to columns, a window each time; yields how many rows each has added.

        Rows may be taken out of the columns meanwhile.
        """
        windows = self._windows(columns.scan)
        while True:
            before = len(columns)
            events = next(windows, None)
            if events is None:
                return
            columns.add(events)
            yield len(columns) - before

    def _windows(self, scan: Callable[[bytes], bool]) -> Iterator[list[Event]]:
        """Lists of the events of windows, empty where `scan` has taken them from the text."""
        self._is_object = self._read_header()
        ended = False
        while not ended:
            text, last = self._next_window()
            events, ended = self._last_events(text, scan) if last else self._events(text, scan)
            yield events
            if last and not ended:
                self.notes.add("the file ends before its list of events does", self._offset)
                return
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

    def _events(self, text: bytes, scan: Callable[[bytes], bool]) -> tuple[list[Event], bool]:
        """Events of a window that is not the last, and whether the list of events ends in it after all."""
        try:
            events = [] if scan(text) else decode_events(text)
        except INVALID:
            result = salvage(text, self._offset, False, self._is_object, self.notes)
            self._offset += result.consumed
            if result.at_end or result.consumed < len(text):
                self._rest = b"%b,%b" % (text[result.consumed :], self._rest)
            else:
                self._offset += 1
            return result.events, result.at_end
        self._offset += len(text) + 1
        return events, False

    def _last_events(self, text: bytes, scan: Callable[[bytes], bool]) -> tuple[list[Event], bool]:
        """Events of the last window, and whether the list of events ends in it, as it does in a whole file."""
        end = _array_end(text)
        if end is not None:
            try:
                events = [] if scan(text[:end]) else decode_events(text[:end])
            except INVALID:
                pass
            else:
                self._rest = text[end + 1 :]
                self._offset += end + 1
                return events, True
        result = salvage(text, self._offset, True, self._is_object, self.notes)
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
            matches = list(islice(_EVENTS_KEY.finditer(self._rest), MAX_ENDS))
            # Repair takes long, so it is tried in two places only.
            attempts = [(self._take_metadata, match) for match in matches]
            attempts += [(self._repair_metadata, match) for match in dict.fromkeys(matches[:1] + matches[-1:])]
            for take, match in attempts:
                if take(self._rest[: match.end()].removeprefix(_BYTE_ORDER_MARK) + b"]}"):
                    self._use(match.end())
                    return True
            if matches:
                self.notes.add("the text before the events is not valid JSON and was left out", self._offset)
                filled = _FILLED_EVENTS_KEY.search(self._rest)
                self._use(filled.end(1) if filled else matches[0].end())
                return True
        raise self._error("has no list of traceEvents", "Pass the .json or .json.gz file that torch.profiler exported.")

    def _read_trailer(self) -> None:
        more = self._grow()
        if self._is_object and self._rest.lstrip(_SPACE).startswith(b","):
            while more:
                more = self._grow()
            tail = b"{" + self._rest.strip(_SPACE)[1:]
            if not (self._take_metadata(tail) or self._repair_metadata(tail)):
                self.notes.add("the text behind the events is not valid JSON and was left out", self._offset)
            return
        rest = self._rest.strip(_PADDING)
        if rest.removeprefix(b"}" if self._is_object else b"").strip(_PADDING):
            self.notes.add("what stands behind the end of the trace was left out", self._offset)

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
        try:
            known = _decode_metadata(text)
            # Decoding has skipped the values unread, so they may hold what it would not take.
            values = {name: bytes(getattr(known, name)) for name in known.__struct_fields__}
            self.metadata |= {name: msgspec.json.decode(value) for name, value in values.items() if value}
        except INVALID:
            return False
        return True

    def _repair_metadata(self, text: bytes) -> bool:
        if not self._take_metadata(repair(text)):
            return False
        self.notes.add("invalid JSON outside the events was repaired", self._offset)
        return True

    def _error(self, problem: str, remedy: str) -> TraceError:
        return TraceError(self.path, problem, f"byte {self._offset}", remedy)


def _last_boundary(text: bytes) -> int | None:
    """Place of the comma between the last whole event and the rest."""
    for start in (*(len(text) - size for size in _LAST_BYTES if size < len(text)), 0):
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
    for match in islice(ARRAY_END.finditer(text, max(0, text.rfind(b'"ph"'))), MAX_ENDS):
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
