"""Profiled windows in the panel Steps, in a real browser: a run that holds steps and profiles of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tb_aiperf.records import TraceRecording
from tb_aiperf.storage.profile_writer import ProfileWriter
from tb_aiperf.storage.sink import FolderSink
from tb_aiperf.storage.writer import StepSeriesWriter
from tests.browser.test_panels import Visit
from tests.browser.test_profile_panel import SVG, card, plain, resting_box
from tests.tensorboard_process import TensorBoard, tensorboard
from tests.unit.storage.recordings import RECORDED_NS, recording, step
from tests.unit.storage.series import attempt, noisy, write_run

RUN = "net/<b>wide<b>"
STEPS = 3000
#: TensorBoard's second run colour, as palette.ts has it: the run comes second in the list.
RUN_COLOR = [18, 181, 203]


def window(first: int, count: int) -> TraceRecording:
    """`count` steps from `first`."""
    return recording(*(step(first + k, 30.0, 90.0) for k in range(count)))


def write(folder: Path) -> None:
    """Steps of which the slowest, 1002, is profiled with its neighbours; another window is of step 2500 alone."""
    rows = noisy(STEPS)
    durations = rows.durations.copy()
    durations[:, 1002] *= 20
    wall = durations.sum(axis=0)
    sink = FolderSink(str(folder))
    of_steps = StepSeriesWriter(sink, attempt(), chunk_rows=512)
    of_steps.append(replace(rows, durations=durations, start=wall.cumsum() - wall))
    profiles = ProfileWriter(sink, attempt())
    for number, (first, count) in enumerate(((1000, 5), (2500, 1))):
        assert profiles.write(window(first, count), RECORDED_NS + number * 1_000_000_000) == number
    of_steps.close()
    sink.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    """The run, and one without profiles before it in the list."""
    root = tmp_path_factory.mktemp("profiled") / "logdir"
    write(root / RUN)
    write_run(root / "a", (attempt(), noisy(STEPS, seed=1)))
    with tensorboard(root.parent / "tensorboard.log", "--logdir", str(root)) as running:
        running.await_steps(STEPS)
        running.await_true(lambda: [len(run["profiles"]) for run in running.api("runs")["runs"]] == [0, 2])
        yield running


@pytest.fixture
def visit(browser: Any, server: TensorBoard, request: pytest.FixtureRequest) -> Iterator[Visit]:
    width = getattr(request, "param", 1280)
    page = browser.new_page(viewport={"width": width, "height": 900})
    yield Visit(page, server)
    page.close()


def open_steps(visit: Visit, rest: str = "") -> Any:
    """The panel with the profiled run alone."""
    return visit.open(f"steps&p.tb_aiperf.runs=net%2F%3Cb%3Ewide%3Cb%3E{rest}")


def mark_places(visit: Visit) -> list[float]:
    """Where the marks above the first chart lie: the middle of each, as a share of the plot's width."""
    script = """(color) => {
      const canvas = document.querySelector(".chart canvas");
      const ratio = canvas.width / canvas.clientWidth;
      const { data } = canvas.getContext("2d").getImageData(0, Math.round(9 * ratio), canvas.width, 1);
      const found = [];
      for (let x = 0; x < canvas.width; x += 1) {
        if (!color.every((value, at) => data[4 * x + at] === value)) continue;
        const last = found[found.length - 1];
        if (last && x - last[1] === 1) last[1] = x;
        else found.push([x, x]);
      }
      return found.map(([from, to]) => ((from + to + 1) / 2 / ratio - 64) / (canvas.clientWidth - 80));
    }"""
    places: list[float] = visit.inner.evaluate(script, RUN_COLOR)
    return places


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("visit", [1280, 800], indirect=True)
def test_accessible(visit: Visit, dark: bool) -> None:
    visit.open("steps", dark).get_by_role("list", name="Profiled steps").wait_for()
    visit.inner.evaluate(AXE_SCRIPT)
    found = visit.inner.evaluate("axe.run()")
    assert [(rule["id"], [node["target"] for node in rule["nodes"]][:3]) for rule in found["violations"]] == []
    assert visit.complaints == []
    width = visit.inner.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], "the page itself scrolls sideways"


