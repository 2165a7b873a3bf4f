"""Whatever bytes come, `analyze` gives a result or one `TraceError`; `aiperf analyze` a report, or one line and exit 1.

Which repairs are made, and what is told of them, is in test_trace_reader.py. Here inputs come in large numbers, and
what must hold for all of them is checked: an answer, sound in itself, with the undamaged rest of the file in it. What
would take memory or time if it went wrong runs in a process of its own, in tests/integration/test_trace_worst_cases.py.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from tb_aiperf import cli, terminal_profile
from tb_aiperf.records import TraceAnalysis
from tb_aiperf.trace import TraceError, analyze, source, windows
from tb_aiperf.trace.events import InstantArguments, SpanArguments
from tb_aiperf.trace.notes import Notes
from tb_aiperf.trace.windows import EventFile
from tests.unit.trace.events import document, kernel, launch, loading, mark, span
from tests.unit.trace.published import GLOO, MI210, TRACES, needs_traces

MEMORY = {
    "ph": "i",
    "s": "t",
    "name": "[memory]",
    "pid": 1,
    "tid": 1,
    "ts": 12.5,
    "args": {
        "Device Type": 1,
        "Device Id": 0,
        "Bytes": 512,
        "Addr": 140,
        "Total Allocated": 512,
        "Total Reserved": 1024,
    },
}
COLLECTIVE: dict[str, Any] = {
    "Collective name": "allreduce",
    "Process Group Name": "0",
    "Process Group ID": 0,
    "Seq": 1,
    "In msg nelems": 1024,
    "dtype": "Float",
}
SHAPES: dict[str, Any] = {"External id": 1, "Input Dims": [[8, 8], [8, 8]], "Sequence number": 4}
#: One of everything that the analysis looks at, in 40 microseconds.
WHOLE = [
    mark(1, 0, 20),
    loading(0.5, 2),
    span("aten::mm", 3, 8, **SHAPES),
    launch(1, 4, 2),
    kernel(1, 7, 5),
    launch(2, 9, 1, name="cudaMemcpyAsync"),
    kernel(2, 12, 1, name="Memcpy HtoD (Pageable -> Device)", cat="gpu_memcpy"),
    launch(3, 11, 1),
    kernel(3, 13, 4, name="ncclDevKernel_AllReduce", **COLLECTIVE),
    span("nn.Module: Linear_0", 2.5, 9, "python_function", **{"Python id": 1, "Python module id": 0}),
    MEMORY,
    mark(2, 20, 20),
    span("aten::add", 22, 5),
]
METADATA: dict[str, Any] = {
    "deviceProperties": [{"id": 0, "name": "A100", "totalGlobalMem": 1 << 36}],
    "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
    "baseTimeNanoseconds": 1_700_000_000_000_000_000,
}
SMALL = document(WHOLE, **METADATA)
#: Short, for what is done at every byte: a mark, an operator and its kernel, and metadata on both sides.
TINY = [WHOLE[0], span("aten::mm", 3, 8), launch(1, 4, 2), kernel(1, 7, 5), span("aten::add", 22, 5)]
TINY_OBJECT = b'{"deviceProperties": [], "traceEvents": %b, "distributedInfo": {"rank": 0}}' % json.dumps(TINY).encode()
OPERATORS = [span(f"aten::op{index}", 10 * index, 5) for index in range(20)]
ALL_ONCE = {operator["name"]: 1 for operator in OPERATORS}

SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each input is written in its turn."""
    return tmp_path_factory.mktemp("damage") / "trace.json"


def outcome(*paths: Path) -> TraceAnalysis | TraceError:
    """What `analyze` makes of files: a sound result, or its one error, which names the file and what to do."""
    try:
        result: TraceAnalysis | TraceError = analyze(paths)
    except TraceError as error:
        result = error
    if isinstance(result, TraceError):
        assert all(part in str(result) for part in (result.path, result.place, result.remedy))
    else:
        check(result)
    return result


