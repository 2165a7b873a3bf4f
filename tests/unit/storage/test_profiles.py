from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tb_aiperf.records import EVENT_KINDS, Lane, ProfileWindow, StepTimeline, TimelinePlace
from tb_aiperf.storage import codec
from tb_aiperf.storage.codec import UNUSABLE, DamagedChunkError, _join, _split, encode
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.event_file import scan
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.profiles import (
    decode_calls,
    decode_timeline,
    decode_window,
    encode_timeline,
    encode_window,
    without_events,
)
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tests.unit.storage.recordings import (
    COLUMNS,
    RECORDED_NS,
    assert_same_timeline,
    calls,
    corrupt,
    profile,
    recording,
    step,
    timeline,
    write_windows,
)
from tests.unit.storage.series import attempt, event_file, noisy, rewrite, write_run

INT = st.integers(-(2**53), 2**53)


@st.composite
def timelines(draw: st.DrawFn) -> StepTimeline:
    """Any that the record allows, in any order."""
    events = draw(st.integers(0, 30))
    texts = st.lists(st.text(max_size=6), min_size=1, max_size=4).map(tuple)
    rows = draw(st.lists(st.integers(1, 300), min_size=1, max_size=3))
    lanes = tuple(Lane(kind=("host", "python", "device")[k], title=f"lane {k}", rows=n) for k, n in enumerate(rows))
    names, shapes = draw(texts), draw(texts | st.just(()))

    def column(low: int, high: int) -> np.ndarray:
        return draw(hnp.arrays(np.int64, events, elements=st.integers(low, high)))

    lane = column(0, len(lanes) - 1)
    return StepTimeline(
        step=draw(st.none() | INT),
        step_duration_ns=draw(st.integers(0, 2**53)),
        lanes=lanes,
        names=names,
        shapes=shapes,
        lane=lane,
        row=column(0, 2**20) % np.array(rows)[lane],
        kind=column(0, len(EVENT_KINDS) - 1),
        name=column(0, len(names) - 1),
        shape=column(-1, len(shapes) - 1),
        start=column(-(2**60), 2**60),
        duration=column(0, 2**60),
        launch=column(-1, max(events - 1, -1)),
        left_out=draw(st.integers(0, 2**40)),
        left_out_ns=draw(st.integers(0, 2**40)),
    )


@given(timelines(), st.integers(0, 2**40))
def test_timelines_come_back(expected: StepTimeline, number: int) -> None:
    payload = encode_timeline(expected, "a", number)
    assert_same_timeline(decode_timeline(payload, "a", number), expected)
    # Narrow columns are stored as the same values.
    narrow = {name: np.asarray(getattr(expected, name)) for name in ("lane", "row", "kind", "name", "shape")}
    changed = {name: column.astype(np.int32) for name, column in narrow.items()}
    assert encode_timeline(StepTimeline(**{**vars(expected), **changed}), "a", number) == payload


def layers(events: int) -> StepTimeline:
    """A step of a network of equal layers, host and device: durations with noise of 10 %, names and shapes again."""
    generator = np.random.default_rng(0)
    each = events // 3

    def noise(median: float) -> np.ndarray:
        return (median * np.exp(generator.normal(0, 0.1, each))).astype(np.int64)

    pattern = np.arange(each) % 60
    operators, launches, kernels = noise(8_000), noise(3_000), noise(20_000)
    starts = np.cumsum(operators + noise(1_500)) - operators
    device = np.cumsum(kernels + noise(900)) - kernels
    return timeline(
        names=tuple(f"name {k}" for k in range(180)),
        shapes=tuple(f"[[{k},64]]" for k in range(60)),
        lanes=(Lane(kind="host", title="thread 1", rows=2), Lane(kind="device", title="GPU 0 stream 7", rows=1)),
        lane=np.repeat([0, 0, 1], each),
        row=np.repeat([0, 1, 0], each),
        kind=np.repeat([0, 2, 6], each),
        name=np.concatenate([pattern, 60 + pattern, 120 + pattern]),
        shape=np.concatenate([pattern, np.full(2 * each, -1)]),
        start=np.concatenate([starts, starts + 2_000, device]),
        duration=np.concatenate([operators, launches, kernels]),
        launch=np.concatenate([np.full(2 * each, -1), each + np.arange(each)]),
    )


