"""The compiled scanner takes from a window what Python does, or leaves it to Python."""

from __future__ import annotations

import gc
import json
import random
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tb_aiperf.trace import columns as columns_module
from tb_aiperf.trace import compiled, profile_trace, read_trace, source, windows
from tb_aiperf.trace.columns import Columns
from tb_aiperf.trace.events import decode_events
from tb_aiperf.trace.nesting import _parents_of_lists, nest
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.salvage import INVALID
from tb_aiperf.trace.table import (
    AnnotationSpans,
    DeviceSpans,
    MemoryEvents,
    OperatorSpans,
    OverheadSpans,
    PythonSpans,
    RuntimeSpans,
    Spans,
)
from tb_aiperf.trace.windows import EventFile
from tests.unit.trace.events import kernel, launch, mark, span
from tests.unit.trace.published import ALL, ORACLES, needs_traces

KINDS = (OperatorSpans, AnnotationSpans, RuntimeSpans, DeviceSpans, PythonSpans, OverheadSpans, MemoryEvents)
NATIVE = compiled.native
pytestmark = pytest.mark.skipif(NATIVE is None, reason="the compiled part was not built, or is switched off")


def columns(native: ModuleType | None, notes: Notes | None = None) -> Columns:
    """Columns with or without the scanner."""
    kept, compiled.native = compiled.native, native
    try:
        return Columns(notes or Notes())
    finally:
        compiled.native = kept


def content(columns: Columns) -> dict[str, Any]:
    """All that columns hold."""
    tables = {
        kind.__name__: [
            (field.name, column.dtype.str, column.tolist())
            for field in fields(kind)
            for column in [getattr(table, field.name)]
        ]
        for kind in KINDS
        for table in [columns.take(kind)]
    }
    texts = {name: getattr(columns, name) for name in ("names", "shapes", "threads", "collectives")}
    return tables | texts | {"unknown": columns.unknown_categories, "warnings": columns.notes.warnings()}


def scanned(text: bytes) -> dict[str, Any] | None:
    """What the scanner takes from a window, None if it leaves it."""
    target = columns(NATIVE)
    return content(target) if target.scan(text) else None


def decoded(text: bytes) -> dict[str, Any]:
    """What Python takes from a window."""
    target = columns(None)
    target.add(decode_events(text))
    return content(target)


def same(text: bytes) -> bool:
    """Whether the scanner takes a window; if it does, Python must take the same."""
    result = scanned(text)
    if result is None:
        return False
    try:
        expected = decoded(text)
    except INVALID as error:
        pytest.fail(f"the scanner took what is invalid: {error}")
    # Through text, so that 1 and 1.0 and True differ.
    assert repr(result) == repr(expected)
    return True


def event(**values: str) -> bytes:
    """An operator with values in JSON in place of usual ones; an empty value leaves the key out."""
    usual = {
        "ph": '"X"',
        "cat": '"cpu_op"',
        "name": '"a"',
        "pid": "1",
        "tid": "2",
        "ts": "10",
        "dur": "5",
        "args": "{}",
    }
    return b"{%b}" % ", ".join(f'"{key}": {value}' for key, value in (usual | values).items() if value).encode()


