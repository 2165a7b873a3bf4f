"""Traces cut into segments: the figures are those of the whole, wherever the cuts lie."""

from __future__ import annotations

import io
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_aiperf.trace import Trace, TraceError, read_trace, reader, spill
from tb_aiperf.trace.large import LargeTrace
from tb_aiperf.trace.profile import TraceReading
from tb_aiperf.trace.segments import Segment, TraceSource, WholeTrace
from tb_aiperf.trace.spill import Runs, Scratch, cut
from tb_aiperf.trace.table import MemoryEvents, Table
from tests.unit.trace.events import Event, document, kernel, launch, loading, mark, read, span

TABLES = ("operators", "annotations", "runtime", "device", "python", "overhead", "memory")


class Batches:
    """Hands a trace over in batches, as a reader does that goes through a file."""

    def __init__(self, trace: Trace, count: int) -> None:
        self.names = trace.names
        self.count = count
        self.number = 0
        self._tables = {type(table): table for table in (getattr(trace, name) for name in TABLES)}

    def take(self, kind: type[Table]) -> Any:
        table = self._tables[kind]
        edges = [len(table) * part // self.count for part in (self.number, self.number + 1)]
        return table.select(slice(*edges))


def cut_up(trace: Trace, batches: int, segment_bytes: int) -> LargeTrace:
    """A trace in memory by way of the disk."""
    large = LargeTrace(trace.path, segment_bytes)
    parts = Batches(trace, batches)
    for parts.number in range(batches):
        large.take(parts)
    large.finish(trace)
    return large


@pytest.fixture(autouse=True)
def _cuts_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are large, tests are not."""
    monkeypatch.setattr(spill, "SAMPLE_ROWS", 1)


def figures(source: TraceSource) -> Any:
    reading = TraceReading(source, timelines=True)
    timelines = [
        {
            name: np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
            for name, value in columns.items()
        }
        for columns in map(vars, reading.timelines())
    ]
    return msgspec.to_builtins([reading.profile(), reading.calls(), timelines])


moments, lengths, threads = st.integers(0, 20), st.integers(0, 12), st.integers(1, 2)
ids = st.integers(-1, 6)
shapes = st.sampled_from([{}, {"Input Dims": [[2]]}, {"Input Dims": [[3, 4]]}])


def times(*names: str) -> dict[str, st.SearchStrategy[Any]]:
    return {"name": st.sampled_from(names), "ts": moments, "dur": lengths, "tid": threads}


operators = st.builds(
    lambda args, **span_of: span(**span_of, **args),
    args=shapes,
    **times("aten::a", "aten::b", "gloo:all_reduce", "enumerate(DataLoader)#x", "ProfilerStep#3"),
)
annotations = st.builds(
    span,
    cat=st.just("user_annotation"),
    **times("mine", "c10d::wait", "nccl:x", "enumerate(DataLoader)#x", "gloo:send"),
)
marks = st.builds(mark, st.integers(1, 4), moments, lengths)
calls = st.builds(
    span,
    cat=st.just("cuda_runtime"),
    correlation=ids,
    **times("cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync", "cudaMemcpy"),
)
work = st.builds(
    kernel,
    ids,
    moments,
    lengths,
    st.sampled_from(["gemm", "ncclDevKernel_AllReduce", "ncclDevKernel_Generic"]),
    st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset"]),
    st.integers(7, 8),
)
recorded = {"Collective name": "allgather", "Process Group Name": "0", "Seq": 4, "In msg nelems": 8, "dtype": "Float"}
collectives = st.builds(lambda *at: kernel(*at, "ncclDevKernel_Generic", **recorded), ids, moments, lengths)
frames = st.builds(span, cat=st.just("python_function"), **times("a.py(1): f", "b.py(2): g", "<built-in len>"))
modules = st.builds(
    lambda number, **span_of: span(**span_of, cat="python_function", **{"Python module id": number}),
    number=st.integers(0, 2),
    **times("nn.Module: A_0", "nn.Module: B_0"),
)
overhead = st.builds(span, cat=st.just("Overhead"), **times("Activity Buffer Request"))


def memory_event(ts: int, address: int, size: int, device: int, allocated: int | None, tid: int) -> Event:
    args = {"Device Type": device, "Device Id": device - 1, "Addr": address, "Bytes": size}
    if allocated is not None:
        args |= {"Total Allocated": allocated, "Total Reserved": 2 * allocated}
    return {"ph": "i", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "args": args}


memory = st.builds(
    memory_event,
    moments,
    st.integers(-1, 4),
    st.sampled_from([-8, 0, 8, 16]),
    st.integers(0, 1),
    st.none() | st.integers(0, 64),
    threads,
)
#: What works together, so that little is needed for it to meet.
SUBJECTS = [
    st.one_of(
        operators, operators, annotations, marks, calls, work, work, collectives, frames, modules, overhead, memory
    ),
    st.one_of(calls, calls, calls, work, work, work, marks, operators),
    st.one_of(work, calls),
    st.one_of(calls, modules),
    st.one_of(modules, frames),
    st.one_of(operators, memory, memory, memory),
    st.one_of(collectives, work, annotations),
    st.one_of(marks, overhead, annotations, operators),
]


@st.composite
def traces(draw: st.DrawFn) -> list[Event]:
    """Events of one subject, close together or far apart."""
    subject, size, scale = draw(st.sampled_from(SUBJECTS)), draw(st.integers(0, 40)), draw(st.sampled_from([1, 400]))
    events = draw(st.lists(subject, min_size=size, max_size=size))
    scaled = ({**event, **{key: event[key] * scale for key in ("ts", "dur") if key in event}} for event in events)
    return [*scaled, span("aten::any", 5, 30)]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces(), st.integers(1, 4), st.sampled_from([1, 1, 150, 500]))
def test_the_figures_do_not_depend_on_the_cuts(events: list[Event], batches: int, segment_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        trace = read(Path(directory), events)
    large = cut_up(trace, batches, segment_bytes)
    try:
        found = figures(large)
    finally:
        large.close()
    assert found == figures(WholeTrace(trace))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces(), st.integers(1, 3))
def test_segments_hold_what_they_say(events: list[Event], batches: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        trace = read(Path(directory), events)
    large = cut_up(trace, batches, 200)
    try:
        check_segments(trace, large.segments())
    finally:
        large.close()


def check_segments(trace: Trace, segments: Iterator[Segment]) -> None:
    known = {(row.start, row.correlation): row for row in rows_of(WholeTrace(trace))}
    seen: dict[str, int] = dict.fromkeys(TABLES, 0)
    edge: int | None = None
    for segment in segments:
        assert segment.low < segment.high
        assert edge is None or segment.low >= edge
        edge = segment.high
        for name in TABLES:
            table = getattr(segment.trace, name)
            start = table.time if isinstance(table, MemoryEvents) else table.start
            end = start if isinstance(table, MemoryEvents) else table.end
            begins = segment.begins(start)
            seen[name] += int(begins.sum())
            assert (start < segment.high).all()
            if name not in ("operators", "python"):
                assert (begins | (end > segment.low)).all()
            whole = getattr(trace, name)
            whole_start = whole.time if isinstance(whole, MemoryEvents) else whole.start
            whole_end = whole_start if isinstance(whole, MemoryEvents) else whole.end
            reaching = (whole_start < segment.low) & (whole_end > segment.low)
            assert sorted(start[~begins & (end > segment.low)]) == sorted(whole_start[reaching])
        for row in rows_of_segment(segment):
            same = known[row.start, row.correlation]
            assert (row.known, row.launch) == (same.known, same.launch)
        launched = segment.launched
        assert segment.begins(launched.start).all()
    assert seen == {name: len(getattr(trace, name)) for name in TABLES}


class Work(msgspec.Struct):
    start: int
    correlation: int
    known: bool
    launch: tuple[int, int] | None


def rows_of(source: TraceSource) -> list[Work]:
    return [row for segment in source.segments() for row in rows_of_segment(segment)]


def rows_of_segment(segment: Segment) -> list[Work]:
    launches, device, runtime = segment.launches, segment.trace.device, segment.trace.runtime
    found = []
    for row in range(len(device)):
        known = bool(launches.known[row])
        at = (int(launches.start[row]), int(launches.thread[row])) if known else None
        call = int(launches.call[row])
        if call >= 0:
            assert known
            assert (int(runtime.start[call]), int(runtime.thread[call])) == at
            assert runtime.correlation[call] == device.correlation[row]
        elif known:
            # Only a call that is not among the segment's rows may be missing.
            assert at is not None
            assert not segment.begins(np.array([at[0]])).any()
        found.append(Work(int(device.start[row]), int(device.correlation[row]), known, at))
    return found


def test_a_long_parent_and_a_gap_over_many_segments(tmp_path: Path) -> None:
    """An operator over all, device work at both ends, the launch of the last long before it: all by hand."""
    events = [
        mark(1, 0, 1000),
        span("aten::outer", 0, 1000),
        launch(1, 10, 5),
        kernel(1, 20, 30),
        launch(2, 40, 20, name="cudaStreamSynchronize"),
        span("aten::at_the_end_of_work", 50, 0),
        *(span("aten::inner", 100 + 10 * index, 4) for index in range(80)),
        launch(3, 930, 5),
        kernel(3, 950, 40),
    ]
    trace = read(tmp_path, events)
    large = cut_up(trace, 3, 1)
    windows = [(segment.low, segment.high) for segment in large.segments()]
    assert len(windows) > 10
    reading = TraceReading(large)
    large.close()
    profile = reading.profile()
    _, inner, outer = sorted(profile.operators, key=lambda row: row.name)
    assert (outer.calls, outer.host_self_us, outer.host_total_us, outer.device_us) == (1, 1000 - 80 * 4, 1000, 70)
    assert (inner.calls, inner.host_self_us, inner.host_total_us, inner.device_us) == (80, 320, 320, 0)
    (step,) = profile.steps
    assert step.idle_us is not None
    # [50, 950) began while the host was blocked; [0, 20) and [990, 1000) have no work before or behind them.
    assert (50_000, 100_000) in windows
    assert (step.idle_us.synchronisation, step.idle_us.launch) == (900, 20 + 10)
    assert profile.device_timeline_us is not None
    assert (profile.device_timeline_us.total, profile.device_timeline_us.idle) == (970, 900)


def test_what_lives_at_the_peak_was_allocated_segments_before(tmp_path: Path) -> None:
    events = [
        span("aten::a", 0, 5),
        memory_event(1, 1, 8, 1, None, 1),
        memory_event(2, 2, 100, 1, None, 1),
        span("aten::b", 10, 5),
        memory_event(11, 3, 16, 1, None, 1),
        memory_event(12, 2, -100, 1, None, 1),
        span("aten::c", 20, 5),
        memory_event(21, 1, -8, 1, None, 1),
        memory_event(22, 1, 90, 1, None, 1),
        memory_event(30, 4, 20, 1, None, 1),
    ]
    large = cut_up(read(tmp_path, events), 2, 1)
    memory = TraceReading(large).profile().memory
    large.close()
    assert memory is not None
    (device,) = memory.devices
    assert (device.peak_us, device.peak_allocated_bytes, device.relative) == (30, 16 + 90 + 20, True)
    assert {holder.operator: holder.bytes for holder in device.holders} == {"aten::c": 90, None: 20, "aten::b": 16}
    assert device.allocated_bytes == [8, 108, 124, 24, 16, 106, 126]


def test_the_context_keeps_what_closed_under_an_open_range(tmp_path: Path) -> None:
    """`short` has ended when `late` begins, but `long`, which began in it, has not: `late` lies in both."""
    events = [
        span("short", 0, 10),
        span("long", 5, 100),
        *(span(f"x{index}", 20 + index, 1) for index in range(50)),
        span("short", 90, 5),
    ]
    trace = read(tmp_path, events)
    large = cut_up(trace, 1, 200)
    last = list(large.segments())[-1]
    names = [last.trace.names[index] for index in last.operators.calls.name.tolist()]
    assert (names[:2], names[-1]) == (["short", "long"], "short")
    parent = last.operators.nesting.parent.tolist()
    assert (parent[:2], parent[-1]) == ([-1, 0], 1)
    assert figures(large) == figures(WholeTrace(trace))
    large.close()


def test_files_below_the_budget_never_touch_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_disk(*_: Any) -> None:
        raise AssertionError("a temporary file")

    path = tmp_path / "trace.json"
    path.write_bytes(document([span("aten::a", index, 1) for index in range(100)]))
    monkeypatch.setattr(Scratch, "file", no_disk)
    with reader.open_trace(path) as source:
        assert len(list(source.segments())) == 1
    with pytest.raises(AssertionError, match="a temporary file"), reader.open_trace(path, memory_bytes=100):
        pass


def test_temporary_files_are_gone_also_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scratch = tmp_path / "trace.json", tmp_path / "scratch"
    scratch.mkdir()
    path.write_bytes(document([span("aten::a", index, 1) for index in range(100)]))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with reader.open_trace(path, memory_bytes=100) as source:
        assert len(list(source.segments())) > 1
    assert list(scratch.iterdir()) == []
    with pytest.raises(ZeroDivisionError), reader.open_trace(path, memory_bytes=100) as source:
        len(next(source.segments()).trace.device) // 0
    assert list(scratch.iterdir()) == []


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(document([span("aten::a", index, 1) for index in range(100)]))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: io.FileIO("/dev/full", "r+"))
    with pytest.raises(TraceError, match="No space left on device") as raised, reader.open_trace(path, 100):
        pass
    assert raised.value.path == str(path)
    assert "TMPDIR" in raised.value.remedy


def test_nothing_but_unknown_events_is_an_error_on_disk_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(document([span("x", index, 1, "python_function") for index in range(100)]))
    with pytest.raises(TraceError, match="records no operator"), reader.open_trace(path, 100):
        pass


batches_of_moments = st.lists(st.lists(st.integers(-50, 50), max_size=20), min_size=1, max_size=4)


@given(batches_of_moments, st.integers(-60, 60), st.integers(0, 60))
def test_ranges_of_runs(batches: list[list[int]], low: int, length: int) -> None:
    scratch = Scratch("trace.json")
    runs: Runs[MemoryEvents] = Runs(scratch, "time")
    written = []
    for batch in batches:
        runs.write(events_at(batch, len(written)))
        written += batch
    found = runs.read(low, low + length)
    scratch.close()
    # The size is the row's number: rows of equal time stay in order.
    expected = [row for row, time in enumerate(written) if low <= time < low + length]
    assert sorted(found.size.tolist()) == expected
    assert all(written[row] == time for row, time in zip(found.size.tolist(), found.time.tolist(), strict=True))
    by_time = [found.size[found.time == time].tolist() for time in set(found.time.tolist())]
    assert all(rows == sorted(rows) for rows in by_time)


@given(batches_of_moments, st.integers(1, 2000))
def test_cuts_hold_every_key_once_and_few_rows(batches: list[list[int]], size: int) -> None:
    scratch = Scratch("trace.json")
    runs: Runs[MemoryEvents] = Runs(scratch, "time")
    for batch in batches:
        runs.write(events_at(batch, 0))
    ranges = cut([runs], size)
    found = [runs.read(low, high).time for low, high in ranges]
    scratch.close()
    assert all(high == low for (_, high), (low, _) in itertools.pairwise(ranges))
    assert sorted(time for part in found for time in part.tolist()) == sorted(itertools.chain(*batches))
    row = 60
    for part in found:
        # Rows of one moment stay together; between those at its ends, a range holds at most a row more than its size.
        between = (part > part.min()) & (part < part.max())
        assert between.sum() * row <= size + row


def events_at(times: list[int], first: int) -> MemoryEvents:
    count = len(times)
    time = np.array(times, np.int64)
    return MemoryEvents(
        time,
        np.zeros(count, np.int32),
        *(np.zeros(count, np.int64),),
        np.arange(first, first + count),
        *(np.zeros(count, np.int64) for _ in range(4)),
    )


@pytest.mark.parametrize("memory_bytes", [0, 3000])
def test_a_loop_over_an_empty_middle(tmp_path: Path, memory_bytes: int) -> None:
    """Two bursts of events far apart, and nothing that begins between them."""
    events = [
        *(span("aten::a", index, 1) for index in range(60)),
        loading(70, 1e6),
        *(span("aten::a", 1e6 + index, 1) for index in range(60)),
    ]
    path = tmp_path / "trace.json"
    path.write_bytes(document(events))
    with reader.open_trace(path, memory_bytes) as source:
        assert figures(source) == figures(WholeTrace(read_trace(path)))
