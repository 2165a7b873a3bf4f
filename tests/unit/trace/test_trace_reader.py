from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf.records import TraceAnalysis
from tb_aiperf.trace import Trace, TraceError, analyze, read_trace, source, windows
from tb_aiperf.trace.table import KERNEL, MEMCPY, MEMSET
from tests.unit.trace.events import document, kernel, launch, mark, read, span, write

#: The longest that a damaged file may take is that of a whole one; a hang shows as a test that does not end.
OPERATORS = [span(f"aten::op{index}", 10 * index, 5, **{"External id": index}) for index in range(100)]


def operator_names(trace: Trace) -> list[str]:
    return [trace.names[index] for index in trace.operators.name.tolist()]


def read_bytes(tmp_path: Path, text: bytes) -> Trace:
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    return read_trace(path)


def test_both_forms_and_gzip_read_alike(tmp_path: Path) -> None:
    text = document(OPERATORS)
    array = json.dumps(OPERATORS, indent=2).encode()
    for name, content in (("object", text), ("array", array), ("zipped.gz", gzip.compress(text))):
        path = tmp_path / name
        path.write_bytes(content)
        trace = read_trace(path)
        assert operator_names(trace) == [event["name"] for event in OPERATORS]
        assert trace.operators.start.tolist() == [10_000 * index for index in range(100)]
        assert trace.operators.end.tolist() == [10_000 * index + 5000 for index in range(100)]
        assert trace.warnings == ()


def test_gzip_in_several_members_is_one_file(tmp_path: Path) -> None:
    text = document(OPERATORS)
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
    assert len(read_trace(path).operators) == 100


def test_categories_of_all_ages(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            span("a", 0, 1, "cpu_op"),
            span("b", 0, 1, "Operator"),
            span("c", 0, 1, "Runtime"),
            span("d", 0, 1, "cuda_runtime"),
            span("e", 0, 1, "cuda_driver"),
            span("f", 0, 1, "privateuse1_runtime"),
            span("g", 0, 1, "Kernel"),
            span("h", 0, 1, "gpu_memcpy"),
            span("i", 0, 1, "Memcpy"),
            span("j", 0, 1, "Memset"),
            span("k", 0, 1, "GPU_MEMSET"),
            span("l", 0, 1, "user_annotation"),
            span("ProfilerStep#1", 0, 1, "gpu_user_annotation"),
            span("m", 0, 1, "python_function", **{"Python module id": 3}),
            span("n", 0, 1, "python_function"),
            span("o", 0, 1, "hpu_op"),
        ],
    )
    assert operator_names(trace) == ["a", "b"]
    assert [trace.names[index] for index in trace.runtime.name] == ["c", "d", "e", "f"]
    assert trace.device.category.tolist() == [KERNEL, MEMCPY, MEMCPY, MEMSET, MEMSET]
    assert len(trace.annotations) == 1
    assert trace.python.module.tolist() == [3, -1]
    assert trace.warnings == ("events of the unknown category 'hpu_op' were left out",)


def test_the_first_profilers_had_no_categories(tmp_path: Path) -> None:
    cpu = {"ph": "X", "name": "addmm", "ts": 1.0, "dur": 2.0, "tid": 1, "pid": "CPU functions", "args": {}}
    trace = read_bytes(tmp_path, json.dumps([cpu, {**cpu, "name": "gemm", "pid": "CUDA functions"}]).encode())
    assert operator_names(trace) == ["addmm"]
    assert trace.device.category.tolist() == [KERNEL]


def test_a_thread_is_one_whether_number_or_text(tmp_path: Path) -> None:
    trace = read(
        tmp_path, [span("a", 0, 1, tid="25738"), span("b", 0, 1, tid=25738), kernel(1, 0, 1, stream="stream 7")]
    )
    assert trace.operators.thread[0] == trace.operators.thread[1]
    assert trace.threads == ((1, 25738), (0, "stream 7"))


@pytest.mark.parametrize(
    ("ts", "nanoseconds"),
    [
        ("1712195495519689.047", 1712195495519689047),
        ("1682725898236567", 1682725898236567000),
        ("4203669604595.407", 4203669604595407),
        ("8796093022207.999", 8796093022207999),
        ("0.001", 1),
        ("-1.5", -1500),
        ("1e3", 1_000_000),
    ],
)
def test_times_are_exact(tmp_path: Path, ts: str, nanoseconds: int) -> None:
    text = document([span("a", 7, 1.25)]).replace(b'"ts": 7', b'"ts": ' + ts.encode())
    trace = read_bytes(tmp_path, text)
    assert trace.operators.start.tolist() == [nanoseconds]
    assert (trace.operators.end - trace.operators.start).tolist() == [1250]


