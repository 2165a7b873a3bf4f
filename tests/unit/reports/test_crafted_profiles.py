"""Whatever stored profiles say, with checksums that hold: an answer, or an error that names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_aiperf import reports
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.codec import _join, _split
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.source import Entry, Listing
from tests.unit.storage.recordings import calls, recording
from tests.unit.storage.series import attempt

RUNS = ("run", "run/rank_1")
ODD = st.sampled_from(
    [
        None,
        0,
        -1,
        1,
        2**31,
        2**63 - 1,
        2**63,
        -(2**63),
        10**30,
        10**400,
        1.5,
        1e308,
        -1e308,
        "",
        "x",
        "\0",
        [],
        {},
        [[]],
    ]
    + [True, [1, 2, 3], {"a": 1}]
)


class Stored:
    """A sink, and the source of what it got."""

    def __init__(self) -> None:
        self.summaries: dict[str, tuple[bytes, bytes]] = {}

    def add(self, tag: str, payload: bytes, content: bytes, step: int) -> None:
        self.summaries[tag] = (payload, content)

    def flush(self) -> None:
        pass


class Source:
    def __init__(self, runs: Mapping[str, Mapping[str, tuple[bytes, bytes]]]) -> None:
        self._runs = runs

    def listing(self, run: str | None = None) -> Listing:
        listed = {
            name: {tag: Entry(content, 0, 1.0) for tag, (_, content) in summaries.items()}
            for name, summaries in self._runs.items()
        }
        return {name: entries for name, entries in listed.items() if run in (None, name)}

    def read(self, tags: Mapping[str, Collection[str]]) -> dict[str, dict[str, Any]]:
        return {run: {tag: self._runs[run][tag][0] for tag in of if tag in self._runs[run]} for run, of in tags.items()}

    def problems(self, run: str) -> list[str]:
        return []


def summaries_of(rank: int) -> dict[str, tuple[bytes, bytes]]:
    sink = Stored()
    given = recording(of_calls=calls([1, 2, 3], [4, 5, 6]))
    ProfileWriter(sink, attempt(rank=rank, world_size=2)).write(given, 5)
    return sink.summaries


WHOLE = {run: summaries_of(rank) for rank, run in enumerate(RUNS)}


def change(value: Any, data: st.DataObject) -> None:
    """Replace or drop something anywhere in a JSON object."""
    inner = value
    while True:
        keys = sorted(inner) if isinstance(inner, dict) else range(len(inner))
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(inner[key], dict | list) and inner[key] and data.draw(st.integers(0, 5))):
            break
        inner = inner[key]
    if data.draw(st.integers(0, 4)):
        inner[key] = data.draw(ODD)
    else:
        del inner[key]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_every_answer_is_given_or_names_what_is_wrong(data: st.DataObject) -> None:
    runs = {run: dict(summaries) for run, summaries in WHOLE.items()}
    run = data.draw(st.sampled_from(RUNS))
    tag = data.draw(st.sampled_from(sorted(runs[run])))
    payload, content = runs[run][tag]
    if data.draw(st.integers(0, 5)):
        text, body = _split(payload)
        header = json.loads(text)
        change(header, data)
        runs[run][tag] = (_join(json.dumps(header).encode(), []) + bytes(body), content)
    else:
        index = json.loads(content)
        change(index, data)
        runs[run][tag] = (payload, json.dumps(index).encode())
    reader = RunReader(Source(runs), BuildCache(1 << 20))
    msgspec.json.encode([reports.runs(reader), reports.report(reader)])
    for name in RUNS:
        for answer in (
            lambda name: reports.profile(reader, name),
            lambda name: reports.timeline(reader, name, attempt().id, 0, 0),
            lambda name: reports.timeline(reader, name, attempt().id, 0, 1),
        ):
            with suppress(reports.NotFoundError):
                msgspec.json.encode(answer(name))
