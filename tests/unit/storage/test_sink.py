from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary

from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.sink import build_summary, writer_sink
from tb_aiperf.storage.writer import StepSeriesWriter
from tests.unit.storage.series import assert_same_rows, attempt, read_run, table


def test_a_summary_says_whose_it_is() -> None:
    (value,) = build_summary("tag", b"payload", b"index").value
    assert value.tag == "tag"
    assert value.metadata.plugin_data.plugin_name == "tb_aiperf"
    assert value.metadata.plugin_data.content == b"index"
    assert value.metadata.data_class == DATA_CLASS_TENSOR
    assert value.tensor.tensor_content == b"payload"
    assert [dim.size for dim in value.tensor.tensor_shape.dim] == [7]


class Dummy:
    """Lightning's stand-in on ranks above 0: any attribute, any call, None."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


@pytest.mark.parametrize("writer", [Dummy(), None, object(), print])
def test_what_is_no_writer_gives_no_sink(writer: object) -> None:
    assert writer_sink(writer) is None


def test_torchs_writer(tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    writer = tensorboard.SummaryWriter(str(tmp_path / "run"))
    sink = writer_sink(writer)
    assert sink is not None
    writer.add_scalar("loss", 1.0, 0)
    series = StepSeriesWriter(sink, attempt(), chunk_rows=2)
    rows = table({"a": [1, 2, 3]})
    series.append(rows)
    series.flush()
    assert_same_rows(read_run(tmp_path).table, rows)
    writer.close()
    # The writer opens a new file when it is used after it was closed.
    series.append(table({"a": [4]}, step=[3], start=6))
    series.flush()
    writer.close()
    assert read_run(tmp_path).table.durations.tolist() == [[1, 2, 3, 4]]
    assert len(list((tmp_path / "run").iterdir())) == 2


def test_tensorboardx_gets_its_own_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class TheirSummary:
        def __init__(self, data: bytes) -> None:
            self.data = data

        FromString = classmethod(lambda cls, data: cls(data))

    proto = types.ModuleType("tensorboardX.proto.summary_pb2")
    proto.Summary = TheirSummary
    for name in ("tensorboardX", "tensorboardX.proto"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, proto.__name__, proto)
    added: list[tuple[TheirSummary, int]] = []
    file_writer = type(
        "FileWriter",
        (),
        {"__module__": "tensorboardX.writer", "add_summary": lambda self, summary, step: added.append((summary, step))},
    )()
    writer = types.SimpleNamespace(_get_file_writer=lambda: file_writer, flush=lambda: added.append("flushed"))
    sink = writer_sink(writer)
    assert sink is not None
    sink.add("tag", b"payload", b"index", 7)
    (summary, step), flushed = added  # at once: a failure must not wait for the logger's next call
    assert isinstance(summary, TheirSummary)
    assert Summary.FromString(summary.data) == build_summary("tag", b"payload", b"index")
    assert (step, flushed) == (7, "flushed")


def test_a_folder_is_checked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        DirectorySource(str(tmp_path / "none"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        DirectorySource(str(tmp_path / "file"))
    assert DirectorySource(str(tmp_path)).listing() == {}