def test_an_event_takes_few_bytes() -> None:
    expected = layers(90_000)
    payload = encode_timeline(expected, "a", 0)
    assert len(payload) <= 4 * len(expected)
    assert_same_timeline(decode_timeline(payload, "a", 0), expected)


def test_every_flipped_bit_of_a_timeline_is_noticed() -> None:
    expected = timeline()
    payload = encode_timeline(expected, "a", 3)
    for position in range(len(payload) * 8):
        damaged = bytearray(payload)
        damaged[position // 8] ^= 1 << position % 8
        try:
            read = decode_timeline(bytes(damaged), "a", 3)
        except DamagedChunkError:
            continue
        assert_same_timeline(read, expected)  # bits that deflate leaves unused
    for size in range(len(payload)):
        with pytest.raises(DamagedChunkError):
            decode_timeline(payload[:size], "a", 3)


def crafted_timeline(change: Callable[[dict], object], columns: dict[str, list] | None = None) -> bytes:
    """A timeline's payload with another header, its checksums holding."""
    stored = timeline()
    text, _ = _split(encode_timeline(stored, "a", 3))
    meta = json.loads(text)["meta"]
    change(meta)
    gap = stored.start - np.concatenate([[0], (stored.start + stored.duration)[:-1]])
    given = {name: getattr(stored, name) for name in COLUMNS if name != "start"} | {"gap": gap}
    given |= {name: np.array(values) for name, values in (columns or {}).items()}
    return encode(given, meta, ("launch",))


def nothing(_: dict) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "columns", "reason"),
    [
        (nothing, {"lane": [0, 0, 0, 2]}, "impossible lane: 0 to 2"),
        (nothing, {"lane": [0, 0, 0, -1]}, "impossible lane: -1 to 0"),
        (nothing, {"kind": [0, 0, 2, 10]}, "impossible kind: 0 to 10"),
        (nothing, {"name": [0, 1, 2, 4]}, "impossible name: 0 to 4"),
        (nothing, {"shape": [0, 0, -2, -1]}, "impossible shape: -2 to 0"),
        (nothing, {"shape": [0, 1, -1, -1]}, "impossible shape: -1 to 1"),
        (nothing, {"launch": [-1, -1, -1, 4]}, "impossible launch: -1 to 4"),
        (nothing, {"duration": [1, 2, 3, -4]}, "impossible duration: -4 to 3"),
        (nothing, {"duration": [1, 2, 3, 2**62]}, "impossible duration"),
        (nothing, {"gap": [2**62, 0, 0, 0]}, "impossible start"),
        (nothing, {"row": [0, 1, 3, 0]}, "a row that its lane does not have"),
        (nothing, {"row": [0, 1, 2, -1]}, "a row that its lane does not have"),
        (nothing, {"gap": [0.5, 0.5, 0.5, 0.5]}, "not a timeline"),
        (lambda m: m.update(attempt="b"), None, "holds timeline 3 of attempt 'b'"),
        (lambda m: m.update(chunk=4), None, "holds timeline 4 of attempt 'a'"),
        (lambda m: m.update(chunk=-3), None, "unreadable header"),
        (lambda m: m.pop("step_duration_ns"), None, "unreadable header"),
        (lambda m: m.update(step_duration_ns=10**30), None, "unreadable header"),
        (lambda m: m.update(names=[1, 2]), None, "unreadable header"),
        (lambda m: m.update(step="7"), None, "unreadable header"),
        (lambda m: m["lanes"][0].update(kind="elsewhere"), None, "a lane of unknown kind"),
        (lambda m: m["lanes"][0].update(rows=-5), None, "a row that its lane does not have"),
        (lambda m: m["lanes"][0].update(rows=10**30), None, "too large"),
    ],
)
def test_a_crafted_timeline_is_refused(change: Callable, columns: dict | None, reason: str) -> None:
    assert_same_timeline(decode_timeline(crafted_timeline(nothing), "a", 3), timeline())
    with pytest.raises(UNUSABLE, match=reason):
        decode_timeline(crafted_timeline(change, columns), "a", 3)