def outcome_of(path: Path, content: bytes) -> TraceAnalysis | TraceError:
    path.write_bytes(content)
    return outcome(path)


def check(analysis: TraceAnalysis) -> None:
    """What holds for every result, however its file was damaged."""
    # Encoding fails on what is no JSON: NaN would come back as null, which the types refuse.
    assert msgspec.json.decode(msgspec.json.encode(analysis), type=TraceAnalysis) == analysis
    for profile in analysis.traces:
        for step in profile.steps:
            categories = msgspec.structs.astuple(step.categories_us)
            assert min(categories) >= 0
            # Times of up to 2^52 us, in doubles of microseconds.
            assert sum(categories) == pytest.approx(step.duration_us, rel=1e-12, abs=1e-3)
        for operator in profile.operators:
            assert operator.host_self_us >= 0
            assert operator.calls >= 1


def operators_of(analysis: TraceAnalysis | TraceError) -> dict[str, int]:
    """Calls by name."""
    assert isinstance(analysis, TraceAnalysis), analysis
    return {operator.name: operator.calls for operator in analysis.traces[0].operators}


def warnings_of(analysis: TraceAnalysis | TraceError) -> list[str]:
    """What is told of the file, without what is told of any small file."""
    assert isinstance(analysis, TraceAnalysis), analysis
    known = ("world size unknown", "no data-loading", "no memory events", "no device work", "no operators")
    return [warning for warning in analysis.traces[0].warnings if not warning.startswith(known)]


def printed(analysis: TraceAnalysis) -> str:
    out = io.StringIO()
    terminal_profile.print_analysis(analysis, Console(file=out, width=80))
    return out.getvalue()


