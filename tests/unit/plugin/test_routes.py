from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import pytest

from tb_aiperf import reports
from tb_aiperf.storage.codec import _join
from tb_aiperf.storage.directory import DirectorySource
from tb_aiperf.storage.reader import RunReader
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter
from tests.unit.plugin.apps import ROOT, App
from tests.unit.storage.recordings import calls, recording, write_windows
from tests.unit.storage.series import attempt, noisy, write_run


@pytest.fixture
def app(tmp_path: Path) -> App:
    write_run(tmp_path / "run", (attempt(1), noisy(3000)), (attempt(2), noisy(500, first_step=2900)))
    write_run(tmp_path / "a b&c=ü" / "x", (attempt(3), noisy(5)))
    return App(tmp_path)


def by_command_line(tmp_path: Path) -> RunReader:
    return RunReader(DirectorySource(str(tmp_path)))


def plain(value: object) -> object:
    return json.loads(json.dumps(value))


def test_answers_are_those_of_the_reports(app: App, tmp_path: Path) -> None:
    reader = by_command_line(tmp_path)
    window = {"run": "run", "loop": "train", "attempt": attempt(1).id, "from": 100, "to": 2000, "bins": 7, "worst": 3}
    expected = {
        ("/api/v1/runs",): reports.runs(reader),
        ("/api/v1/overview", ("run", "run")): reports.overview(reader, "run"),
        ("/api/v1/overview", ("run", "a b&c=ü/x")): reports.overview(reader, "a b&c=ü/x"),
        ("/api/v1/steps", ("run", "run")): reports.steps(reader, "run"),
        ("/api/v1/steps", *window.items()): reports.steps(
            reader, "run", "train", attempt(1).id, first=100, last=2000, bins=7, worst=3
        ),
    }
    for (route, *query), answer in expected.items():
        for _ in range(2):
            response = app.get(route, **dict(query))
            assert response.status_code == 200, response.text
            assert response.json == plain(answer)
            assert response.headers["Content-Type"] == "application/json"
            assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_default_sampling_loses_no_step(app: App) -> None:
    answer = app.get("/api/v1/overview", run="run").json
    assert (answer["steps"], answer["superseded_steps"], answer["damaged_chunks"]) == (3400, 100, 0)


def test_json_is_sent_compressed_to_those_who_accept_it(app: App) -> None:
    address, query = f"{ROOT}/api/v1/runs", app.get("/api/v1/runs").json
    response = app.client.get(address, headers={"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(response.data)) == query


def test_csv(app: App, tmp_path: Path) -> None:
    response = app.get("/api/v1/steps.csv", run="run", to=50)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.text == "".join(reports.steps_csv(by_command_line(tmp_path), "run", last=50))
    assert response.text.count("\n") == 52


@pytest.mark.parametrize("route", ["/api/v1/overview", "/api/v1/steps", "/api/v1/steps.csv"])
@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({}, 400, "parameter 'run' is missing; api/v1/runs lists the runs"),
        ({"run": ""}, 400, "parameter 'run' is missing; api/v1/runs lists the runs"),
        ({"run": "none"}, 404, "run 'none' holds no summaries of tb_aiperf; api/v1/runs lists the runs that do"),
        ({"run": "run", "loop": "test"}, 404, "run 'run' holds no steps of loop 'test', only of train"),
        (
            {"run": "run", "loop": "x"},
            400,
            "loop 'x' is not one of train, validate, test, predict, pipeline",
        ),
        (
            {"run": "run", "attempt": "x"},
            404,
            f"run 'run' has no attempt 'x' in loop 'train', only {attempt(1).id}, {attempt(2).id}",
        ),
    ],
)
def test_what_does_not_exist(app: App, route: str, query: dict[str, str], code: int, message: str) -> None:
    response = app.get(route, **query)
    assert (response.status_code, response.json) == (code, {"error": message})
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"from": "x"}, "from is 'x'; it must be a whole number"),
        ({"to": "1.5"}, "to is '1.5'; it must be a whole number"),
        ({"from": "1_000"}, "from is '1_000'; it must be a whole number"),
        ({"from": "１２"}, "from is '１２'; it must be a whole number"),
        ({"to": " 5"}, "to is ' 5'; it must be a whole number"),
        ({"from": "9" * 5000}, f"from is '{'9' * 5000}'; that is too large"),
        ({"from": "9" * 30}, f"from is '{'9' * 30}'; that is too large"),
        ({"from": "9", "to": "8"}, "from is 9 and to is 8; from must not exceed to"),
        ({"bins": "0"}, "bins is 0; it must lie between 1 and 2000"),
        ({"worst": "-1"}, "worst is -1; it must lie between 0 and 100"),
        ({"bin": "5"}, "parameter 'bin' is unknown; this route takes run, loop, attempt, from, to, bins, worst"),
    ],
)
def test_bad_parameters(app: App, query: dict[str, str], message: str) -> None:
    response = app.get("/api/v1/steps", run="run", **query)
    assert (response.status_code, response.json) == (400, {"error": message})