def test_a_timeline_lacking_a_column_is_refused() -> None:
    with pytest.raises(DamagedChunkError, match="not a timeline"):
        decode_timeline(encode({"lane": np.zeros(2)}, json.loads(_split(crafted_timeline(nothing))[0])["meta"]), "a", 3)


def window(**fields: Any) -> ProfileWindow:
    given = {"profile": profile(step(7, 30.0, 90.0)), "calls": calls([5, 900], [40, 50]), "timelines": []}
    return ProfileWindow(**{**given, **fields})


times = st.floats(0, 1e9)


@given(st.lists(st.tuples(st.none() | INT, times, times), max_size=5), st.none() | st.lists(INT, max_size=5))
@settings(max_examples=50)
def test_windows_come_back(steps: list[tuple], starts: list[int] | None) -> None:
    expected = ProfileWindow(
        profile=profile(*(step(*each) for each in steps)),
        calls=None if starts is None else calls(starts, [abs(start) for start in starts], None),
        timelines=[TimelinePlace(step=each[0], chunk=k, events=k, left_out=0) for k, each in enumerate(steps)],
    )
    payload = encode_window(expected, "a", 2)
    assert decode_window(payload, "a", 2) == expected
    assert decode_calls(payload, "a", 2) == expected.calls


def crafted_window(change: Callable[[dict], object]) -> bytes:
    value = json.loads(_split(encode_window(window(), "a", 2))[0])
    change(value)
    return _join(json.dumps(value).encode(), [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.update(window=3), "holds window 3 of attempt 'a'"),
        (lambda w: w.update(attempt="b"), "holds window 2 of attempt 'b'"),
        (lambda w: w["calls"]["group"].pop(), "impossible collectives"),
        (lambda w: w["calls"].update(operation=[0, 1]), "impossible collectives"),
        (lambda w: w["calls"].update(operation=[0, -1]), "impossible collectives"),
        (lambda w: w["calls"].update(group=[1, 0]), "impossible collectives"),
        (lambda w: w["calls"].update(group=[-2, 0]), "impossible collectives"),
        (lambda w: w["calls"].update(duration_ns=[5, -1]), "impossible collectives"),
        (lambda w: w["calls"].update(start_ns=[0, 2**63]), "impossible collectives"),
        (lambda w: w["calls"].update(sequence=[0, 10**40]), "impossible collectives"),
        (lambda w: w["calls"].update(start_ns=["0", 1]), "unreadable value"),
    ],
)
def test_crafted_collectives_are_refused(change: Callable, reason: str) -> None:
    for decode in (decode_window, decode_calls):
        with pytest.raises(DamagedChunkError, match=reason):
            decode(crafted_window(change), "a", 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w["timelines"].append({"step": 1, "chunk": -1, "events": 0, "left_out": 0}), "impossible number"),
        (
            lambda w: w["timelines"].append({"step": 1, "chunk": 10**30, "events": 0, "left_out": 0}),
            "impossible number",
        ),
        (lambda w: w["timelines"].append({}), "unreadable value"),
        (lambda w: w["profile"]["steps"][0].update(duration_us=-1.0), "impossible duration"),
        (lambda w: w["profile"]["steps"][0].update(duration_us=1e300), "impossible duration"),
        (lambda w: w["profile"]["steps"][0]["categories_us"].update(kernel=1e300), "impossible duration"),
        (lambda w: w["profile"].pop("device"), "unreadable value"),
        (lambda w: w.pop("profile"), "unreadable value"),
    ],
)
def test_crafted_windows_are_refused(change: Callable, reason: str) -> None:
    with pytest.raises(DamagedChunkError, match=reason):
        decode_window(crafted_window(change), "a", 2)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"profile":' + b"[" * 100_000, b"1", b"", b'{"window":1e400}'])
def test_what_is_no_window_is_refused(content: bytes) -> None:
    for decode in (decode_window, decode_calls):
        with pytest.raises(DamagedChunkError, match="unreadable value"):
            decode(_join(content, []), "a", 2)
        with pytest.raises(DamagedChunkError, match="not a value stored by tb_aiperf"):
            decode(content, "a", 2)


def reader_of(logdir: Path) -> RunReader:
    return RunReader(DirectorySource(str(logdir)))