@given(st.lists(st.integers(-(10**9), 2 * 10**18), min_size=1, max_size=50))
@settings(max_examples=50)
def test_every_nanosecond_survives(tmp_path_factory: pytest.TempPathFactory, times: list[int]) -> None:
    events = [span("a", index, 0) for index in range(len(times))]
    text = json.dumps(events).encode()
    for index, time in enumerate(times):
        sign, whole = "-" * (time < 0), abs(time)
        text = text.replace(b'"ts": %d,' % index, b'"ts":%b,' % f"{sign}{whole // 1000}.{whole % 1000:03}".encode())
    trace = read_bytes(tmp_path_factory.mktemp("exact"), text)
    assert trace.operators.start.tolist() == times


def test_metadata_before_and_behind_the_events(tmp_path: Path) -> None:
    text = (
        b'{"deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 80}, {"id": 1}], "traceEvents": '
        + json.dumps(OPERATORS).encode()
        + b', "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"a": [{}], "b": 1}]},'
        + b'"baseTimeNanoseconds": 1700000000000000000}'
    )
    trace = read_bytes(tmp_path, text)
    assert (trace.rank, trace.world_size, trace.backend) == (3, 8, "nccl")
    assert trace.base_ns == 1_700_000_000_000_000_000
    assert [(device.id, device.name, device.memory_bytes) for device in trace.devices] == [
        (0, "H100", 80),
        (1, None, None),
    ]
    assert len(trace.operators) == 100
    assert trace.warnings == ()


@pytest.mark.parametrize("damage", [b'"a": "\xff"', b'"a": NaN', b'"a": "C:\\dir"'])
@pytest.mark.parametrize("behind", [False, True])
def test_damaged_metadata_is_repaired(tmp_path: Path, damage: bytes, behind: bool) -> None:
    info = b'"distributedInfo": {"rank": 3, %b}' % damage
    events = b'"traceEvents": %b' % json.dumps(OPERATORS).encode()
    trace = read_bytes(tmp_path, b"{%b}" % b", ".join([events, info] if behind else [info, events]))
    assert trace.rank == 3
    assert len(trace.operators) == 100
    (warning,) = trace.warnings
    assert warning.startswith("invalid JSON outside the events was repaired")


def test_hopeless_metadata_is_left_out(tmp_path: Path) -> None:
    trace = read_bytes(tmp_path, b'{"a" 1, "distributedInfo": {"rank": 3}, ' + document(OPERATORS)[1:])
    assert trace.rank is None
    assert len(trace.operators) == 100
    assert trace.warnings == ("the text before the events is not valid JSON and was left out (byte 0)",)


def test_the_word_traceevents_in_the_metadata_misleads_no_one(tmp_path: Path) -> None:
    trace = read(tmp_path, OPERATORS, note='"traceEvents": [', nested={"traceEvents": [{"ph": "X"}]})
    assert len(trace.operators) == 100


def test_the_rank_may_be_in_the_file_name(tmp_path: Path) -> None:
    assert read_trace(write(tmp_path / "rank-12.pt.trace.json", OPERATORS)).rank == 12


def test_what_looks_like_events_inside_an_event(tmp_path: Path) -> None:
    tricky = span(
        '}, {"ph": "X", <script>alert(1)</script>', 0, 1, list=[{"name": "x"}, {"ph": "X", "ts": 0}], s='}, {"ph"'
    )
    trace = read(tmp_path, [tricky, *OPERATORS, tricky])
    assert len(trace.operators) == 102
    assert trace.warnings == ()


@pytest.mark.parametrize("window", [300, 700, 1000, 10_000])
def test_windows_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", window)
    monkeypatch.setattr(source, "BLOCK_BYTES", window)
    tricky = span("odd", 0, 1, list=[{"name": "x"}, {"ph": "X", "ts": 0}], text='}, {"ph": "X"', path="C:\\dir\\")
    events = [event for operator in OPERATORS for event in (operator, tricky)]
    trace = read(tmp_path, events, distributedInfo={"rank": 1, "lists": [{"a": 1}, {"name": 2}]})
    assert operator_names(trace) == [event["name"] for event in events]
    assert trace.rank == 1
    assert trace.warnings == ()