@pytest.fixture
def profiles(tmp_path: Path) -> App:
    for rank in (0, 1):
        folder = tmp_path / "run" / ("" if rank == 0 else "rank_1")
        of_calls = calls([1_000 * rank], [5_000])
        write_windows(folder, attempt(rank=rank, world_size=2), *[recording(of_calls=of_calls)] * 2)
    return App(tmp_path)


def test_profiles_are_those_of_the_reports(profiles: App, tmp_path: Path) -> None:
    reader, identifier = by_command_line(tmp_path), attempt().id
    whole = {"run": "run", "attempt": identifier, "window": 1}
    expected = {
        ("/api/v1/profile", ("run", "run")): reports.profile(reader, "run"),
        ("/api/v1/profile", ("run", "run/rank_1"), ("window", 0)): reports.profile(reader, "run/rank_1", None, 0),
        ("/api/v1/profile", *whole.items()): reports.profile(reader, "run", identifier, 1),
        ("/api/v1/timeline", *whole.items(), ("index", 1)): reports.timeline(reader, "run", identifier, 1, 1),
    }
    for (route, *query), answer in expected.items():
        for _ in range(2):
            response = profiles.get(route, **dict(query))
            assert response.status_code == 200, response.text
            assert response.json == plain(answer)
            assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert profiles.get("/api/v1/profile", run="run").json["collectives"]["ranks"] == [0, 1]


@pytest.mark.parametrize(
    ("route", "query", "code", "message"),
    [
        ("profile", {}, 400, "parameter 'run' is missing; api/v1/runs lists the runs"),
        ("profile", {"run": "x"}, 404, "run 'x' holds no summaries of tb_aiperf; api/v1/runs lists the runs that do"),
        ("profile", {"run": "run", "window": "x"}, 400, "window is 'x'; it must be a whole number"),
        (
            "profile",
            {"run": "run", "window": "7"},
            404,
            f"attempt '{attempt().id}' of run 'run' has no window 7, only 0, 1",
        ),
        (
            "profile",
            {"run": "run", "attempt": "x"},
            404,
            f"run 'run' has no profile of attempt 'x', only of {attempt().id}",
        ),
        (
            "profile",
            {"run": "run", "index": "1"},
            400,
            "parameter 'index' is unknown; this route takes run, attempt, window",
        ),
        ("timeline", {"run": "run"}, 400, "parameter 'attempt' is missing; api/v1/runs lists the runs"),
        ("timeline", {"run": "run", "attempt": "x"}, 400, "parameter 'window' is missing; it must be a whole number"),
        (
            "timeline",
            {"run": "run", "attempt": attempt().id, "window": "1", "index": "2"},
            404,
            f"window 1 of attempt '{attempt().id}' has no timeline 2, only 0 to 1",
        ),
    ],
)
def test_profiles_that_do_not_exist(profiles: App, route: str, query: dict, code: int, message: str) -> None:
    response = profiles.get(f"/api/v1/{route}", **query)
    assert (response.status_code, response.json) == (code, {"error": message})


def test_a_rank_that_comes_later_appears(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(world_size=2), recording(of_calls=calls([1], [2])))
    app = App(tmp_path)
    assert app.get("/api/v1/profile", run="run").json["collectives"] is None
    write_windows(tmp_path / "run" / "rank_1", attempt(rank=1, world_size=2), recording(of_calls=calls([1], [2])))
    app.reload()
    assert app.get("/api/v1/profile", run="run").json["collectives"]["ranks"] == [0, 1]