def test_windows_and_timelines_are_numbered_on(tmp_path: Path) -> None:
    second = recording(step(20, 1.0, 2.0), step(None, 3.0, 4.0), step(22, 5.0, 6.0), of_calls=calls([1], [2]))
    write_windows(tmp_path / "run", attempt(), recording(), second, recording(step(None, 1.0, 1.0)))
    reader = reader_of(tmp_path)
    index = reader.index("run")
    assert index is not None
    assert [
        (w.number, w.listed.rows, w.listed.steps, w.listed.first, w.listed.last, w.listed.recorded)
        for w in index.windows
    ] == [
        (0, 2, 2, 7, 8, RECORDED_NS),
        (1, 3, 2, 20, 22, RECORDED_NS + 1_000_000_000),
        (2, 1, 0, None, None, RECORDED_NS + 2_000_000_000),
    ]
    assert [window.attempt.id for window in index.windows] == [attempt().id] * 3
    read = reader.window("run", attempt().id, 1)
    assert (read.profile, read.calls) == (second.profile, second.calls)
    assert [(place.step, place.chunk, place.events) for place in read.timelines] == [
        (20, 2, 4),
        (None, 3, 4),
        (22, 4, 4),
    ]
    assert reader.collective_calls("run", attempt().id, 1) == second.calls
    assert reader.collective_calls("run", attempt().id, 0) is None
    assert_same_timeline(reader.timeline("run", attempt().id, 4), timeline(22))


def test_numbers_go_on_where_another_writer_stopped(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    assert ProfileWriter(sink, attempt()).write(recording(), RECORDED_NS) == 0
    assert ProfileWriter(sink, attempt(), windows=1, timelines=2).write(recording(step(9, 1.0, 1.0)), RECORDED_NS) == 1
    sink.close()
    read = reader_of(tmp_path).window("run", attempt().id, 1)
    assert [place.chunk for place in read.timelines] == [2]


def test_steps_and_windows_of_one_run_do_not_disturb_each_other(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(1), noisy(5)))
    write_windows(tmp_path / "run", attempt(1), recording())
    reader = reader_of(tmp_path)
    index = reader.index("run")
    assert index is not None
    assert len(reader.load_steps(index, "train").table) == 5
    assert [window.number for window in index.windows] == [0]
    assert index.problems == []