def damaged(old: bytes, new: bytes) -> bytes:
    """The text of `OPERATORS` with something wrong in the event in the middle."""
    text = document(OPERATORS)
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "kept", "warning"),
    [
        (b'"External id": 50}', b'"x": NaN, "y": -Infinity, "z": N/A}', 100, "invalid JSON was repaired"),
        (b'"aten::op50"', b'"C:\\data\\op50"', 100, "invalid JSON was repaired"),
        (b'"aten::op50"', b'"\xff\xfe op50"', 100, "invalid JSON was repaired"),
        (b'"aten::op50"', b'"two\nlines"', 100, "invalid JSON was repaired"),
        (b'"ts": 500,', b'"ts": "500",', 100, "values of a wrong type were converted or left out"),
        (b'"args": {"External id": 50}', b'"args": [1]', 100, "values of a wrong type were converted or left out"),
        (b'"External id": 50}', b'"correlation": 1e400}', 100, "values of a wrong type"),
        (b'"External id": 50}', b'"correlation": 99999999999999999999999}', 100, "values of a wrong type"),
        (b'"ts": 500,', b'"ts": NaN,', 99, "an unreadable event was dropped"),
        (b'"ts": 500,', b'"ts": {},', 99, "an unreadable event was dropped"),
        (b'"ts": 500,', b"", 99, "an unreadable event was dropped"),
        (b'"ts": 500,', b'"ts": 1e300,', 99, "an event with an impossible time or duration was dropped"),
        (b'"ts": 500, "dur": 5', b'"ts": 500, "dur": 18446744073709551', 99, "an event with an impossible time or"),
        (b'"ts": 500, "dur": 5', b'"ts": 500, "dur": -5', 100, "no or a negative duration"),
        (b'"ts": 500, "dur": 5', b'"ts": 500, "dur": null', 100, "no or a negative duration"),
        (b'"aten::op50", "pid"', b'"aten::op50, pid"', 99, "an unreadable event was dropped"),
        (b'"External id": 50}', b'"deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 99, "an unreadable event"),
    ],
)
def test_a_damaged_event_is_repaired_or_dropped_and_told(
    tmp_path: Path, old: bytes, new: bytes, kept: int, warning: str
) -> None:
    trace = read_bytes(tmp_path, damaged(old, new))
    assert len(trace.operators) == kept
    assert [text for text in trace.warnings if text.startswith(warning) or warning in text] == list(trace.warnings)
    assert len(trace.warnings) == 1
    assert trace.operators.start.tolist()[-1] == 990_000