def test_a_crafted_profile_fails_no_route(tmp_path: Path) -> None:
    write_windows(tmp_path / "run", attempt(), recording())
    sink = FolderSink(str(tmp_path / "run"))
    content = b'{"v":1,"loop":"train","started":%d}' % attempt().started_unix_ns
    for series in ("profile", "timeline"):
        sink.add(f"tb_aiperf/{series}/{attempt().id}/000007", _join(b"[" * 100_000, []), content, 0)
        sink.add(f"tb_aiperf/{series}/{attempt().id}/tail/0", b"", content, 0)
    sink.close()
    app = App(tmp_path)
    assert [each["window"] for each in app.get("/api/v1/runs").json["runs"][0]["profiles"]] == [0, 7]
    response = app.get("/api/v1/profile", run="run")
    assert response.status_code == 404
    assert "/000007 of run 'run': unreadable value" in response.json["error"]
    assert app.get("/api/v1/profile", run="run", window=0).status_code == 200
    assert app.get("/api/v1/timeline", run="run", attempt=attempt().id, window=0, index=1).json["step"] == 8


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("route", ["/api/v1/runs", "/api/v1/steps.csv", "/api/v1/timeline", "/index.js"])
def test_only_get(app: App, method: str, route: str) -> None:
    response = app.client.open(ROOT + route, method=method)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET"
    if method != "HEAD":
        assert response.json == {"error": f"{method} is not possible here; use GET"}


def test_a_failure_is_an_answer_and_logged(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(reports, "runs", fail)
    with caplog.at_level(logging.ERROR):
        response = app.get("/api/v1/runs")
    assert response.status_code == 500
    assert response.json == {"error": "the answer could not be made; TensorBoard's log says why"}
    assert "RuntimeError: broken" in caplog.text


def test_a_crafted_run_fails_no_route(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(5)))
    sink = FolderSink(str(tmp_path / "run"))
    deep = b"[" * 100_000 + b"]" * 100_000
    content = b'{"v":1,"loop":"train","started":%d}' % attempt().started_unix_ns
    for kind in ("environment", "attempt"):
        sink.add(f"tb_aiperf/{kind}/{attempt().id}", _join(deep, []), content, 0)
    sink.add(f"tb_aiperf/steps/{attempt().id}/000001", b"", b'{"v":1,"x":' + deep + b"}", 0)
    sink.add(f"tb_aiperf/steps/{attempt().id}/{'9' * 5000}", b"", content, 0)
    sink.close()
    app = App(tmp_path)
    assert app.get("/api/v1/runs").json["runs"][0]["loops"][0]["steps"] == 5
    for route in ("overview", "steps", "steps.csv"):
        assert app.get(f"/api/v1/{route}", run="run").status_code == 200
    answer = app.get("/api/v1/overview", run="run").json
    assert (answer["steps"], answer["environment"], answer["damaged_chunks"]) == (5, None, 2)


def test_new_steps_appear_after_a_reload(tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path / "run"))
    writer = StepSeriesWriter(sink, attempt(), chunk_rows=64)
    rows, seen = noisy(1000), []
    writer.append(rows.select(slice(0, 1)))
    writer.flush()
    app = App(tmp_path)
    for first, last in ((1, 20), (20, 25), (25, 200), (200, 210), (210, 215), (215, 1000)):
        writer.append(rows.select(slice(first, last)))
        writer.flush()
        app.reload()
        seen.append(
            (
                app.get("/api/v1/overview", run="run").json["steps"],
                app.get("/api/v1/steps", run="run").json["steps_total"],
                app.get("/api/v1/runs").json["runs"][0]["loops"][0]["steps"],
            )
        )
    assert seen == [(last,) * 3 for last in (20, 25, 200, 210, 215, 1000)]


def test_below_a_path_prefix(tmp_path: Path) -> None:
    write_run(tmp_path / "run", (attempt(), noisy(5)))
    app = App(tmp_path, "/my/tb")
    assert app.get("/api/v1/runs").json["runs"][0]["run"] == "run"
    assert app.get("/index.js").status_code == 200
    assert app.client.get(ROOT + "/api/v1/runs").status_code == 404


def test_the_page_and_the_tab(app: App) -> None:
    listing = app.client.get("/data/plugins_listing").json["tb_aiperf"]
    assert listing["enabled"] is True
    assert listing["tab_name"] == "AI performance"
    assert listing["loading_mechanism"] == {"type": "IFRAME", "module_path": "/data/plugin/tb_aiperf/index.js"}
    assert (listing["disable_reload"], listing["remove_dom"]) == (False, False)
    # Constant: TensorBoard finds the data itself.
    assert app.plugin.is_active() is False


def test_a_logdir_without_our_data_leaves_the_tab_inactive(tmp_path: Path) -> None:
    app = App(tmp_path)
    assert app.client.get("/data/plugins_listing").json["tb_aiperf"]["enabled"] is False
    answer = app.get("/api/v1/runs").json
    assert (answer["runs"], answer["skipped"]) == ([], [])