def test_a_window_is_written_after_its_timelines(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    content = event_file(tmp_path / "run").read_bytes()
    assert [record.tag.removeprefix("tb_aiperf/") for record in scan(content, [])] == [
        f"timeline/{attempt().id}/000000",
        f"timeline/{attempt().id}/000001",
        f"profile/{attempt().id}/000000",
    ]


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.payloads: dict[str, bytes] = {}

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        self.payloads[tag.split("/")[1] + tag[-7:]] = payload

    def flush(self) -> None:
        pass


def test_a_timeline_too_large_to_be_read_is_stored_without_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_HEADER_BYTES", 2_000)
    large = timeline(names=("x" * 500,) * 4, left_out=3, left_out_ns=20)
    given = recording(step(7, 1.0, 1.0), step(8, 1.0, 1.0))
    sink = Kept()
    ProfileWriter(sink, attempt()).write(
        type(given)(profile=given.profile, calls=None, timelines=(large, timeline(8))), RECORDED_NS
    )
    read = decode_timeline(sink.payloads["timeline/000000"], attempt().id, 0)
    assert_same_timeline(read, without_events(large))
    assert (len(read), read.left_out, read.left_out_ns, read.step_duration_ns) == (0, 7, 7_000, 9_000)
    places = decode_window(sink.payloads["profile/000000"], attempt().id, 0).timelines
    assert [(place.events, place.left_out) for place in places] == [(0, 7), (4, 0)]


def test_too_many_collectives_are_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_STRUCT_BYTES", 10_000)
    sink = Kept()
    given = recording(of_calls=calls(range(2_000), range(2_000)))
    ProfileWriter(sink, attempt()).write(given, RECORDED_NS)
    read = decode_window(sink.payloads["profile/000000"], attempt().id, 0)
    assert read.calls is None
    assert read.profile.warnings == ["2,000 collectives are too many to be stored; ranks cannot be compared"]
    assert read.profile.steps == given.profile.steps
    monkeypatch.setattr(codec, "MAX_STRUCT_BYTES", 500)
    with pytest.raises(ValueError, match="more than 500"):
        ProfileWriter(sink, attempt()).write(given, RECORDED_NS)


def test_damaged_and_missing_ones_are_named(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording(), recording(step(9, 1.0, 1.0)))
    path = event_file(tmp_path / "run")
    corrupt(path, f"profile/{attempt().id}/000001")
    corrupt(path, f"timeline/{attempt().id}/000000")
    rewrite_tag = f"timeline/{attempt().id}/00000"
    reader = reader_of(tmp_path)
    with pytest.raises(DamagedChunkError, match=rf"^tb_aiperf/profile/{attempt().id}/000001 of run 'run': "):
        reader.window("run", attempt().id, 1)
    with pytest.raises(DamagedChunkError, match=rf"^tb_aiperf/timeline/{attempt().id}/000000 of run 'run': "):
        reader.timeline("run", attempt().id, 0)
    assert_same_timeline(reader.timeline("run", attempt().id, 1), timeline(8))
    for read in (reader.window, reader.collective_calls, reader.timeline):
        with pytest.raises(DamagedChunkError, match=r"/000009 of run 'run': listed, but not there"):
            read("run", attempt().id, 9)
    # Under another one's tag: neither is taken for the other.
    write_windows(tmp_path / "other", attempt(), recording())
    rewrite(event_file(tmp_path / "other"), f"{rewrite_tag}1".encode(), f"{rewrite_tag}5".encode())
    with pytest.raises(
        DamagedChunkError, match=rf"/000005 of run 'other': holds timeline 1 of attempt '{attempt().id}'"
    ):
        reader_of(tmp_path).timeline("other", attempt().id, 5)


def test_no_flipped_bit_changes_a_profile_in_silence(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording(of_calls=calls([3], [4])))
    path, expected = event_file(tmp_path / "run"), recording(of_calls=calls([3], [4]))
    content = path.read_bytes()
    first = next(iter(scan(content, []))).offset - 12
    for position in range(first * 8, len(content) * 8, 7):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(bytes(damaged))
        reader = reader_of(tmp_path)
        index = reader.index("run")
        if index is None or not index.windows:
            assert reader.file_problems("run") or (index is not None and index.problems)
            continue
        try:
            read = reader.window("run", attempt().id, 0)
            shown = [reader.timeline("run", attempt().id, place.chunk) for place in read.timelines]
        except DamagedChunkError:
            continue
        assert (read.profile, read.calls) == (expected.profile, expected.calls)
        for one, other in zip(shown, expected.timelines, strict=True):
            assert_same_timeline(one, other)


def test_listing_windows_reads_no_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    monkeypatch.setattr(DirectorySource, "read", lambda *_: pytest.fail("read"))
    index = reader_of(tmp_path).index("run")
    assert index is not None
    assert len(index.windows) == 1


def test_an_index_of_before_windows_reads_as_one_without(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    sink.add("tb_aiperf/profile/a/000000", b"", b'{"v":1,"loop":"train","started":5}', 0)
    sink.add("tb_aiperf/profile/a/000001", b"", b'{"v":1,"loop":"train","started":5,"recorded":%d}' % 2**70, 0)
    sink.close()
    index = reader_of(tmp_path).index("run")
    assert index is not None
    assert [(window.number, window.listed.recorded) for window in index.windows] == [(0, None)]
    assert index.problems == ["tb_aiperf/profile/a/000001: unreadable index"]


def test_a_failing_sink_fails_the_write_and_no_number_is_used_twice() -> None:
    class Full(Kept):
        def __init__(self) -> None:
            super().__init__()
            self.fails = True

        def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
            if self.fails and "/profile/" in tag:
                raise OSError("full")
            assert tag.split("/")[1] + tag[-7:] not in self.payloads
            super().add(tag, payload, content, step)

    sink = Full()
    writer = ProfileWriter(sink, attempt())
    with pytest.raises(OSError, match="full"):
        writer.write(recording(), RECORDED_NS)
    sink.fails = False
    assert writer.write(recording(), RECORDED_NS) == 0
    assert sorted(sink.payloads) == ["profile/000000", *(f"timeline/00000{k}" for k in range(4))]
    assert [p.chunk for p in decode_window(sink.payloads["profile/000000"], attempt().id, 0).timelines] == [2, 3]