ARGUMENTS: dict[str, Any] = {
    "External id": 7,
    "Input Dims": [[2, 3], [], [[1], [2]]],
    "Input type": ["float", "", "Scalar"],
    "Sequence number": 12,
    "Fwd thread id": 1,
    "correlation": 31,
    "Python module id": 4,
    "occupancy": -0.25e-3,
    "nothing": None,
    "deep": {"a": [True, False, {"b": {}}], "c": '\\ " \u00e9 \U0001f600 \x7f'},
}
COLLECTIVE: dict[str, Any] = {
    "Collective name": "allreduce",
    "Process Group Name": "0",
    "Process Group ID": 5,
    "Seq": 3,
    "In msg nelems": 1024,
    "dtype": "BFloat16",
}
MEMORY = {
    "ph": "i",
    "s": "t",
    "name": "[memory]",
    "pid": 1,
    "tid": 1,
    "ts": 3.5,
    "args": {"Device Type": 1, "Device Id": 0, "Bytes": -512, "Addr": 140, "Total Allocated": 512, "Ev Idx": 3},
}
#: An event of each kind.
EVENTS: list[dict[str, Any]] = [
    span("aten::mm", 1.25, 3, **ARGUMENTS),
    span("aten::mm", 2.5, 0.001, "Operator"),
    mark(1, 0, 900),
    launch(31, 5, 2),
    span("gemm", 9, 400, "kernel", 7, 0, **ARGUMENTS),
    kernel(32, 9, 400, "nccl", **COLLECTIVE),
    kernel(33, 9, 400, "nccl", **{**COLLECTIVE, "Process Group Name": None, "Seq": None}),
    kernel(34, 8, 1, "Memcpy HtoD", "gpu_memcpy", stream="stream 9"),
    kernel(35, 8, 1, "Memset", "gpu_memset"),
    span("nn.Module: Linear_0", 3, 10, "python_function", **{"Python module id": 4}),
    span("Iteration", 3, 10, "overhead"),
    span("?", 3, 10, "hpu_op"),
    span("?", 3, 10, "Trace"),
    span("[memory]", 3, 10, "[instant]"),
    {"ph": "X", "name": "addmm", "ts": 1.0, "dur": 2.0, "tid": 1, "pid": "CPU functions", "args": {}},
    {"ph": "X", "name": "gemm", "ts": 1.0, "dur": 2.0, "tid": 1, "pid": "CUDA functions"},
    {"ph": "X", "name": "neither", "ts": 1.0, "dur": 2.0, "tid": 1, "pid": 1},
    MEMORY,
    {**MEMORY, "name": "Record Window End"},
    {"args": {"name": "python"}, "name": "process_name", "ts": 0, "pid": 1, "tid": "x", "ph": "M"},
    {"cat": "ac2g", "id": 5, "ph": "s", "pid": 0, "tid": 7, "ts": 8, "name": "ac2g", "bp": "e"},
]


def lines(events: list[dict[str, Any]], **form: Any) -> bytes:
    """The inside of an array."""
    return json.dumps(events, **form).encode()[1:-1]


FORMS: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False, "indent": "\t"}]


@pytest.mark.parametrize("form", FORMS)
def test_events_of_every_kind_are_taken(form: dict[str, Any]) -> None:
    result = scanned(lines(EVENTS, **form))
    assert result == decoded(lines(EVENTS, **form))
    assert all(result[kind.__name__][0][2] for kind in KINDS), "each kind has rows"
    assert len(result["collectives"]) == 2
    assert result["unknown"] == {"hpu_op": 1, "[instant]": 1}


@given(st.lists(st.sampled_from(EVENTS), max_size=30), st.sampled_from(FORMS), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_events_in_any_order_of_keys_are_taken(
    events: list[dict[str, Any]], form: dict[str, Any], shuffle: random.Random
) -> None:
    mixed = [{key: value[key] for key in shuffle.sample(sorted(value), len(value))} for value in events]
    assert same(lines(mixed, **form))


@given(st.lists(st.sampled_from(EVENTS), min_size=10, max_size=60), st.lists(st.integers(0, 100), max_size=3))
@settings(max_examples=60, deadline=None)
def test_a_file_reads_alike_with_damage_and_in_small_windows(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]], damage: list[int]
) -> None:
    pieces = [json.dumps(value).encode() for value in events]
    for place in damage:
        pieces[place % len(pieces)] = b'{"ph": "X", "ts": 5, "cat": "kernel", "name": "\\a", "dur": NaN}'
    path = tmp_path_factory.mktemp("file") / "trace.json"
    path.write_bytes(b'{"traceEvents": [' + b",\n ".join(pieces) + b"]}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOW_BYTES", 700)
        patch.setattr(source, "BLOCK_BYTES", 500)
        results = []
        for native in (NATIVE, None):
            notes = Notes()
            target = columns(native, notes)
            rows = sum(EventFile(path, notes).read_into(target))
            assert rows == len(target)
            found = content(target)
            assert rows == sum(len(found[kind.__name__][0][2]) for kind in KINDS)
            results.append(found)
    assert results[0] == results[1]


def test_rows_may_be_taken_while_reading_goes_on() -> None:
    target = columns(NATIVE)
    for text in (lines(EVENTS), lines(EVENTS[::-1])):
        assert target.scan(text)
        assert len(target.take(OperatorSpans)) == 3
        assert len(target.take(OperatorSpans)) == 0
    assert len(target.take(DeviceSpans)) == 12
    assert target.names == tuple(dict.fromkeys(target.names))


