"""`aiperf analyze` on the worst files, in a process that may hold 1 GiB: a report or one line, and an end.

What may hang or fill the memory is tried here; what is merely damaged is in tests/unit/trace/test_trace_damage.py.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.trace.events import document, kernel, launch, mark, span

resource = pytest.importorskip("resource", reason="limits of memory are POSIX")

ADDRESS_SPACE = 1 << 30
#: Nothing here takes more than some seconds, so what takes this long has no end.
HANG_S = 60
#: For what is known not to end soon.
SHORT_S = 4
MANY = 100_000

_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
sys.argv[:2] = ["aiperf"]
from tb_aiperf.cli import main
main()
"""


def aiperf(*arguments: str, timeout: float = HANG_S) -> subprocess.CompletedProcess[str]:
    """The command within `ADDRESS_SPACE`. Raises `subprocess.TimeoutExpired`."""
    command = [sys.executable, "-c", _LIMITED, str(ADDRESS_SPACE), *arguments]
    # Threads of numpy's linear algebra would reserve address space that no one uses.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


def is_report(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether there is a report (True) or one line that says why there is none; anything else fails."""
    if done.returncode == 0:
        assert done.stderr == ""
        return True
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("aiperf: ")
    assert done.stderr.count("\n") == 1, done.stderr[-1000:]
    return False


OPERATORS = json.dumps([span(f"aten::op{index}", 10 * index, 5) for index in range(20)])[1:-1].encode()
EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {"Input Dims": %b}}'


def trace_of(*events: bytes) -> bytes:
    return b'{"traceEvents": [%b]}' % b", ".join([OPERATORS, *events])


def allocation(number: int, moment: float, device: int = -1) -> dict[str, Any]:
    arguments = {"Device Type": 0 if device < 0 else 1, "Device Id": device, "Bytes": 8, "Addr": number}
    return {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": moment, "args": arguments}


def repeated(event: dict[str, Any], change: Callable[[int], dict[str, Any]], count: int = MANY) -> list[dict[str, Any]]:
    return [{**event, **change(index)} for index in range(count)]


def nested(name: str, category: str, count: int = MANY, **arguments: Any) -> list[dict[str, Any]]:
    """Ranges each in the one before."""
    return repeated(
        span(name, 0, 0, category, **arguments), lambda index: {"ts": index, "dur": 4 * count - 2 * index}, count
    )


def late(index: int) -> float:
    """A moment at which of `nested` operators only the outermost is still open."""
    return 4 * MANY - 0.5 + index / MANY / 10


#: A report is expected of these.
DEEP_AND_MANY: dict[str, Callable[[], bytes]] = {
    "operators nested in each other": lambda: document(nested("aten::op", "cpu_op")),
    "modules nested in each other": lambda: document(
        [*nested("nn.Module: A_0", "python_function", **{"Python module id": 1}), span("aten::mm", MANY, 0.5)]
    ),
    "python frames nested in each other": lambda: document(
        [
            *repeated(
                span("a.py(1): f", 0, 0, "python_function"),
                lambda i: {"ts": i, "dur": 4 * MANY - 2 * i, "args": {"Python id": i, "Python parent id": i - 1}},
            ),
            *repeated(span("aten::mm", 0, 0.1), lambda i: {"ts": MANY + i / 2}, 1000),
        ]
    ),
    "identical step marks": lambda: document([mark(1, 0, 100), *[mark(7, 5, 10)] * MANY]),
    "step marks nested in each other": lambda: document(
        [
            *repeated(mark(1, 0, 0), lambda i: {"name": f"ProfilerStep#{i}", "ts": i, "dur": MANY - 2 * i}, MANY // 2),
            *repeated(launch(1, 0, 0.01), lambda i: {"ts": MANY / 2 + i, "args": {"correlation": i + 1}}, 1000),
            *repeated(kernel(1, 0, 9), lambda i: {"ts": MANY + 10 * i, "args": {"correlation": i + 1}}, 1000),
        ]
    ),
    "one correlation id for all": lambda: document(
        [*repeated(launch(1, 0, 0.1), lambda i: {"ts": i}), *repeated(kernel(1, 0, 0.5), lambda i: {"ts": i + 0.2})]
    ),
    "operators that cross": lambda: document(repeated(span("aten::op", 0, MANY), lambda i: {"ts": i})),
    "operators at one moment": lambda: document([span("aten::op", 5, 0)] * MANY),
    "a thread each": lambda: document(repeated(span("aten::op", 0, 5), lambda i: {"ts": i, "tid": i}, MANY // 4)),
    "a device each": lambda: document([*repeated(kernel(1, 0, 5), lambda i: {"ts": i, "pid": i}), span("a", 0, 1)]),
    "a name each": lambda: document(repeated(span("", 0, 5), lambda i: {"ts": i, "name": f"aten::op{i}"}, MANY // 2)),
    "a shape each": lambda: document(
        repeated(span("aten::op", 0, 5), lambda i: {"ts": i, "args": {"Input Dims": [[i]]}}, MANY // 2)
    ),
    "a long name": lambda: document([span("x" * 4_000_000, 0, 5)]),
    "shapes nested in each other": lambda: trace_of(EVENT % (b"[" * MANY + b"]" * MANY), EVENT % b"[]"),
    "arguments nested in each other": lambda: trace_of(EVENT % (b'{"a":' * MANY + b"1" + b"}" * MANY), EVENT % b"[]"),
    "lists of arguments never closed": lambda: trace_of(EVENT % (b"[" * MANY), EVENT % b"[]"),
    "metadata nested in each other": lambda: (
        b'{"distributedInfo": %b, "traceEvents": [%b]}' % (b"[" * MANY + b"]" * MANY, OPERATORS)
    ),
    "metadata behind, nested": lambda: (
        b'{"traceEvents": [%b], "distributedInfo": %b}' % (OPERATORS, b'{"rank":' * MANY + b"1" + b"}" * MANY)
    ),
    "an event of many like events": lambda: trace_of(EVENT % (b"[%b{}]" % (b'{"name": 1}, ' * MANY)), EVENT % b"[]"),
    "a broken event of many like events": lambda: trace_of(
        (EVENT % (b"[%b{}]" % (b'{"name": 1}, ' * MANY))).replace(b'"ts":', b'"ts"'), EVENT % b"[]"
    ),
    "every event is broken": lambda: trace_of(*[b'{"ph": "X", "name": "a", "ts" 1}'] * MANY),
    "bytes after each brace": lambda: trace_of(*[b"}" + b" " * 200] * 5000),
    "a broken last event with many lists": lambda: (
        b'{"traceEvents": [%b, {"ph": "X", "ts" 5, "args": {%b' % (OPERATORS, b'"a": [{}], ' * 20_000)
    ),
    "a broken head with many lists of traceEvents": lambda: (
        b'{"a" 1, %b"traceEvents": [%b]}' % (b'"x": {"traceEvents": []}, ' * 20_000, OPERATORS)
    ),
    "broken metadata with many lists behind the events": lambda: (
        b'{"traceEvents": [%b], "x": {%b' % (OPERATORS, b'"a": [{}], ' * MANY)
    ),
    "launches behind deeply nested operators": lambda: document(
        [
            *nested("aten::op", "cpu_op"),
            *repeated(launch(1, 0, 0.0001), lambda i: {"ts": late(i), "args": {"correlation": i + 1}}),
            *repeated(kernel(1, 0, 0.5), lambda i: {"ts": 5 * MANY + i, "args": {"correlation": i + 1}}),
        ]
    ),
    "allocations behind deeply nested operators": lambda: document(
        [*nested("aten::op", "cpu_op"), *(allocation(index, late(index)) for index in range(MANY))]
    ),
    "memory of a device each": lambda: document(
        [span("aten::op", 0, 5), *(allocation(index, index, device=index) for index in range(MANY))]
    ),
}

SLOW = "takes time with the square of the size: "
#: What does not end soon, and why. Whoever mends one takes it from here.
KNOWN: dict[str, str] = {}


def marked(kind: str) -> Any:
    marks = [pytest.mark.xfail(strict=True, reason=KNOWN[kind])] if kind in KNOWN else []
    return pytest.param(kind, marks=marks)


@pytest.mark.parametrize("kind", [marked(kind) for kind in DEEP_AND_MANY])
def test_deep_and_many(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(DEEP_AND_MANY[kind]())
    done = aiperf("analyze", str(path), timeout=SHORT_S if kind in KNOWN else HANG_S)
    assert is_report(done), done.stderr
    assert "Operator" in done.stdout


HIDDEN = b'"traceEvents": [{'
#: These have no events. (The `gzip` members of the last three inflate to 1 and 16 GiB.)
NO_TRACE: dict[str, Callable[[], bytes]] = {
    "opening brackets": lambda: b"[" * 2_000_000,
    "opening braces": lambda: b'{"traceEvents": [' + b"{" * 2_000_000,
    "closing braces": lambda: b'{"traceEvents": [' + b"}" * 2_000_000,
    "backslashes": lambda: b'{"traceEvents": [{"name": "' + b"\\" * 1_999_999,
    "keys without end": lambda: b"{" + HIDDEN * MANY,
    "zeros": lambda: gzip.compress(bytes(1 << 26)) * 16,
    "zeros behind the head": lambda: gzip.compress(b'{"traceEvents": [') + gzip.compress(bytes(1 << 26)) * 256,
    "blanks": lambda: gzip.compress(b"[") + gzip.compress(b" " * (1 << 26)) * 256,
}


@pytest.mark.parametrize("kind", NO_TRACE)
def test_floods(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(NO_TRACE[kind]())
    assert not is_report(aiperf("analyze", str(path)))


def test_a_bomb_of_events(tmp_path: Path) -> None:
    """Far more events than a file of this size can hold, with room between them: refused before they fill the disk."""
    packed = gzip.compress(OPERATORS + b"," + b" " * (1 << 25))
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [') + packed * 512)
    done = aiperf("analyze", str(path))
    assert not is_report(done)
    assert "times its size" in done.stderr


def test_a_hole_of_eight_gibibytes(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"traceEvents": [' + OPERATORS + b",")
    os.truncate(path, 8 << 30)
    assert not is_report(aiperf("analyze", str(path)))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_devices(device: str) -> None:
    if not os.path.exists(device):
        pytest.skip(f"no {device} here")
    assert not is_report(aiperf("analyze", device))


def test_a_pipe_without_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    os.mkfifo(path)
    assert not is_report(aiperf("analyze", str(path), timeout=SHORT_S))


def test_a_folder_with_a_pipe_in_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "trace.json").write_bytes(trace_of())
    assert is_report(aiperf("analyze", str(tmp_path)))