def test_times_between_events_of_other_kinds_are_exact(tmp_path: Path) -> None:
    flow = {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": 0}
    events = json.dumps([event for index in range(500) for event in (flow, span("a", index, 1))]).encode()
    for index in range(500):
        events = events.replace(b'"ts": %d,' % index, b'"ts": 1712195495519%03d.%03d,' % (index, index + 1), 2)
    times = read_bytes(tmp_path, events).operators.start - 1712195495519000000
    assert times.tolist() == [1000 * index + index + 1 for index in range(500)]


def test_times_beside_a_damaged_event_stay_exact(tmp_path: Path) -> None:
    times = [b"1712195495519689.047", b'"1712195495519690.123"', b"1712195495519691", b"1712195495519692.001"]
    event = b'{"ph": "X", "cat": "cpu_op", "name": "a", "dur": 1, "x": %b, "ts": %b}'
    events = (event % (b"N/A" if index == 3 else b"1", time) for index, time in enumerate(times))
    trace = read_bytes(tmp_path, b"[" + b",".join(events) + b"]")
    assert [time - 1712195495519000000 for time in trace.operators.start.tolist()] == [689047, 690123, 691000, 692001]


def test_a_warning_tells_the_place(tmp_path: Path) -> None:
    text = damaged(b'"ts": 500,', b'"ts": NaN,')
    (warning,) = read_bytes(tmp_path, text).warnings
    place = int(warning.partition("byte ")[2].strip(")"))
    assert text[place:].lstrip().startswith(b'{"ph": "X", "cat": "cpu_op", "name": "aten::op50"')


def test_many_of_a_kind_are_one_warning(tmp_path: Path) -> None:
    text = document(OPERATORS).replace(b'"dur": 5', b'"dur": "5"')
    (warning,) = read_bytes(tmp_path, text).warnings
    assert warning.startswith("values of a wrong type were converted or left out (100 times, first at byte ")


@given(st.integers(60, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_cut_file_gives_the_events_before_the_cut(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    text = document(OPERATORS)[:-2]
    cut = min(cut, len(text))
    whole = text[:cut].count(b"}}") or None
    directory = tmp_path_factory.mktemp("cut")
    if whole is None:
        with pytest.raises(TraceError):
            read_bytes(directory, text[:cut])
        return
    trace = read_bytes(directory, text[:cut])
    assert len(trace.operators) == whole
    assert any("the file ends before its list of events does" in warning for warning in trace.warnings)


GARBAGE = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from(
        [b'"', b"{", b"}", b"[", b"]", b"\\", b"NaN", b"N/A", b"1e308", b"-1", b"null", b'"\\ud800"', b'}, {"ph": "X"']
    ),
)


@given(st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 60), GARBAGE), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_garbage_anywhere_is_an_analysis_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, wounds: list[tuple[int, int, bytes]]
) -> None:
    text = document([mark(1, 0, 900), launch(1, 5, 2), kernel(1, 9, 400), *OPERATORS])
    for place, length, garbage in wounds:
        text = text[:place] + garbage + text[place + length :]
    path = tmp_path_factory.mktemp("garbage") / "trace.json"
    path.write_bytes(text)
    try:
        analysis = analyze([path])
    except TraceError:
        assert min(place for place, _, _ in wounds) < 40, "only a broken beginning makes a file unreadable"
        return
    (profile,) = msgspec.json.decode(msgspec.json.encode(analysis), type=TraceAnalysis).traces
    assert sum(operator.calls for operator in profile.operators) >= 70


def test_a_cut_gzip_stream(tmp_path: Path) -> None:
    packed = gzip.compress(document(OPERATORS * 200))
    trace = read_bytes(tmp_path, packed[: len(packed) // 2])
    assert 0 < len(trace.operators) < 20_000
    assert any("the gzip stream is cut off" in warning for warning in trace.warnings)


def test_a_damaged_gzip_stream(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(document(OPERATORS * 200), compresslevel=1))
    packed[len(packed) // 2 : len(packed) // 2 + 100] = bytes(100)
    try:
        trace = read_bytes(tmp_path, bytes(packed))
    except TraceError:
        return
    assert trace.warnings


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "byte 0"),
        (b"   \n", "byte 0"),
        (b"not a trace", "byte 0"),
        (b"\x7fELF\x00\x00", "byte 0"),
        (b"{}", "byte 0"),
        (b'{"traceEvents": null}', "byte 0"),
        (b"[]", "the whole file"),
        (b'{"traceEvents": []}', "the whole file"),
        (b'{"traceEvents": [1, 2, "x", null]}', "the whole file"),
        (gzip.compress(b""), "byte 0"),
        (gzip.compress(b"{}")[:8], "byte 0"),
    ],
)
def test_no_trace_is_one_clear_error(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert caught.value.place == place
    assert str(path) in str(caught.value)
    assert caught.value.remedy in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(TraceError, match="cannot be read"):
            read_trace(path)


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "INFLATION_FREE_BYTES", 1 << 20)
    with pytest.raises(TraceError, match="inflates to more than"):
        read_bytes(tmp_path, gzip.compress(document(OPERATORS)[:-2] + b"," + b" " * (8 << 20)))


def test_text_without_events_is_not_gathered_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MAX_EVENT_BYTES", 1 << 20)
    with pytest.raises(TraceError, match="no event in 1 MiB of text"):
        read_bytes(tmp_path, b'{"traceEvents": [' + b" " * (1 << 24))


def test_repeated_ids_are_no_trouble(tmp_path: Path) -> None:
    trace = read(tmp_path, [launch(5, 0, 1), launch(5, 2, 1), kernel(5, 4, 1), kernel(5, 6, 1)])
    assert trace.runtime.correlation.tolist() == [5, 5]
    assert trace.device.correlation.tolist() == [5, 5]


def test_memory_events(tmp_path: Path) -> None:
    arguments = {
        "Device Type": 1,
        "Device Id": 0,
        "Bytes": 512,
        "Addr": 140,
        "Total Allocated": 512,
        "Total Reserved": 1024,
    }
    event = {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3.5, "args": arguments}
    memory = read(tmp_path, [*OPERATORS, event, {**event, "name": "Record Window End"}]).memory
    assert len(memory) == 1
    assert memory.time.tolist() == [3500]
    assert [getattr(memory, name)[0] for name in ("address", "size", "allocated", "reserved")] == [140, 512, 512, 1024]
