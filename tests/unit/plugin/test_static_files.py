from __future__ import annotations

from pathlib import Path

import pytest

from tb_aiperf.plugin import plugin as plugin_module
from tb_aiperf.plugin.static_files import static_files
from tests.unit.plugin.apps import ROOT, App


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "chunks").mkdir(parents=True)
    for name in ("index.js", "index.css", "chunks/charts-1a2b.js", "LICENSES.txt"):
        (folder / name).write_text(f"content of {name} ü")
    for name in ("secret.txt", ".gitkeep", "chunks/notes.md", "index.html"):
        (folder / name).write_text("not for the public")
    return folder


@pytest.fixture
def app(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(plugin_module, "static_files", lambda: static_files(built))
    (tmp_path / "logs").mkdir()
    return App(tmp_path / "logs")


@pytest.mark.parametrize(
    ("route", "content_type"),
    [
        ("/index.js", "text/javascript; charset=utf-8"),
        ("/index.css", "text/css; charset=utf-8"),
        ("/chunks/charts-1a2b.js", "text/javascript; charset=utf-8"),
        ("/LICENSES.txt", "text/plain; charset=utf-8"),
    ],
)
def test_built_files_have_fixed_types(app: App, route: str, content_type: str) -> None:
    response = app.get(route)
    assert response.status_code == 200
    assert response.text == f"content of {route[1:]} ü"
    assert response.headers["Content-Type"] == content_type
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "route",
    [
        "/secret.txt",
        "/.gitkeep",
        "/chunks/notes.md",
        "/chunks/",
        "/chunks/../secret.txt",
        "/chunks/..%2fsecret.txt",
        "/../plugin.py",
        "/%2e%2e/plugin.py",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/chunks/charts-1a2b.js/../../secret.txt",
        "/chunks\\..\\secret.txt",
        "/index.js%00.txt",
        "/index.html",
    ],
)
def test_nothing_else_is_served(app: App, route: str) -> None:
    response = app.client.get(ROOT + route)
    assert response.status_code == 404
    assert "not for the public" not in response.text


def test_a_file_that_went_away_is_named(app: App, built: Path) -> None:
    (built / "index.css").unlink()
    response = app.get("/index.css")
    assert response.status_code == 404
    assert response.json == {"error": "the file has gone since TensorBoard started; restart TensorBoard"}


def test_the_list_is_fixed(built: Path, tmp_path: Path) -> None:
    assert set(static_files(built)) == {"/index.js", "/index.css", "/chunks/charts-1a2b.js", "/LICENSES.txt"}
    assert static_files(built)["/index.js"].path == built / "index.js"
    assert static_files(tmp_path / "none").keys() == {"/index.js"}


def test_missing_panels_say_how_to_build_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_module, "static_files", lambda: static_files(tmp_path / "none"))
    response = App(tmp_path).get("/index.js")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "export function render()" in response.text
    assert "make frontend" in response.text