@pytest.mark.parametrize("key", ["ts", "dur"])
@pytest.mark.parametrize(
    ("number", "taken"),
    [
        ("0", True),
        ("-0", True),
        ("-0.0", True),
        ("12.5", True),
        ("12.50000", True),
        ("1e3", True),
        ("1.5E+2", True),
        ("125e-3", True),
        ("0.0005", True),
        ("0.0015", True),
        ("1.00049999999999999", True),
        ("2147483648.1235", True),
        ("8796093022207.99951", True),
        ("8796093022207.99999", True),
        ("8796093022208.0005", True),
        ("8796093022208.0015", True),
        ("1712195495519689.047", True),
        ("604800000000", True),
        ("604800000000.0001", True),
        ("604800000000.001", True),
        ("4503599627370496", True),
        ("4503599627370496.4", True),
        ("4503599627370496.5", True),
        ("4503599627370496.6", True),
        ("4503599627370497", True),
        ("9223372036854775807", True),
        ("9223372036854775807.5", False),
        ("1e19", True),
        ("1e90", True),
        ("-7", True),
        ("-7.0004", True),
        ("-8796093022209.12345", True),
        ("-4503599627370497", True),
        ("1.1368683772161603e-13", True),
        ("-1.1368683772161603e-13", True),
        ("0.00021850405707013817", True),
        ("0.00050000000000000001", False),
        ("0.00049999999999999", True),
        ("0.00150000000000000001e-1", True),
        ("5e-99", True),
        ("9223372036854775808", False),
        ("-9223372036854775809", False),
        ("123456789012345678901234", False),
        ("0.12345678901234567890123", False),
        ("1e400", False),
        ("-1e-400", False),
        ("01", False),
        ("1.", False),
        (".5", False),
        ("+1", False),
        ("-", False),
        ("1e", False),
        ("1e+", False),
        ("0x10", False),
        ("NaN", False),
        ("Infinity", False),
        ('"1"', False),
        ("true", False),
        ("[1]", False),
    ],
)
def test_numbers(key: str, number: str, taken: bool) -> None:
    assert same(event(**{key: number})) == taken


def test_no_duration() -> None:
    assert same(event(dur="null"))
    assert same(event(dur=""))
    assert not same(event(ts="null"))
    assert not same(event(ts=""))


DECIMALS = st.builds(
    lambda sign, whole, decimals, exponent: f"{sign}{whole}{decimals}{exponent}",
    st.sampled_from(["", "-"]),
    st.one_of(st.integers(0, 1 << 53), st.integers((1 << 43) - 2, (1 << 43) + 2), st.integers(0, 10**19)).map(str),
    st.one_of(st.just(""), st.from_regex(r"\.[0-9]{1,19}", fullmatch=True), st.from_regex(r"\.0*5", fullmatch=True)),
    st.one_of(st.just(""), st.integers(-25, 25).map(lambda power: f"e{power}")),
)


