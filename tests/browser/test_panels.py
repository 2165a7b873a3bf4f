"""The panels in a real TensorBoard in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.tensorboard_process import TensorBoard, tensorboard

PANELS = ("overview", "steps")


class Visit:
    """A page on the plugin's tab, with everything it asked for and complained about."""

    def __init__(self, page: Any, server: TensorBoard) -> None:
        self.page = page
        self.server = server
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))

    def open(self, panel: str, dark: bool = False) -> Any:
        """Go to a panel; returns its frame once it has drawn."""
        mode = "true" if dark else "false"
        self.page.goto(f"{self.server.root}?darkMode={mode}#tb_aiperf&p.tb_aiperf.panel={panel}")
        self.frame.locator("h1").wait_for(timeout=30_000)
        self.frame.locator("canvas").first.wait_for(timeout=30_000)
        self.page.wait_for_load_state("networkidle")
        return self.frame

    @property
    def frame(self) -> Any:
        """The plugin's frame in TensorBoard's page."""
        return self.page.frame_locator("iframe[src*='name=tb_aiperf']")

    @property
    def inner(self) -> Any:
        """The same as a frame object, for scripts."""
        return next(frame for frame in self.page.frames if "name=tb_aiperf" in frame.url)


@pytest.fixture
def visit(browser: Any, server: TensorBoard, request: pytest.FixtureRequest) -> Iterator[Visit]:
    width = getattr(request, "param", 1280)
    page = browser.new_page(viewport={"width": width, "height": 900})
    yield Visit(page, server)
    page.close()


def expected_median_ms(server: TensorBoard, run: str) -> float:
    return float(server.api("overview", run=run)["step_time_s"]["median"]) * 1000


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("visit", [1280, 800], indirect=True)
def test_accessible_and_self_contained(visit: Visit, panel: str, dark: bool) -> None:
    visit.open(panel, dark)
    visit.inner.evaluate(AXE_SCRIPT)
    found = visit.inner.evaluate("axe.run()")
    violations = [
        (violation["id"], [node["target"] for node in violation["nodes"]][:3]) for violation in found["violations"]
    ]
    assert violations == []
    outside = [url for url in visit.requests if not url.startswith((visit.server.root, "data:", "blob:"))]
    assert outside == []
    assert visit.complaints == []
    width = visit.inner.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], "the page itself scrolls sideways"


def test_overview_shows_the_servers_figures(visit: Visit) -> None:
    frame = visit.open("overview")
    headline = visit.server.api("overview", run="net/slow loader")["headline"]
    assert frame.get_by_role("heading", name=headline).count() >= 1
    text = frame.locator("main").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    for run in ("net/slow loader", "net/<b>healthy<b>"):
        assert run in text, "names are text, never markup"
        assert f"{expected_median_ms(visit.server, run):.3g} ms" in text


def test_steps_zoom_asks_for_the_window_and_is_kept_in_the_address(visit: Visit) -> None:
    visit.open("steps")
    visit.page.goto(f"{visit.server.root}#tb_aiperf&p.tb_aiperf.panel=steps&p.tb_aiperf.from=1000&p.tb_aiperf.to=1099")
    visit.page.reload()
    visit.frame.locator("canvas").first.wait_for(timeout=30_000)
    visit.page.wait_for_load_state("networkidle")
    asked = [unquote(url) for url in visit.requests if "/steps?" in url]
    assert any("from=1000" in url and "to=1099" in url for url in asked)
    assert "p.tb_aiperf.from=1000" in visit.page.evaluate("location.hash")


def test_reload_keeps_the_panel_and_asks_again(visit: Visit) -> None:
    visit.open("steps")
    before = len(visit.requests)
    visit.page.locator("button.reload-button").click()
    visit.page.wait_for_timeout(1500)
    assert any("api/v1/" in url for url in visit.requests[before:])
    assert "p.tb_aiperf.panel=steps" in visit.page.evaluate("location.hash")


def test_theme_follows_tensorboard_live(visit: Visit) -> None:
    visit.open("overview", dark=False)
    background = "getComputedStyle(document.body).backgroundColor"
    light = visit.inner.evaluate(background)
    visit.page.evaluate("document.body.classList.add('dark-mode')")
    visit.page.wait_for_timeout(300)
    assert visit.inner.evaluate(background) != light


def test_every_chart_has_a_table_with_the_same_numbers(visit: Visit) -> None:
    frame = visit.open("steps")
    toggles = frame.get_by_role("button", name="Table")
    assert toggles.count() >= 3
    toggles.first.click()
    assert frame.locator("table").first.locator("tbody tr").count() > 0


def test_csv_export_downloads_the_numbers(visit: Visit) -> None:
    frame = visit.open("steps")
    frame.get_by_role("button", name="Export").first.click()
    with visit.page.expect_download() as download:
        frame.get_by_text("CSV", exact=False).first.click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.count("\n") > 10
    assert "step" in text.splitlines()[0].lower()


def test_keyboard_moves_the_cursor_and_reads_it_out(visit: Visit) -> None:
    frame = visit.open("steps")
    chart = frame.locator("[tabindex='0']").filter(has=frame.locator("canvas")).first
    chart.focus()
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("ArrowLeft")
    said = frame.locator("[aria-live]").all_inner_texts()
    assert any("step" in text.lower() for text in said), json.dumps(said)


def test_an_empty_logdir_says_what_to_do(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("empty") / "logdir"
    folder.mkdir()
    with tensorboard(folder.parent / "tensorboard.log", "--logdir", str(folder)) as server:
        page = browser.new_page()
        page.goto(f"{server.root}#tb_aiperf")
        frame = page.frame_locator("iframe[src*='name=tb_aiperf']")
        frame.get_by_text("PerfMonitor", exact=False).first.wait_for(timeout=30_000)
        page.close()
