"""The bytes of a trace file in blocks, inflated where the file is gzip, whatever its name says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from isal import igzip_lib

from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.notes import Notes

BLOCK_BYTES = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
#: Traces shrink 5 to 60 times; DEFLATE's own limit is 1032. What lies above this is no trace.
MAX_INFLATION = 200
#: Below this size nothing is suspected: a short file may repeat itself.
INFLATION_FREE_BYTES = 256 << 20

_DAMAGED: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # an instance in isal's stub


def read_blocks(path: str | os.PathLike[str], notes: Notes) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES`, in order. A cut or damaged gzip stream ends early and is noted.

    Raises `TraceError` for a file that cannot be opened, is empty or inflates beyond reason.
    """
    try:
        if stat.S_ISFIFO(Path(path).stat().st_mode):
            raise TraceError(path, "is a pipe, not a file", "opening it", "Write the trace to a file first.")
        with Path(path).open("rb") as file:
            head = file.read(len(GZIP_MAGIC))
            if not head:
                raise TraceError(
                    path, "the file is empty", "byte 0", "The profiler did not finish writing it; record it again."
                )
            file.seek(0)
            if head == GZIP_MAGIC:
                yield from _inflate(file, path, notes)
            else:
                while block := file.read(BLOCK_BYTES):
                    yield block
    except OSError as error:
        reason = error.strerror or str(error)
        raise TraceError(
            path, f"cannot be read: {reason}", "opening it", "Check the path and its permissions."
        ) from error


def _inflate(file: BinaryIO, path: str | os.PathLike[str], notes: Notes) -> Iterator[bytes]:
    inflated = 0
    pending = b""
    while pending := pending or file.read(BLOCK_BYTES):
        member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not member.eof:
            if member.needs_input and not pending:
                pending = file.read(BLOCK_BYTES)
                if not pending:
                    notes.add("the gzip stream is cut off; what came before the cut is used", inflated)
                    return
            try:
                block = member.decompress(pending, max_length=BLOCK_BYTES)
            except _DAMAGED:
                notes.add("the gzip stream is damaged; what came before the damage is used", inflated)
                return
            pending = b""
            inflated += len(block)
            if inflated > INFLATION_FREE_BYTES and inflated > MAX_INFLATION * file.tell():
                raise TraceError(
                    path,
                    f"inflates to more than {MAX_INFLATION} times its size",
                    f"byte {inflated} of the inflated stream",
                    "This is not a profiler's trace; check where the file comes from.",
                )
            if block:
                yield block
        pending = member.unused_data.lstrip(b"\0")