@given(st.lists(st.tuples(DECIMALS, DECIMALS), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_decimals_round_alike(times: list[tuple[str, str]]) -> None:
    taken = [same(event(ts=ts, dur=dur)) for ts, dur in times]
    assert same(b",".join(event(ts=ts, dur=dur) for ts, dur in times)) == all(taken)


@given(st.floats(-(2.0**53), 2.0**53), st.floats(-1, 7e11))
@settings(max_examples=300, deadline=None)
def test_numbers_as_python_writes_them_are_taken(ts: float, dur: float) -> None:
    ts, dur = (value if abs(value) > 1e-80 else 0.0 for value in (ts, dur))
    assert same(event(ts=repr(ts), dur=repr(dur)))


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ({"pid": '"12"'}, True),
        ({"pid": "null"}, True),
        ({"pid": ""}, True),
        ({"tid": "-3"}, True),
        ({"tid": '"stream \u00e9"'}, True),
        ({"tid": "123456789012345678"}, True),
        ({"tid": "-0"}, False),
        ({"tid": "1.0"}, False),
        ({"tid": '"\\u0041"'}, False),
        ({"tid": "12345678901234567890"}, False),
        ({"tid": "true"}, False),
        ({"tid": "{}"}, False),
        ({"tid": f'"{"x" * 1000}"'}, False),
        ({"cat": ""}, True),
        ({"cat": '"KERNEL"'}, True),
        ({"cat": '"\u212aERNEL"'}, True),
        ({"cat": '"foo_Driver"'}, True),
        ({"cat": '"\\u0041"'}, False),
        ({"cat": "null"}, False),
        ({"name": ""}, True),
        ({"name": '"\\u0041"'}, True),
        ({"name": '"\\ud83d\\ude00 \\n\\t\\/\\\\\\"\\b\\f\\r\\u0000"'}, True),
        ({"name": '"\\ud83d"'}, False),
        ({"name": '"\\ude00\\ud83d"'}, False),
        ({"name": '"\\ud83d\\u0041"'}, False),
        ({"name": '"\\u00g0"'}, False),
        ({"name": '"\\x"'}, False),
        ({"name": '"a\tb"'}, False),
        ({"name": '"a\x00b"'}, False),
        ({"name": "5"}, False),
        ({"args": ""}, True),
        ({"args": "null"}, False),
        ({"args": "[]"}, False),
        ({"args": '{"correlation": 9223372036854775807}'}, True),
        ({"args": '{"correlation": -9223372036854775808}'}, True),
        ({"args": '{"correlation": 9223372036854775808}'}, False),
        ({"args": '{"correlation": 5.0}'}, False),
        ({"args": '{"correlation": null}'}, False),
        ({"args": '{"correlation": 1, "correlation": 2}'}, False),
        ({"args": '{"other": 1, "other": 2}'}, True),
        ({"args": '{"\\u0063orrelation": 2}'}, False),
        ({"args": '{"Input Dims": null}'}, True),
        ({"args": '{"Input Dims": [ [1 , 2],\n\t[] ]}'}, True),
        ({"args": '{"Collective name": 5}'}, False),
        ({"args": '{"Seq": "5"}'}, False),
        ({"args": '{"dtype": 5}'}, False),
        ({"args": '{"Process Group Name": [5]}'}, False),
        ({"args": '{"Process Group Name": 5.5}'}, False),
        ({"args": '{"x": tru}'}, False),
        ({"args": '{"x": 1,}'}, False),
        ({"args": '{"x": [1,]}'}, False),
        ({"args": '{"x": [1 2]}'}, False),
        ({"args": '{"x": {"a" 1}}'}, False),
        ({"args": '{"x": {1: 1}}'}, False),
        ({"args": '{"x": [}'}, False),
        ({"args": '{"x": []]}'}, False),
        ({"args": '{"x" : [ ] , "y" : { } }'}, True),
        ({"args": '{"x": ' + "[" * 50 + "]" * 50 + "}"}, True),
        ({"args": '{"x": ' + "[" * 100 + "]" * 100 + "}"}, False),
        ({"ph": '"Q"'}, False),
        ({"ph": '"XX"'}, False),
        ({"ph": '""'}, False),
        ({"ph": "1"}, False),
        ({"ph": ""}, False),
        ({"ph": '"C"', "ts": '"x"', "args": "5", "pid": "[]"}, True),
        ({"ph": '"i"', "name": '"[memory]"', "dur": "[]", "cat": "7"}, True),
        ({"ph": '"i"', "name": '"[memory\\u005d"'}, False),
        ({"ph": '"i"', "args": '{"Bytes": "x"}'}, False),
        ({"ph": '"i"', "name": '"[memory]"', "ts": "1e15"}, True),
        ({"ph": '"i"', "name": '"[memory]"', "ts": "1e18"}, True),
    ],
)
def test_values(values: dict[str, str], taken: bool) -> None:
    assert same(event(**values)) == taken
    assert same(b"%b, %b" % (event(), event(**values))) == taken


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (b"", True),
        (b" \r\n\t", True),
        (b"{}", False),
        (b"1", False),
        (b"null", False),
        (b"[]", False),
        (event() + b",", False),
        (b"," + event(), False),
        (event() + b" " + event(), False),
        (event() + b"]", False),
        (event() + b"\0", False),
        (b"\0", False),
        (b"\xef\xbb\xbf" + event(), False),
        (b"[" * 100_000 + b"]" * 100_000, False),
        (event(args='{"x": ' + "[" * 100_000), False),
        (event(args='{"x": ' + '{"a":' * 100_000 + "1" + "}" * 100_001), False),
        (event(ts="9" * 100_000), False),
        (event(args='{"x": ' + "9" * 100_000 + "}"), True),
        (event(name=f'"{"n" * 1_000_000}"'), True),
        (b'{"ts": 1, "ts": 2, "ph": "X"}', False),
        (b'{"ph": "X", "ts": 1, "p\\u0068": "i"}', False),
        (b'{"ts": 1, "args": {"correlation": 3}, "cat": "kernel", "ph": "X"}', True),
    ],
)
def test_windows(text: bytes, taken: bool) -> None:
    if len(text) < 100_000 or taken:
        assert same(text) == taken
    else:
        assert scanned(text) is None


