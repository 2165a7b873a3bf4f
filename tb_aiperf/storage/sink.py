"""Where summaries go: a logger's own writer, or an event file of our own."""

from __future__ import annotations

import errno
import importlib
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_UINT8
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tb_aiperf.storage.event_file import frame
from tb_aiperf.storage.tags import PLUGIN_NAME

#: A million steps or more, while a disk is full.
MOST_WAITING_BYTES = 32 << 20


class SummarySink(Protocol):
    """Takes summaries. Calls come from one thread at a time."""

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """Enqueue one summary: payload as a byte tensor, content as the tag's index."""

    def flush(self) -> None:
        """Return once everything added so far is in the file."""


class WriterSink:
    """Sink over the SummaryWriter that a logger owns; make it with `writer_sink`."""

    def __init__(self, writer: Any, summary_class: Any) -> None:
        self._writer = writer
        self._summary_class = summary_class

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """See `SummarySink`. Flushed at once, so that what fails fails here and not in the logger's next call."""
        summary = build_summary(tag, payload, content)
        if self._summary_class is not Summary:
            summary = self._summary_class.FromString(summary.SerializeToString())
        # Asked for each time: the writer makes a new file writer after it was closed.
        self._writer._get_file_writer().add_summary(summary, step)
        self._writer.flush()

    def flush(self) -> None:
        """See `SummarySink`."""
        self._writer.flush()

    def abandon(self) -> None:
        """After a failure the file writer's thread is dead: have the SummaryWriter make a new one at its next call."""
        self._writer.file_writer = self._writer.all_writers = None

    def close(self) -> None:
        """The writer is the logger's: flush only."""
        self._writer.flush()


class FolderSink:
    """Sink into an event file of its own in `folder`, which no other live writer may share.

    Two live writers in one run folder lose data in TensorBoard's Python loader. Raises OSError.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._writer: EventFileWriter | None = EventFileWriter(folder)

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """See `SummarySink`."""
        event = Event(wall_time=time.time(), step=step, summary=build_summary(tag, payload, content))
        if self._writer is None:
            self._writer = EventFileWriter(self._folder)
        self._writer.add_event(event)

    def flush(self) -> None:
        """See `SummarySink`. A file that was deleted under the writer counts as a failure."""
        if self._writer is not None:
            self._writer.flush()
            if "://" not in self._folder and not os.path.isdir(self._folder):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._folder)

    def abandon(self) -> None:
        """After a failure the writer's thread is dead: make a new file at the next call."""
        self._writer = None

    def close(self) -> None:
        """Flush and close the file."""
        if self._writer is not None:
            self._writer.close()


class FileSink:
    """Sink into one new event file of any name, written as it comes: what fails raises OSError here, at once.

    For summaries of some megabytes: the checksums are ours, some twenty times as fast as TensorBoard's writer.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "xb")  # noqa: SIM115  closed by `close`
        self._file.write(frame(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString()))

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """See `SummarySink`."""
        event = Event(wall_time=time.time(), step=step, summary=build_summary(tag, payload, content))
        self._file.write(frame(event.SerializeToString()))

    def flush(self) -> None:
        """See `SummarySink`."""
        self._file.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


class DurableSink:
    """Keeps what is not surely in a file, and writes it again after a failure: a disk that was full for a while, say.

    open_sink     makes the sink beneath, and may raise OSError at first
    on_trouble    called with the first exception of each spell of trouble
    The calls never raise. What waits is bounded: beyond `MOST_WAITING_BYTES` the oldest is dropped and counted.
    """

    def __init__(
        self, open_sink: Callable[[], WriterSink | FolderSink], on_trouble: Callable[[Exception], None]
    ) -> None:
        self._open_sink = open_sink
        self._on_trouble = on_trouble
        self._sink: WriterSink | FolderSink | None = None
        self._waiting: deque[tuple[str, bytes, bytes, int]] = deque()
        self._waiting_bytes = 0
        self._unwritten = 0  # of those waiting, how many the sink has not taken yet; always the newest
        self._in_trouble = False
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """Number of summaries that are not surely in a file."""
        return len(self._waiting)

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """See `SummarySink`."""
        self._waiting.append((tag, payload, content, step))
        self._waiting_bytes += len(payload)
        self._unwritten += 1
        if not self._in_trouble:  # after a failure, the next flush tries again
            self._attempt(self._write if self._waiting_bytes < MOST_WAITING_BYTES // 2 else self._write_and_flush)
        while self._waiting_bytes > MOST_WAITING_BYTES:
            self._waiting_bytes -= len(self._waiting.popleft()[1])
            self._unwritten = min(self._unwritten, len(self._waiting))
            self.dropped += 1

    def flush(self) -> None:
        """See `SummarySink`; what could not be written is kept for the next call."""
        self._attempt(self._write_and_flush)

    def close(self) -> None:
        """Write and flush for the last time, and close the sink beneath."""
        self._attempt(self._write_and_flush)
        if self._sink is not None and not self._in_trouble:
            self._attempt(self._sink.close)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001  storage may fail in any way; the program goes on
            if not self._in_trouble:
                self._in_trouble = True
                self._on_trouble(error)
            if self._sink is not None:
                self._sink.abandon()
            self._unwritten = len(self._waiting)  # whether the file has them is unknown: write all again
        else:
            self._in_trouble = False

    def _write(self) -> None:
        if self._sink is None:
            self._sink = self._open_sink()
        while self._unwritten:
            self._sink.add(*self._waiting[-self._unwritten])
            self._unwritten -= 1

    def _write_and_flush(self) -> None:
        self._write()
        if self._sink is not None:
            self._sink.flush()
        self._waiting.clear()
        self._waiting_bytes = 0


def writer_sink(writer: Any) -> WriterSink | None:
    """A sink over a SummaryWriter of torch or tensorboardX, or None if `writer` is not one.

    Lightning's dummy experiment on ranks above 0 has every attribute and answers None: it gives None here.
    """
    try:
        file_writer = writer._get_file_writer()
    except AttributeError:
        return None
    if not callable(getattr(file_writer, "add_summary", None)):
        return None
    summary_class: Any = Summary
    if type(file_writer).__module__.split(".")[0] == "tensorboardX":
        summary_class = importlib.import_module("tensorboardX.proto.summary_pb2").Summary
    return WriterSink(writer, summary_class)


def build_summary(tag: str, payload: bytes, content: bytes) -> Summary:
    """One summary: `payload` as a uint8 tensor [bytes], data class TENSOR, `content` as the plugin's."""
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name=PLUGIN_NAME, content=content), data_class=DATA_CLASS_TENSOR
    )
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=len(payload))])
    tensor = TensorProto(dtype=DT_UINT8, tensor_shape=shape, tensor_content=payload)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])
