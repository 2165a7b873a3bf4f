"""`DurableSink`: nothing is lost while storage is in trouble, and memory stays bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_aiperf.storage import sink as sinks
from tb_aiperf.storage.sink import DurableSink, FolderSink


class FailingSink:
    """Takes summaries into `written` once they are flushed; fails while told to."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._taken: list[str] = []
        self.failing = ""
        self.abandoned = 0

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        if self.failing == "add":
            raise OSError("disk full")
        self._taken.append(tag)

    def flush(self) -> None:
        if self.failing == "flush":
            raise OSError("disk full")
        self.written += self._taken
        self._taken = []

    def abandon(self) -> None:
        self.abandoned += 1
        self._taken = []

    close = flush


@pytest.mark.parametrize("failing", ["add", "flush"])
def test_what_failed_is_written_later_in_order(failing: str) -> None:
    beneath: Any = FailingSink()
    troubles: list[Exception] = []
    sink = DurableSink(lambda: beneath, troubles.append)
    sink.add("a", b"1", b"", 0)
    sink.flush()
    beneath.failing = failing
    for tag in "bc":
        sink.add(tag, b"1", b"", 0)
        sink.flush()
    assert (beneath.written, sink.waiting) == (["a"], 2)
    beneath.failing = ""
    sink.add("d", b"1", b"", 0)
    sink.flush()
    assert beneath.written == ["a", "b", "c", "d"]
    assert (sink.waiting, sink.dropped) == (0, 0)
    assert [str(trouble) for trouble in troubles] == ["disk full"], "told once"


def test_a_sink_that_cannot_be_opened_yet(tmp_path: Path) -> None:
    blocked = tmp_path / "run"
    blocked.write_text("in the way")
    troubles: list[Exception] = []
    sink = DurableSink(lambda: FolderSink(str(blocked / "inner")), troubles.append)
    sink.add("a", b"1", b"", 0)
    sink.flush()
    blocked.unlink()
    sink.flush()
    sink.close()
    assert (sink.waiting, len(troubles)) == (0, 1)
    assert len(list((blocked / "inner").iterdir())) == 1


def test_trouble_without_end_costs_summaries_not_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_WAITING_BYTES", 100)
    beneath: Any = FailingSink()
    beneath.failing = "add"
    sink = DurableSink(lambda: beneath, lambda error: None)
    for number in range(25):
        sink.add(str(number), b"x" * 10, b"", 0)
    assert (sink.waiting, sink.dropped) == (10, 15)
    beneath.failing = ""
    sink.close()
    assert beneath.written == [str(number) for number in range(15, 25)]


def test_without_trouble_much_is_flushed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_WAITING_BYTES", 100)
    beneath: Any = FailingSink()
    sink = DurableSink(lambda: beneath, lambda error: None)
    for number in range(25):
        sink.add(str(number), b"x" * 10, b"", 0)
    sink.close()
    assert (len(beneath.written), sink.dropped) == (25, 0)