@given(st.binary(max_size=12))
@settings(max_examples=500, deadline=None)
@example(b"\xc3\xa9")
@example(b"\xe2\x82\xac\xf0\x9f\x98\x80")
@example(b"\xed\xa0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"\xc0\xaf")
@example(b"\xe0\x80\xaf")
def test_bytes_beyond_ascii_are_taken_if_they_are_utf8(garbage: bytes) -> None:
    text = event(name='"NAME"').replace(b"NAME", garbage)
    try:
        decoded(text)
        valid = garbage.isascii() or garbage.decode() is not None
    except INVALID:
        valid = False
    if not set(garbage) & set(b'"\\'):
        assert same(text) == valid


TEXT = lines(EVENTS)


def test_a_window_cut_anywhere() -> None:
    # Between events a cut leaves whole ones, and the comma behind them.
    whole = {0, len(TEXT)} | {place for place in range(len(TEXT)) if TEXT[place - 1 : place + 4] == b'}, {"'}
    for place in range(len(TEXT)):
        assert same(TEXT[:place]) == (place in whole)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes(text: bytes) -> None:
    same(text)


GARBAGE = st.one_of(
    st.binary(max_size=9),
    st.text('{}[]",:\\ \n0123456789.-+eEtrufalsn\0\x1f', max_size=9).map(str.encode),
    st.sampled_from([b'"ph": "X",', b'"ts": 5,', b"\\ud800", b"1e999", b"-", b'"Seq": 1, ', b'"args": {}, ', b"null"]),
)


@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 30), GARBAGE), min_size=1, max_size=4))
@settings(max_examples=600, deadline=None)
def test_windows_with_wounds(wounds: list[tuple[int, int, bytes]]) -> None:
    text = TEXT
    for place, length, garbage in wounds:
        text = text[:place] + garbage + text[place + length :]
    same(text)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
KEYS = ["ts", "dur", "cat", "name", "pid", "tid", "args", "ph", "id"]
ARGUMENT_KEYS = [*ARGUMENTS, *COLLECTIVE, *MEMORY["args"]]


@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    st.dictionaries(st.one_of(st.sampled_from(ARGUMENT_KEYS), st.text()), VALUES, max_size=3),
    st.sampled_from(EVENTS),
    st.sampled_from(FORMS),
)
@settings(max_examples=200, deadline=None)
def test_values_of_any_type(
    values: dict[str, Any], arguments: dict[str, Any], usual: dict[str, Any], form: dict[str, Any]
) -> None:
    changed = {**usual, "args": {**usual.get("args", {}), **arguments}, **values}
    text = json.dumps([changed, usual], **form).encode("utf-8", "surrogatepass")[1:-1]
    same(text)


@needs_traces
@pytest.mark.parametrize(
    "path",
    [*ALL, *(path for path in sorted(ORACLES.glob("*/**/*.json")) if "expected" not in path.name)],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_real_traces_read_and_analysed_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for native in (NATIVE, None):
        monkeypatch.setattr(compiled, "native", native)
        notes = Notes()
        target = columns(native, notes)
        rows = list(EventFile(path, notes).read_into(target))
        results.append((rows, repr(content(target)), profile_trace(read_trace(path))))
    assert results[0] == results[1]


def test_a_new_kind_of_text_goes_on_where_the_last_window_ended() -> None:
    both, parts = columns(NATIVE), columns(None)
    for index in range(50):
        text = event(name=f'"name {index % 7}"', cat='"cpu_op"' if index % 2 else '"kernel"', tid=str(index % 3))
        assert both.scan(text) if index % 5 else both.add(decode_events(text)) is None
        parts.add(decode_events(text))
    assert content(both) == content(parts)


def test_a_file_of_too_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "MAX_TEXTS", 4)
    monkeypatch.setattr(columns_module, "MAX_UNKNOWN_CATEGORIES", 2)
    text = b",".join(
        event(name=f'"name {index}"', args=f'{{"Input Dims": [{index}]}}') + b"," + event(cat=f'"what {index}"')
        for index in range(9)
    )
    result = scanned(text)
    assert result == decoded(text)
    assert result["names"] == ("name 0", "name 1", "name 2", "(other names)")
    assert result["OperatorSpans"][0][2] == [0, 1, 2, 3, 3, 3, 3, 3, 3]
    assert result["shapes"] == ("[0]", "[1]", '"(other shapes)"')
    assert result["unknown"] == {"what 0": 1, "what 1": 1, "(other categories)": 7}
    assert result["warnings"] == [
        "the file has more than 3 different names; those that come later are one",
        "the file has more than 2 different input shapes; those that come later are one",
    ]


