"""Where summaries go: a logger's own writer, or an event file of our own."""

from __future__ import annotations

import importlib
import time
from typing import Any, Protocol

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_UINT8
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tb_aiperf.storage.tags import PLUGIN_NAME


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
        """See `SummarySink`."""
        summary = build_summary(tag, payload, content)
        if self._summary_class is not Summary:
            summary = self._summary_class.FromString(summary.SerializeToString())
        # Asked for each time: the writer makes a new file writer after it was closed.
        self._writer._get_file_writer().add_summary(summary, step)

    def flush(self) -> None:
        """See `SummarySink`."""
        self._writer.flush()


class FolderSink:
    """Sink into an event file of its own in `folder`, which no other live writer may share.

    Two live writers in one run folder lose data in TensorBoard's Python loader. Raises OSError.
    """

    def __init__(self, folder: str) -> None:
        self._writer = EventFileWriter(folder)

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        """See `SummarySink`."""
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=build_summary(tag, payload, content)))

    def flush(self) -> None:
        """See `SummarySink`."""
        self._writer.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()


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