def test_marks_lie_at_their_steps(visit: Visit) -> None:
    open_steps(visit)
    assert mark_places(visit) == pytest.approx([1002.5 / STEPS, 2500.5 / STEPS], abs=0.003)


@pytest.mark.parametrize("x", ["relative", "wall"])
def test_marks_lie_at_their_time(visit: Visit, x: str) -> None:
    open_steps(visit, f"&p.tb_aiperf.x={x}")
    bins = visit.server.api("steps", run=RUN, bins=STEPS // 2)["bins"]
    begin, end = bins["unix_s"][0], bins["unix_s"][-1] + 2 * bins["time_s"]["mean"][-1]
    expected = [(bins["unix_s"][at // 2] - begin) / (end - begin) for at in (1003, 2500)]
    # A mark reaches over the bins that hold its steps, each a 400th of the run.
    assert mark_places(visit) == pytest.approx(expected, abs=0.006)


def test_tooltip_names_the_profiled_steps_and_zoom_works_over_a_mark(visit: Visit) -> None:
    frame = open_steps(visit)
    chart = frame.locator(".chart").first
    box = resting_box(visit, chart)
    at = lambda step: box["x"] + 64 + (box["width"] - 80) * (step + 0.5) / STEPS  # noqa: E731
    visit.page.mouse.move(at(1002), box["y"] + 100)
    frame.locator(".tip").get_by_text("profiled: steps 1,000–1,004", exact=True).wait_for()
    visit.page.mouse.move(at(1500), box["y"] + 100, steps=3)
    frame.locator(".tip").get_by_text("step 1,50", exact=False).wait_for()
    assert "profiled" not in frame.locator(".tip").inner_text()
    visit.page.mouse.move(at(1002), box["y"] + 100)
    visit.page.mouse.down()
    visit.page.mouse.move(at(1500), box["y"] + 100, steps=4)
    visit.page.mouse.move(at(2000), box["y"] + 100, steps=4)
    visit.page.mouse.up()
    frame.get_by_role("button", name="All steps").wait_for()
    visit.page.wait_for_load_state("networkidle")
    assert frame.get_by_role("list", name="Profiled steps").get_by_role("button").all_inner_texts() == ["1,000–1,004"]


def test_exported_images_name_the_marks(visit: Visit) -> None:
    frame = open_steps(visit)
    for place in range(2):
        frame.get_by_role("button", name="Export").nth(place).click()
        with visit.page.expect_download() as download:
            frame.locator(".menu-item").filter(has_text="SVG").click()
        drawn = ElementTree.parse(download.value.path())
        assert "Profiled steps" in ["".join(text.itertext()) for text in drawn.iter(f"{SVG}text")]


def test_the_list_leads_to_the_profile_by_keys(visit: Visit) -> None:
    frame = open_steps(visit)
    buttons = frame.get_by_role("list", name="Profiled steps").get_by_role("button")
    assert buttons.all_inner_texts() == ["1,000–1,004", "2,500"]
    buttons.first.focus()
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    card(frame, "Findings").wait_for()
    assert f"p.tb_aiperf.profile=1@{attempt().id}@{RUN}" in unquote(visit.page.evaluate("location.hash"))
    assert "1 step: 2,500" in plain(card(frame, "Findings").inner_text())
    # A single step against five: a difference, but no interval.
    card(frame, "Comparison").get_by_text("no interval", exact=False).first.wait_for()


def test_a_slow_step_that_was_profiled_leads_to_itself(visit: Visit) -> None:
    frame = open_steps(visit)
    slowest = card(frame, "Slowest steps").locator("tbody tr").first
    assert slowest.locator("th").inner_text() == "1,002"
    slowest.get_by_role("button", name="Open the profile of step 1,002").click()
    card(frame, "Step breakdown").get_by_text("now step 1,002", exact=False).wait_for()
    assert visit.inner.evaluate("document.querySelector('.main').scrollTop") == 0