def test_a_file_of_too_long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "MAX_TEXT_BYTES", 10)
    text = b",".join(event(name=f'"{name}"') for name in ("abcd", "abcd", "efghi", "jklm", "n", "abcd"))
    result = scanned(text)
    assert result == decoded(text)
    assert result["names"] == ("abcd", "efghi", "(other names)")
    assert result["OperatorSpans"][0][2] == [0, 0, 1, 2, 2, 0]
    assert result["warnings"] == ["the file has more than 2 different names; those that come later are one"]


def test_an_error_of_the_caller_is_passed_on_and_the_scanner_stays_usable() -> None:
    def fail(category: str) -> str:
        raise KeyError(category)

    assert NATIVE is not None
    scanner = NATIVE.Scanner(fail, {}, {}, {})
    for _ in range(2):
        with pytest.raises(KeyError, match="cpu_op"):
            scanner.scan(event())
    assert scanner.scan(b"")
    scanner = NATIVE.Scanner(lambda category: "operator", {}, {}, {})
    assert scanner.scan(event())
    with pytest.raises(KeyError, match="a"):
        scanner.commit([[bytearray() for _ in range(8)] for _ in range(7)], 0)
    with pytest.raises(RuntimeError, match="no window"):
        scanner.commit([[bytearray() for _ in range(8)] for _ in range(7)], 0)


def test_wrong_arguments_are_refused() -> None:
    assert NATIVE is not None
    with pytest.raises(TypeError):
        NATIVE.Scanner(None, [], {}, {})
    scanner = NATIVE.Scanner(lambda category: "no kind", {"a": 0}, {(1, 2): 0}, {})
    with pytest.raises(TypeError, match="bytes"):
        scanner.scan("text")
    with pytest.raises(ValueError, match="no kind"):
        scanner.scan(event())
    scanner = NATIVE.Scanner(lambda category: "operator", {"a": 0}, {(1, 2): 0}, {})
    for tables in ([], [None] * 7, [[]] * 7, [[b"x"] * 7] * 7):
        assert scanner.scan(event())
        with pytest.raises((TypeError, ValueError)):
            scanner.commit(tables, 0)
    with pytest.raises(ValueError, match="columns of one length"):
        NATIVE.parents(*(np.zeros(length, np.int64) for length in (2, 2, 2, 2, 2)))


def test_a_scanner_at_work_is_not_entered_again() -> None:
    assert NATIVE is not None
    scanner = NATIVE.Scanner(lambda category: str(scanner.scan(b"")), {}, {}, {})
    with pytest.raises(RuntimeError, match="at work"):
        scanner.scan(event())


def test_nothing_leaks() -> None:
    texts = [TEXT, TEXT[:-1], event(name='"\\ud83d\\ude00"'), event(args='{"Seq": "x"}'), b"", event(cat='"what"')]

    def work() -> None:
        target = columns(NATIVE)
        for text in texts:
            target.scan(text)
        content(target)
        starts = np.arange(5)
        nest(Spans(np.zeros(5, np.int32), starts, starts + 3, np.zeros(5, np.int32)))

    work()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(50):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - before < 50


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2)), max_size=60))
@settings(max_examples=200, deadline=None)
def test_parents(ranges: list[tuple[int, int, int]]) -> None:
    start = np.array([start for start, _, _ in ranges], np.int64)
    end = start + np.array([length for _, length, _ in ranges], np.int64)
    thread = np.array([number for _, _, number in ranges], np.int32)
    nesting = nest(Spans(thread, start, end, thread))
    order = np.lexsort((-end, start, thread))
    assert nesting.order.tolist() == order.tolist()
    parent, stop = _parents_of_lists(start[order].tolist(), end[order].tolist(), thread[order].tolist())
    assert nesting.parent.tolist() == parent
    assert nesting.stop.tolist() == stop