def aiperf(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``aiperf analyze``."""
    out, errors = io.StringIO(), io.StringIO()
    code = -1
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            cli.app(["analyze", *arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return code, out.getvalue(), errors.getvalue()


def fails_in_one_line(*arguments: str) -> str:
    """The one line of a command that cannot do its work."""
    code, out, errors = aiperf(*arguments)
    assert (code, out) == (1, "")
    assert errors.startswith("aiperf: ")
    assert errors.endswith("\n")
    line = errors[:-1]
    assert line.isprintable()
    return line


# Cuts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TINY_OBJECT, json.dumps(TINY, indent=0).encode()], ids=["object", "list"])
def test_cut_at_every_byte(path: Path, text: bytes) -> None:
    calls = 0
    for cut in range(len(text)):
        result = outcome_of(path, text[:cut])
        if isinstance(result, TraceError):
            assert calls == 0, f"cut at {cut}: what was readable before is not any more"
        else:
            found = sum(operators_of(result).values())
            assert found >= calls, f"cut at {cut}: an event is lost that was there before"
            calls = found
    assert calls == 2


def test_gzip_cut_at_every_byte(path: Path) -> None:
    packed = gzip.compress(SMALL, mtime=0)
    for cut in range(len(packed)):
        result = outcome_of(path, packed[:cut])
        if not isinstance(result, TraceError):
            assert any("gzip stream is cut off" in warning for warning in warnings_of(result))
    assert operators_of(outcome_of(path, packed)) == {"aten::mm": 1, "aten::add": 1}


def real_traces() -> list[Path]:
    """Small enough to be read hundreds of times."""
    return [found for found in sorted(TRACES.glob("*/*.json.gz")) if found.stat().st_size < 50_000]


@needs_traces
@pytest.mark.parametrize("trace", real_traces(), ids=lambda trace: trace.parent.name)
def test_real_traces_cut_anywhere(path: Path, trace: Path) -> None:
    chance = random.Random(trace.name)
    packed = trace.read_bytes()
    text = gzip.decompress(packed)
    whole = operators_of(outcome(trace))
    rounds = 10 if len(text) > 100_000 else 25
    for content in (text, packed):
        for _ in range(rounds):
            result = outcome_of(path, content[: chance.randrange(len(content))])
            if isinstance(result, TraceAnalysis):
                assert all(calls <= whole[name] for name, calls in operators_of(result).items())


# Flipped bits, and bytes where none belong ---------------------------------------------------------------------------


@needs_traces
@pytest.mark.parametrize("trace", [GLOO, MI210], ids=lambda trace: trace.parent.name)
def test_flipped_bits_in_real_traces(path: Path, trace: Path) -> None:
    chance = random.Random(1)
    packed = trace.read_bytes()
    text = gzip.decompress(packed)
    for content in (text, packed):
        for flips in (1, 1, 1, 10, 10, 1000):
            damaged = bytearray(content)
            for _ in range(flips):
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            outcome_of(path, bytes(damaged))


@settings(SETTINGS, max_examples=150)
@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 7)), min_size=1, max_size=20))
def test_flipped_bits(path: Path, flips: list[tuple[int, int]]) -> None:
    damaged = bytearray(SMALL)
    for place, bit in flips:
        damaged[place] ^= 1 << bit
    outcome_of(path, bytes(damaged))


@settings(SETTINGS, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 7)), min_size=1, max_size=20))
def test_flipped_bits_in_gzip(path: Path, flips: list[tuple[int, int]]) -> None:
    damaged = bytearray(gzip.compress(SMALL, mtime=0))
    for place, bit in flips:
        damaged[place % len(damaged)] ^= 1 << bit
    outcome_of(path, bytes(damaged))


@settings(SETTINGS, max_examples=100)
@given(st.binary(max_size=300))
@pytest.mark.parametrize("head", [b"", b"[", b'{"traceEvents": [', b"\x1f\x8b\x08\x00", SMALL[:-1] + b","])
def test_any_bytes(path: Path, head: bytes, tail: bytes) -> None:
    outcome_of(path, head + tail)


# Values of any type in every field ------------------------------------------------------------------------------------

#: As they stand in a file; the last eleven are no JSON.
TOKENS = [
    *(b'""', b'"text"', b'"12"', b'"1e400"', b"[]", b"[1]", b"[[[1]]]", b"{}", b'{"a": 1}', b"null", b"true", b"false"),
    *(b"0", b"-0", b"-1", b"1.5", b"-1.5e-300", b"1e300", b"1e400", b"9" * 40, b"-" + b"9" * 40, b"1." + b"9" * 40),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551615", b'"\\u0000"', b'"\\ud83d\\ude00"', b'"<b>"', b"[" * 500 + b"]" * 500),
    *(
        b'"\\ud800"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"C:\\dir"',
        b'"\x00"',
        b"NaN",
        b"-Infinity",
        b"N/A",
        b"\\",
        b"01",
        b"",
    ),
]
FIELDS = ["ph", "ts", "dur", "pid", "tid", "name", "cat", "args"]
ARGUMENTS = [*SpanArguments.__struct_encode_fields__, "External id"]
MEMORY_ARGUMENTS = [*InstantArguments.__struct_encode_fields__]


def with_value(event: dict[str, Any], key: str, token: bytes, *, argument: bool) -> bytes:
    """The text of an event with `token` as the value of one of its keys."""
    holder = {**event["args"], key: "@"} if argument else {**event, key: "@"}
    text = json.dumps({**event, "args": holder} if argument else holder).encode()
    return text.replace(b'"@"', token)


@pytest.mark.parametrize(
    ("event", "key", "argument"),
    [
        *((WHOLE[2], key, False) for key in FIELDS),
        *((WHOLE[8], key, True) for key in ARGUMENTS),
        *((WHOLE[2], key, True) for key in ("Input Dims", "Sequence number", "Fwd thread id")),
        (WHOLE[9], "Python module id", True),
        *((MEMORY, key, False) for key in ("ts", "pid", "tid", "name", "args")),
        *((MEMORY, key, True) for key in MEMORY_ARGUMENTS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_value_in_every_field(path: Path, event: dict[str, Any], key: str, argument: bool) -> None:
    neighbours = [span(f"before {token!r}", 10 * place, 5) for place, token in enumerate(TOKENS)]
    events = []
    for neighbour, token in zip(neighbours, TOKENS, strict=True):
        events += [json.dumps(neighbour).encode(), with_value(event, key, token, argument=argument)]
    found = operators_of(outcome_of(path, b'{"traceEvents": [%b]}' % b", ".join(events)))
    assert [neighbour["name"] for neighbour in neighbours if neighbour["name"] not in found] == []


@pytest.mark.parametrize("key", FIELDS)
def test_any_value_in_the_last_event(path: Path, key: str) -> None:
    for token in TOKENS:
        events = [
            *(json.dumps(operator).encode() for operator in OPERATORS),
            with_value(WHOLE[2], key, token, argument=False),
        ]
        for form in (b'{"traceEvents": [%b]}', b"[%b]"):
            found = operators_of(outcome_of(path, form % b", ".join(events)))
            assert ALL_ONCE.keys() <= found.keys(), f"{token!r} takes other events with it"


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: repr(token[:20]))
def test_any_value_in_the_metadata(path: Path, token: bytes) -> None:
    for keys in (["deviceProperties"], ["distributedInfo"], ["baseTimeNanoseconds"], ["distributedInfo", "rank"]):
        value = token
        for key in reversed(keys):
            value = b'{"%b": %b}' % (key.encode(), value)
        events = document(OPERATORS)[1:-1]
        for text in (b"{%b, %b}" % (value[1:-1], events), b"{%b, %b}" % (events, value[1:-1])):
            assert len(operators_of(outcome_of(path, text))) == len(OPERATORS)
    for key in ("id", "name", "totalGlobalMem"):
        text = b'{"deviceProperties": [{"id": 0, "%b": %b}], %b}' % (key.encode(), token, document(WHOLE)[1:-1])
        assert len(operators_of(outcome_of(path, text))) == 2


EVENT = st.fixed_dictionaries(
    {
        "ph": st.just("X"),
        "cat": st.sampled_from(
            ["cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy", "python_function"]
        ),
        "name": st.sampled_from(
            ["aten::mm", "ProfilerStep#1", "ProfilerStep#2", "cudaDeviceSynchronize", "nccl", "gloo:x"]
        ),
        "pid": st.integers(0, 1),
        "tid": st.integers(0, 2),
        # Few different moments, so that ranges touch, coincide, nest and cross.
        "ts": st.integers(0, 20) | st.sampled_from([-(2**52), 2**52 - 1, 2**52, 4.5e15, 1e-9]),
        "dur": st.integers(-3, 20) | st.sampled_from([-(2**63), 604_800_000_000, 604_800_000_001, 1e300, 1e-9]),
        "args": st.fixed_dictionaries(
            {},
            optional={
                "correlation": st.integers(-1, 3),
                "Python module id": st.integers(-1, 2),
                "Sequence number": st.integers(-1, 2),
            },
        ),
    }
)


@settings(SETTINGS, max_examples=120)
@given(st.lists(EVENT, min_size=1, max_size=12))
def test_any_spans_of_any_threads(path: Path, events: list[dict[str, Any]]) -> None:
    """Crossing, negative, huge and repeated ranges, ids shared by chance, and device work before its launch."""
    result = outcome_of(path, document(events))
    if isinstance(result, TraceAnalysis):
        (profile,) = result.traces
        host = [event for event in events if event["cat"] == "cpu_op" and abs(event["ts"]) <= 2**52]
        assert sum(operator.calls for operator in profile.operators) <= len(host)
        assert profile.unattributed_device_us is None or profile.unattributed_device_us >= 0


WEEK_US = 7 * 86_400_000_000


@pytest.mark.parametrize("event", [span("aten::op", 0, WEEK_US), kernel(1, 0, WEEK_US)], ids=["host", "device"])
def test_sums_of_long_durations_do_not_wrap(path: Path, event: dict[str, Any]) -> None:
    result = outcome_of(path, document([{**event, "tid": number} for number in range(16_000)]))
    assert isinstance(result, TraceAnalysis)
    (profile,) = result.traces
    calls_and_times = [
        *((kernel.calls, kernel.total_us) for kernel in profile.kernels),
        *((operator.calls, operator.host_total_us) for operator in profile.operators),
    ]
    # Dropping what is too much would be right as well.
    for calls, total in calls_and_times:
        assert total == pytest.approx(calls * WEEK_US)


def test_sums_of_large_allocations_do_not_wrap(path: Path) -> None:
    arguments = {"Device Type": 0, "Device Id": -1, "Bytes": 2**63 - 1}
    events = [{**MEMORY, "ts": index, "args": {**arguments, "Addr": index}} for index in range(3)]
    result = outcome_of(path, document([*OPERATORS, *events]))
    assert isinstance(result, TraceAnalysis)
    memory = result.traces[0].memory
    assert memory is None or min(memory.devices[0].allocated_bytes) >= 0


def test_a_million_kinds_of_one_thing_are_few_warnings(path: Path) -> None:
    events = [span("a", index, 1, f"category {index}") for index in range(1000)]
    assert 1 <= len(warnings_of(outcome_of(path, document([*OPERATORS, *events])))) <= 30


# What a file may hold beside events -----------------------------------------------------------------------------------


#: What a writer may leave between two events, such as a comma too many.
STRANGE = ["1", "-1.5", '"x"', "null", "true", "[]", "[[{}]]", "{}", "", "[1, 2]", "<", '{"a": {"b": 1}}']


@pytest.mark.parametrize(
    "place",
    [
        0,
        10,
        20,
    ],
    ids=["first", "between", "last"],
)
@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_event_is_left_out_and_told(path: Path, strange: str, place: int) -> None:
    texts = [json.dumps(operator) for operator in OPERATORS]
    events = ", ".join([*texts[:place], strange, *texts[place:]])
    for form in ('{{"traceEvents": [{}]}}', "[{}]"):
        result = outcome_of(path, form.format(events).encode())
        assert operators_of(result) == ALL_ONCE
        assert warnings_of(result)


def test_of_equal_keys_one_counts(path: Path) -> None:
    event = b'{"ph": "i", "ph": "X", "cat": "kernel", "cat": "cpu_op", "name": "a", "name": "b", "ts": "1", "ts": 7}'
    result = outcome_of(path, b'{"traceEvents": [], "traceEvents": [%b], "traceEvents": []}' % event)
    # Which one is the decoder's choice; that there is one answer is what counts.
    assert isinstance(result, TraceError) or set(operators_of(result)) <= {"a", "b"}
    result = outcome_of(path, b"[%b, %b]" % (event, json.dumps(OPERATORS)[1:-1].encode()))
    assert len(operators_of(result)) >= len(OPERATORS)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1e", "\x0b", "\ufeff", "\u200b"])
def test_unicode_separators(path: Path, separator: str) -> None:
    name = f"aten{separator}op"
    inside = json.dumps([span(name, 1, 1), *OPERATORS], ensure_ascii=False).encode()
    assert operators_of(outcome_of(path, inside)) == {name: 1, **ALL_ONCE}
    # Between events they are no white space of JSON. What can be read may be all or nothing, and is told.
    between = (",\n" + separator).join(json.dumps(event) for event in OPERATORS)
    result = outcome_of(path, b'{"traceEvents": [%b]}' % between.encode())
    assert isinstance(result, TraceError) or operators_of(result) == ALL_ONCE or warnings_of(result)


def test_line_ends_and_marks_of_other_systems(path: Path) -> None:
    text = json.dumps({"traceEvents": OPERATORS}, indent=1).encode()
    for content in (
        text.replace(b"\n", b"\r\n"),
        text.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + text,
        b"\xef\xbb\xbf" + json.dumps(OPERATORS).encode(),
        b"\r\n\t " + text + b"\r\n\x1a",
        gzip.compress(b"\xef\xbb\xbf" + text),
    ):
        result = outcome_of(path, content)
        assert operators_of(result) == ALL_ONCE
        assert warnings_of(result) == []


BEHIND = [b"garbage", b"\x00" * 100, b"}", b"]", b'{"a": 1}', b'"', b"{"]
OBJECT, LIST = document(OPERATORS), json.dumps(OPERATORS).encode()
OBJECT_WITH_TRAILER = OBJECT[:-1] + b', "a": {"b": []}}'


@pytest.mark.parametrize("text", [OBJECT, OBJECT_WITH_TRAILER], ids=["object", "trailer"])
@pytest.mark.parametrize("behind", BEHIND)
def test_what_stands_behind_an_object(path: Path, text: bytes, behind: bytes) -> None:
    for space in (b"", b" ", b"\n"):
        assert operators_of(outcome_of(path, text + space + behind)) == ALL_ONCE


@pytest.mark.parametrize("behind", BEHIND)
def test_what_stands_behind_a_list(path: Path, behind: bytes) -> None:
    for space in (b"", b" ", b"\n"):
        assert operators_of(outcome_of(path, LIST + space + behind)) == ALL_ONCE


def test_what_stands_behind_an_object_is_told(path: Path) -> None:
    assert warnings_of(outcome_of(path, OBJECT + b"\ngarbage"))


@pytest.mark.parametrize("window", [500, windows.WINDOW_BYTES])
@pytest.mark.parametrize("first", [OBJECT, LIST], ids=["object", "list"])
@pytest.mark.parametrize("second", [OBJECT, LIST], ids=["object", "list"])
def test_the_first_of_two_documents_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes, second: bytes, window: int
) -> None:
    """As appending to a file that is there makes them, or joining gzip files."""
    monkeypatch.setattr(windows, "WINDOW_BYTES", window)
    monkeypatch.setattr(source, "BLOCK_BYTES", window)
    second = second.replace(b"aten::op", b"other")
    for join in (b"", b"\n"):
        for content in (first + join + second, gzip.compress(first + join) + gzip.compress(second)):
            result = outcome_of(path, content)
            assert operators_of(result) == ALL_ONCE
            assert warnings_of(result)


@settings(SETTINGS, max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=5) | st.sampled_from(["traceEvents", "ph"]), inner, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_any_other_json(path: Path, value: Any) -> None:
    assert isinstance(outcome_of(path, json.dumps(value).encode()), TraceError)


# Names ----------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[bold red]markup[/bold red][/]",
    "[link=https://example.org]here[/link]",
    "\x1b[2J\x1b[H\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m one byte CSI",
    "a\rb\nc\td\x08e\x00f\x7f",
    "\u202eright to left\u2066\u2069\u200f",
    "zero\u200bwidth\u2060\ufeff",
    "line\u2028separator\u2029paragraph\x85next",
    "\ue000private\U000f0000",
    "e\u0301\u0323\u0336 combining",
    "\U0001f600 wide 漢字",
    "%s %n {0} ${x} `id` $(id)",
    "'; DROP TABLE steps; --",
    "x" * 10_000,
    "",
    " ",
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:24]))
def test_names_cannot_touch_the_terminal(tmp_path: Path, name: str) -> None:
    """Wherever a file's text comes to be shown: names, categories, devices, ranks, groups, shapes."""
    events = [
        mark(1, 0, 100),
        {**span(name, 1, 50), "args": {"Input Dims": [name], "Call stack": name}},
        span(f"{name}: annotation", 2, 3, "user_annotation"),
        span(f"nn.Module: {name}", 2, 3, "python_function", **{"Python module id": 1}),
        span("odd", 1, 1, f"unknown {name}"),
        launch(1, 4, 2, name=name),
        kernel(1, 7, 50, name=name),
        kernel(2, 60, 5, name=f"nccl {name}", **{**COLLECTIVE, "Collective name": name, "Process Group Name": name}),
        {**MEMORY, "tid": name},
        span("thread", 1, 5, tid=name, pid=1),
    ]
    metadata = {"deviceProperties": [{"id": 0, "name": name}], "distributedInfo": {"backend": name, "rank": 0}}
    path = tmp_path / "trace.json"
    path.write_bytes(document(events, **metadata))
    result = outcome(path)
    assert name in operators_of(result)
    code, out, errors = aiperf(str(path))
    assert (code, errors) == (0, "")
    for character in out:
        assert character == "\n" or character.isprintable(), ascii(out)
        assert unicodedata.bidirectional(character) not in (
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "RLI",
            "LRI",
            "FSI",
            "PDI",
            "PDF",
        )
    if name.startswith("["):
        assert name[:10] in out, "text in brackets is shown, not taken as markup"
    code, out, errors = aiperf(str(path), "--json")
    assert (code, errors) == (0, "")
    assert out.isascii()
    assert any(operator["name"] == name for operator in json.loads(out)["traces"][0]["operators"])


@pytest.mark.parametrize(
    "name", [name.replace("/", "_").replace("\x00", "_")[:80] for name in HOSTILE if name.strip()], ids=ascii
)
def test_file_names_cannot_touch_the_terminal(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.json"
    path.write_bytes(b"no trace")
    fails_in_one_line(str(path))
    path.write_bytes(document(OPERATORS))
    code, out, errors = aiperf(str(path))
    assert (code, errors) == (0, "")
    assert all(character == "\n" or character.isprintable() for character in out)


@pytest.fixture
def no_text(tmp_path: Path) -> str:
    """A file whose name is no UTF-8."""
    if os.name == "nt":
        pytest.skip("Windows names files in Unicode")
    return os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.json")


def test_a_file_name_that_is_no_text(no_text: str) -> None:
    Path(no_text).write_bytes(b"no trace")
    fails_in_one_line(no_text)
    Path(no_text).write_bytes(document(OPERATORS))
    code, out, errors = aiperf(no_text)
    assert (code, errors) == (0, "")
    assert "aten::op" in out


def test_a_file_name_that_is_no_text_as_json(no_text: str) -> None:
    Path(no_text).write_bytes(document(OPERATORS))
    code, out, errors = aiperf(no_text, "--json")
    assert (code, errors) == (0, "")
    assert len(json.loads(out)["traces"][0]["operators"]) == len(OPERATORS)


# The command and the file system --------------------------------------------------------------------------------------

NO_TRACES = {
    "empty": b"",
    "blank": b" \n\t" * 100,
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
    "elf": b"\x7fELF" + bytes(200),
    "zip": b"PK\x03\x04" + bytes(200),
    "pickle": pickle.dumps({"traceEvents": OPERATORS}),
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(100),
    "html": b"<!doctype html><html><body>Not found</body></html>",
    "csv": b"name,ts\naten::mm,1\n",
    "utf16": document(OPERATORS).decode().encode("utf-16"),
    "utf16be": document(OPERATORS).decode().encode("utf-16-be"),
    "utf32": document(OPERATORS).decode().encode("utf-32"),
    "null": b"null",
    "number": b"1",
    "text": b'"traceEvents"',
    "empty object": b"{}",
    "empty list": b"[]",
    "list of numbers": b"[1, 2, 3]",
    "other json": json.dumps({"cells": [{"cell_type": "code"}], "nbformat": 4}).encode(),
    "events of another kind": json.dumps({"traceEvents": {"a": []}}).encode(),
    "chrome trace without times": json.dumps([{"ph": "X", "name": "a"}]).encode(),
    "flows only": document([{"ph": "s", "id": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}]),
    "cut in the header": document(OPERATORS, note="x" * 50)[:40],
    "gzip of nothing": gzip.compress(b""),
    "gzip of gzip": gzip.compress(gzip.compress(document(OPERATORS))),
    "gzip head": gzip.compress(document(OPERATORS))[:10],
    "gzip magic": b"\x1f\x8b",
    "one brace": b"{",
    "one bracket": b"[",
    "key only": b'{"traceEvents": [',
    "nul": bytes(1000),
}


@pytest.mark.parametrize("kind", NO_TRACES)
def test_what_is_no_trace_is_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(NO_TRACES[kind])
    for arguments in ([str(path)], [str(path), "--json"]):
        assert "broken.json" in fails_in_one_line(*arguments)


def test_one_bad_file_of_several_is_named(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(SMALL)
    bad.write_bytes(b"{")
    assert "bad.json" in fails_in_one_line(str(good), str(bad))


def two_ranks(tmp_path: Path, base_ns: int, **second: Any) -> list[Path]:
    """Traces of two ranks with one collective; `second` changes that of the second."""
    paths = []
    for rank in (0, 1):
        collective = {**COLLECTIVE, **(second if rank else {})}
        events = [*OPERATORS, kernel(1, 50, 5 + rank, name="ncclDevKernel", **collective)]
        paths.append(tmp_path / f"rank{rank}.json")
        info = {"rank": rank, "world_size": 2}
        paths[rank].write_bytes(document(events, distributedInfo=info, baseTimeNanoseconds=base_ns))
    return paths


EDGES = [0, -1, 2**63 - 1, -(2**63), 2**63, 10**30, "", None, "x" * 100, 1.5, True, [], {}]


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: repr(edge)[:24])
def test_ranks_of_which_one_is_damaged(tmp_path: Path, edge: Any) -> None:
    for key in COLLECTIVE:
        result = outcome(*two_ranks(tmp_path, 1_700_000_000_000_000_000, **{key: edge}))
        assert operators_of(result) == ALL_ONCE


@pytest.mark.parametrize("base_ns", [2**63 - 1, -(2**63) + 1])
def test_a_clock_that_leaves_64_bits(tmp_path: Path, base_ns: int) -> None:
    paths = two_ranks(tmp_path, base_ns)
    if base_ns < 0:
        for path in paths:
            path.write_bytes(path.read_bytes().replace(b'"ts": 50', b'"ts": -50'))
    assert isinstance(outcome(*paths), TraceAnalysis)


def test_missing_files_folders_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("nothing")
    (tmp_path / "nested.json").mkdir()
    for argument in (
        "missing.json",
        "empty",
        "other",
        "*.nothing",
        "nested.json",
        "missing/trace.json",
        "[",
        "**/*.gz",
    ):
        line = fails_in_one_line(str(tmp_path / argument))
        assert argument.rpartition("/")[2] in line
    with pytest.raises(TraceError, match="cannot be read"):
        analyze([tmp_path])
    (tmp_path / "file").write_bytes(SMALL)
    assert "file" in fails_in_one_line(str(tmp_path / "file" / "trace.json"))
    assert "name too long" in fails_in_one_line(str(tmp_path / ("x" * 300))).lower()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    (tmp_path / "round.json").symlink_to(tmp_path / "round.json")
    for name in ("gone.json", "round.json"):
        assert name in fails_in_one_line(str(tmp_path / name))


@contextmanager
def without_privileges() -> Iterator[None]:
    """The super-user may read everything, so it is someone else for the moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_bytes(SMALL)
    path.chmod(0)
    with without_privileges():
        line = fails_in_one_line(str(path))
    assert "secret.json" in line
    assert "ermission" in line


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [span(f"aten::op{index}", index, 0.5) for index in range(25_000)]
    path.write_bytes(document(events))
    size = path.stat().st_size
    for length in (size // 2, 100, 0):
        path.write_bytes(document(events))
        notes = Notes()
        file = EventFile(path, notes)
        windows = file.windows()
        count = len(next(windows))
        os.truncate(path, length)
        count += sum(map(len, windows))
        assert 0 < count < len(events)
        assert any("ends before" in warning for warning in notes.warnings())


def test_a_file_that_is_written_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [span(f"aten::op{index}", index, 0.5) for index in range(25_000)]
    for late in (b"garbage" * 1000, document(OPERATORS), b"\x00" * 5_000_000):
        path.write_bytes(document(events))
        windows = EventFile(path, Notes()).windows()
        count = len(next(windows))
        with path.open("ab") as file:
            file.write(late)
        assert count + sum(map(len, windows)) >= len(events)
