"""The panel Profile in a real TensorBoard in a real browser, on profiles that our own storage wrote."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tb_aiperf.records import (
    EVENT_KINDS,
    CallSite,
    DeviceMemoryProfile,
    DeviceTimes,
    DeviceWorkTimes,
    KernelTimes,
    Lane,
    MemoryHolder,
    MemoryProfile,
    ModuleTimes,
    OperationTimes,
    OperatorShapeTimes,
    OperatorSteps,
    OperatorTimes,
    StepTimeline,
    TraceRecording,
)
from tests.browser.test_panels import Visit
from tests.tensorboard_process import TensorBoard, tensorboard
from tests.unit.storage.recordings import calls, profile, step, timeline, write_windows
from tests.unit.storage.series import attempt

RUN = "traces/<b>resnet<b>"
OPERATORS = 2000
LONG_KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, " * 3 + "end>(int)"
KIND = {kind.key: place for place, kind in enumerate(EVENT_KINDS)}
GIB = 1 << 30
SVG = "{http://www.w3.org/2000/svg}"


def operators() -> list[OperatorTimes]:
    """2,000 operators, by name in no order; number k takes k µs on the host and 2k on the device."""
    order = np.random.default_rng(0).permutation(OPERATORS)
    return [
        OperatorTimes(
            name=f"aten::op_{k}",
            calls=1 + k % 7,
            host_self_us=float(k),
            host_total_us=k + 1.5,
            device_us=2.0 * k,
            device_total_us=2.0 * k,
        )
        for k in order.tolist()
    ]


def large_timeline(number: int, events: int = 30_000) -> StepTimeline:
    """A step of 10 ms: one operator around many short ones, a launch, and a kernel of its own stream."""
    start = np.linspace(100, 9_999_000, events).astype(np.int64)
    duration = np.diff(start, append=10_000_000) // 2
    columns = {
        "lane": [0, *[0] * events, 0, 1],
        "row": [0, *[1] * events, 2, 0],
        "kind": [KIND["operator"], *[KIND["operator"]] * events, KIND["runtime"], KIND["kernel"]],
        "name": [0, *[1] * events, 2, 3],
        "shape": [0, *[-1] * events, -1, -1],
        "start": [0, *start.tolist(), 2_000_000, 5_000_000],
        "duration": [10_000_000, *duration.tolist(), 4_000, 2_000_000],
        "launch": [-1, *[-1] * events, -1, events + 1],
    }
    return timeline(
        number,
        step_duration_ns=10_000_000,
        lanes=(Lane(kind="host", title="thread 1 (main)", rows=3), Lane(kind="device", title="GPU 0 stream 7", rows=1)),
        names=("<i>forward</i>", "aten::add_", "cudaLaunchKernel", "gemm_kernel"),
        left_out=12,
        left_out_ns=90,
        **columns,
    )


def window(rank: int, first: int, data_us: float = 6000.0, mm_us: float = 1000.0) -> TraceRecording:
    """Three steps, the first partial, with every part that a trace can have. The others wait for data for `data_us` and
    200 more; aten::mm takes `mm_us` on the host in each."""
    steps = (
        step(first, 3000.0, 1000.0, partial=True),
        step(first + 1, 4000.0, data_us),
        step(first + 2, 4000.0, data_us + 200.0),
    )
    work = {"calls": 10, "total_us": 900.0, "min_us": 80.0, "max_us": 120.0}
    of_profile = profile(
        *steps,
        rank=rank,
        world_size=2,
        warnings=["first warning", "second warning", "third <u>warning</u>"],
        device_timeline_us=DeviceTimes(
            compute=10_000.0,
            communication=1_500.0,
            communication_exposed=1_000.0,
            memcpy=0.0,
            memcpy_exposed=0.0,
            busy=11_000.0,
            idle=13_000.0,
            total=24_000.0,
        ),
        operators=operators(),
        operators_by_step=[
            OperatorSteps(name="aten::mm", calls=[1, 4, 4], host_self_us=[1.0, mm_us, mm_us], device_us=[5.0] * 3),
            OperatorSteps(
                name="aten::<u>add</u>", calls=[1, 2, 2], host_self_us=[1.0, 50.0, 60.0], device_us=[0.0] * 3
            ),
        ],
        operators_by_shape=[
            OperatorShapeTimes(
                name="aten::mm",
                shapes="[[8,64],[64,64]]",
                calls=1,
                host_self_us=1.0,
                host_total_us=1.0,
                device_us=2.0,
                device_total_us=2.0,
            )
        ],
        call_sites=[
            CallSite(
                operator="aten::mm",
                frames=["model.py(3): forward", "train.py(9): step"],
                backward=True,
                calls=1,
                host_self_us=1.0,
                device_us=2.0,
            )
        ],
        modules=[
            ModuleTimes(
                name=name, module=0, parent=parent, calls=1, host_self_us=1.0, host_total_us=2.0, device_us=device
            )
            for name, parent, device in (("Net_0", None, 9.0), ("Linear_0", 0, 4.0), ("Linear_1", 0, 5.0))
        ],
        kernels=[
            KernelTimes(name=LONG_KERNEL, communication=False, **work),
            KernelTimes(name="ncclKernel_AllReduce", communication=True, **work),
        ],
        device_work=[
            DeviceWorkTimes(name="gemm", kind="kernel", operator="aten::mm", **work),
            DeviceWorkTimes(name="Memcpy HtoD", kind="memcpy", operator=None, **work),
        ],
        unattributed_device_us=100.0,
        memory=MemoryProfile(
            devices=[
                DeviceMemoryProfile(
                    device="cuda:0",
                    relative=False,
                    peak_us=9_000.0,
                    peak_allocated_bytes=3 * GIB,
                    peak_reserved_bytes=4 * GIB,
                    time_us=[0.0, 9_000.0, 20_000.0],
                    allocated_bytes=[GIB, 3 * GIB, GIB],
                    reserved_bytes=[4 * GIB] * 3,
                    holders=[MemoryHolder(operator="aten::mm", bytes=2 * GIB)],
                )
            ]
        ),
        collectives=[
            OperationTimes(
                operation="all_reduce", group="0", calls=2, total_us=1_500.0, exposed_us=1_000.0, bytes=3_000_000
            )
        ],
    )
    start = 1_000_000 + 30_000 * rank
    return TraceRecording(
        profile=of_profile,
        calls=calls([start, start + 900_000], [130_000 - 30_000 * rank] * 2),
        timelines=tuple(large_timeline(each.step) for each in steps if each.step is not None),
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    """A run of two windows on two ranks that holds no steps."""
    root = tmp_path_factory.mktemp("profiles") / "logdir"
    write_windows(root / RUN, attempt(world_size=2), window(0, 5, 3000.0, 400.0), window(0, 100))
    write_windows(root / RUN / "rank_1", attempt(world_size=2, rank=1), window(1, 5), window(1, 100))
    with tensorboard(root.parent / "tensorboard.log", "--logdir", str(root)) as running:
        running.await_true(lambda: [len(run["profiles"]) for run in running.api("runs")["runs"]] == [2, 2])
        yield running


@pytest.fixture
def visit(browser: Any, server: TensorBoard, request: pytest.FixtureRequest) -> Iterator[Visit]:
    width = getattr(request, "param", 1280)
    page = browser.new_page(viewport={"width": width, "height": 900})
    yield Visit(page, server)
    page.close()


def card(frame: Any, kind: str) -> Any:
    """The card of a kind."""
    return frame.locator(".card").filter(has=frame.locator(".card-kind").get_by_text(kind, exact=True))


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def open_timeline(visit: Visit) -> Any:
    """The frame with the timeline drawn and in sight."""
    frame = visit.open("profile")
    frame.get_by_role("button", name="Go to the timeline").click()
    frame.locator(".timeline-canvas").wait_for(timeout=30_000)
    visit.page.wait_for_load_state("networkidle")
    frame.locator("#profile-timeline").scroll_into_view_if_needed()
    frame.locator(".timeline-canvas").focus()
    return frame


def resting_box(visit: Visit, locator: Any) -> Any:
    """Where an element lies, once the page around it has stopped to grow."""
    box = None
    while box != (box := locator.bounding_box()):
        visit.page.wait_for_timeout(200)
    return box


def pixels(visit: Visit, color: str) -> int:
    """How many pixels of the timeline have exactly a colour."""
    script = """(color) => {
      const canvas = document.querySelector(".timeline-canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const wanted = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
      let count = 0;
      for (let at = 0; at < data.length; at += 4) if (wanted.every((value, i) => data[at + i] === value)) count += 1;
      return count;
    }"""
    return int(visit.inner.evaluate(script, color))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("visit", [1280, 800], indirect=True)
def test_accessible_and_self_contained(visit: Visit, dark: bool) -> None:
    frame = visit.open("profile", dark)
    height = visit.inner.evaluate("document.querySelector('.main').scrollHeight")
    for top in range(0, height + 2000, 600):
        visit.inner.evaluate(f"document.querySelector('.main').scrollTop = {top}")
        visit.page.wait_for_timeout(60)
    frame.locator(".timeline-canvas").wait_for(timeout=30_000)
    card(frame, "Operators").get_by_role("button", name="Call site").click()
    card(frame, "Operators").locator(".opener-button").first.click()
    card(frame, "Kernels").locator(".opener-button").first.click()
    frame.locator(".timeline-canvas").focus()
    visit.page.keyboard.press("ArrowRight")
    frame.locator(".event-name").wait_for()
    visit.inner.evaluate(AXE_SCRIPT)
    found = visit.inner.evaluate("axe.run()")
    assert [(rule["id"], [node["target"] for node in rule["nodes"]][:3]) for rule in found["violations"]] == []
    assert [url for url in visit.requests if not url.startswith((visit.server.root, "data:", "blob:"))] == []
    assert visit.complaints == []
    width = visit.inner.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], "the page itself scrolls sideways"


def test_cards_show_the_servers_figures(visit: Visit) -> None:
    frame = visit.open("profile")
    answer = visit.server.api("profile", run=RUN)
    assert answer["profile"]["steps"][0]["step"] == 100, "the newest window"
    assert frame.get_by_role("heading", name=answer["headline"], exact=True).count() == 1
    text = plain(frame.locator("main").inner_text())
    assert "Data loading 60.4 %, Kernels 39.6 % of the step time (median 10.1 ms); the device idles 60.4 %" in text
    assert "The device computes 41.7 %, spends 4.17 % on exposed communication, and idles 54.2 % of 24.0 ms" in text
    assert "cuda:0 peaks at 3.00 GiB allocated, of 4.00 GiB reserved, after 9.00 ms" in text
    assert "Rank 1 begins latest: 60.0 µs after the first in all; ranks wait up to 60.0 µs" in text
    assert f"aten::op_{OPERATORS - 1} takes most device time: 4.00 ms (0.10 %)" in text
    assert "NVIDIA H100 · rank 0 of 2 · 3 steps: 100–102 · 1 partial step left out of these figures" in text
    assert "third <u>warning</u>" in plain(frame.locator(".notice").first.text_content())


def test_choices_are_kept_in_the_address(visit: Visit) -> None:
    frame = visit.open("profile")
    frame.get_by_role("combobox", name="Window").select_option(index=1)
    frame.get_by_text("3 steps: 5–7", exact=False).first.wait_for()
    frame.get_by_role("combobox", name="Rank").select_option(label="1")
    frame.get_by_text("rank 1 of 2", exact=False).first.wait_for()
    chart = card(frame, "Step breakdown").locator(".chart canvas").first
    box = resting_box(visit, chart)
    # The third of three bars: the last sixth of the plot, which begins right of the axis.
    chart.click(position={"x": 64 + (box["width"] - 80) * 5 / 6, "y": 150})
    frame.get_by_text("now step 7", exact=False).wait_for()
    visit.page.reload()
    frame.locator("h1").wait_for(timeout=30_000)
    frame.get_by_text("rank 1 of 2", exact=False).first.wait_for()
    frame.get_by_text("now step 7", exact=False).wait_for()
    assert visit.page.evaluate("location.hash").count("p.tb_aiperf.p") == 3  # panel, profile, pstep


def test_long_tables_draw_what_is_in_sight(visit: Visit) -> None:
    frame = visit.open("profile")
    table = card(frame, "Operators")
    names = table.locator("tbody tr > th")
    assert names.first.inner_text() == f"aten::op_{OPERATORS - 1}"
    assert table.locator("tbody tr").count() < 60
    assert table.locator("table").get_attribute("aria-rowcount") == str(OPERATORS + 1)
    table.get_by_role("button", name="Host self").click()
    table.get_by_role("button", name="Host self").click()
    visit.page.wait_for_timeout(200)
    assert names.first.inner_text() == "aten::op_0"
    table.locator(".rows-scroll").evaluate("(box) => (box.scrollTop = box.scrollHeight)")
    table.get_by_text(f"aten::op_{OPERATORS - 1}", exact=True).wait_for()
    table.get_by_role("searchbox").fill("_19[0-9]$")
    table.get_by_text("10 of 2,000 operators").wait_for()
    assert sorted(names.all_inner_texts()) == [f"aten::op_{k}" for k in range(190, 200)]
    table.get_by_role("button", name="Export").click()
    with visit.page.expect_download() as download:
        table.get_by_text("CSV", exact=False).click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert [(row["operator"], row["host_self_us"]) for row in rows] == [
        (f"aten::op_{k}", str(k)) for k in range(190, 200)
    ]


def test_timeline_draws_every_kind_and_zooms(visit: Visit) -> None:
    frame = open_timeline(visit)
    assert "30,003 events in 2 lanes" in plain(card(frame, "Timeline").inner_text())
    assert "12 further events left out, none longer than 90.0 ns" in plain(card(frame, "Timeline").inner_text())
    operator, kernel = "#2971e3", "#27a25e"
    visit.page.wait_for_timeout(300)
    whole = pixels(visit, kernel)
    assert whole > 500, "a fifth of the width, a row high"
    assert pixels(visit, operator) > 10_000
    canvas = frame.locator(".timeline-canvas")
    box = resting_box(visit, canvas)
    visit.page.mouse.move(box["x"] + box["width"] / 2 + 20, box["y"] + 60)
    visit.page.keyboard.down("Alt")
    for _ in range(4):
        visit.page.mouse.wheel(0, -100)
        visit.page.wait_for_timeout(60)
    visit.page.keyboard.up("Alt")
    visit.page.wait_for_timeout(300)
    assert pixels(visit, kernel) > 1.5 * whole, "the wheel zooms in about the pointer"
    canvas.focus()
    visit.page.keyboard.press("0")
    visit.page.wait_for_timeout(300)
    assert abs(pixels(visit, kernel) - whole) <= 40


def test_timeline_by_keys_search_and_launch(visit: Visit) -> None:
    frame = open_timeline(visit)
    timeline_card = card(frame, "Timeline")
    name = frame.locator(".event-name")
    frame.locator(".timeline-canvas").focus()
    visit.page.keyboard.press("ArrowRight")
    name.get_by_text("<i>forward</i>", exact=True).wait_for()
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("GEMM")
    timeline_card.get_by_text("1 event", exact=True).wait_for()
    visit.page.keyboard.press("Enter")
    name.get_by_text("gemm_kernel", exact=True).wait_for()
    facts = plain(frame.locator(".event-facts").inner_text())
    assert "2.00 ms" in facts
    assert "20.0 %" in facts
    assert "starts 3.00 ms after the call" in facts
    frame.get_by_role("button", name="cudaLaunchKernel").click()
    name.get_by_text("cudaLaunchKernel", exact=True).wait_for()
    frame.locator(".timeline-canvas").focus()
    visit.page.keyboard.press("l")
    name.get_by_text("gemm_kernel", exact=True).wait_for()
    said = [plain(text) for text in frame.locator("[aria-live]").all_inner_texts()]
    assert "Kernel gemm_kernel: 2.00 ms, 20.0 % of the step, at 5.000000 ms in GPU 0 stream 7" in said


def test_timeline_by_mouse(visit: Visit) -> None:
    frame = open_timeline(visit)
    canvas = frame.locator(".timeline-canvas")
    box = resting_box(visit, canvas)
    # The step with its margin of 2 % on both sides; the kernel's lane follows three rows of 16 pixels.
    at = lambda ms: box["width"] * (ms + 0.2) / 10.4  # noqa: E731
    kernel_y = 22 + 3 * 16 + 6 + 22 + 8
    visit.page.mouse.move(box["x"] + at(6), box["y"] + kernel_y)
    frame.locator(".timeline-tip").get_by_text("gemm_kernel").wait_for()
    visit.page.mouse.down()
    visit.page.mouse.up()
    frame.locator(".event-name").get_by_text("gemm_kernel", exact=True).wait_for()
    # Drag over 2 to 4 ms: the kernel is out of sight then, and the table holds half of the row's events.
    visit.page.mouse.move(box["x"] + at(2), box["y"] + 60)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + at(3), box["y"] + 60, steps=4)
    visit.page.mouse.move(box["x"] + at(4), box["y"] + 60, steps=4)
    visit.page.mouse.up()
    visit.page.wait_for_timeout(500)
    card(frame, "Timeline").get_by_role("button", name="Table").click()
    note = plain(card(frame, "Timeline").locator(".chart-note").first.inner_text())
    assert note.startswith("The longest 200 of 6,0")
    assert "gemm_kernel" not in card(frame, "Timeline").locator("table").inner_text()


def test_timeline_as_image_and_numbers(visit: Visit) -> None:
    frame = open_timeline(visit)
    timeline_card = card(frame, "Timeline")
    files = {}
    for choice in ("PNG", "SVG", "CSV"):
        timeline_card.get_by_role("button", name="Export").click()
        with visit.page.expect_download() as download:
            timeline_card.locator(".menu-item").filter(has_text=choice).click()
        files[choice] = Path(download.value.path()).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG")
    svg = files["SVG"].decode()
    ElementTree.fromstring(svg)
    assert "&lt;i&gt;forward&lt;/i&gt;" in svg
    assert "GPU 0 stream 7" in svg
    rows = list(csv.DictReader(io.StringIO(files["CSV"].decode())))
    assert len(rows) == 30_003
    assert (rows[0]["name"], rows[0]["duration_ns"]) == ("<i>forward</i>", "10000000")


def cells(row: Any) -> list[str]:
    """The texts of a table's row."""
    return [plain(text).strip() for text in row.locator("th, td").all_inner_texts()]


def test_two_windows_are_compared(visit: Visit) -> None:
    frame = visit.open("profile")
    answer = visit.server.api("profile-comparison", run=RUN, window=0, other_run=RUN, other_window=1)
    comparison, heading = card(frame, "Comparison"), card(frame, "Comparison").locator("h2")
    heading.get_by_text(answer["headline"], exact=True).wait_for()
    assert "longer" in answer["headline"]
    assert "Baseline: steps 5–7 (n = 2) · this window: steps 100–102 (n = 2)" in plain(comparison.inner_text())
    comparison.get_by_role("button", name="Table").click()
    # The mean of 10.0 and 10.2 ms against that of 7.0 and 7.2; resampled, each is off by 0.1 ms at most.
    assert [cells(row) for row in comparison.locator("tbody tr").all()] == [
        ["Step time", "7.10 ms", "10.1 ms", "+3.00 ms", "+2.80 ms to +3.20 ms", "clear"],
        ["Kernels", "4.00 ms", "4.00 ms", "0 s", "0 s to 0 s", "not distinguishable"],
        ["Data loading", "3.10 ms", "6.10 ms", "+3.00 ms", "+2.80 ms to +3.20 ms", "clear"],
    ]
    comparison.get_by_role("button", name="Table").click()
    comparison.get_by_role("button", name="Swap").click()
    heading.get_by_text("shorter", exact=False).wait_for()
    visit.page.reload()
    frame.locator("h1").wait_for(timeout=30_000)
    heading.get_by_text("shorter", exact=False).wait_for()
    assert "p.tb_aiperf.against=1%40" in visit.page.evaluate("location.hash")
    assert frame.get_by_role("combobox", name="Window").locator("option:checked").inner_text().startswith("steps 5–7")
    assert visit.complaints == []


def test_compared_operators_sort_and_filter(visit: Visit) -> None:
    frame = visit.open("profile")
    table = card(frame, "Operators compared")
    table.get_by_text("1 operator changed clearly", exact=False).wait_for()
    rows = table.locator("tbody tr")
    assert cells(rows.first) == ["aten::mm", "4", "400 µs", "1.00 ms", "+600 µs", "+600 µs to +600 µs", "clear"]
    assert cells(rows.last)[0] == "aten::<u>add</u>"
    table.get_by_role("button", name="Difference").click()
    assert cells(rows.first)[0] == "aten::<u>add</u>"
    assert cells(rows.first)[-1] == "not distinguishable"
    table.get_by_role("searchbox").fill("mm$")
    table.get_by_text("1 of 2 operators").wait_for()
    table.get_by_role("button", name="Export").click()
    with visit.page.expect_download() as download:
        table.get_by_text("CSV", exact=False).click()
    (row,) = csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8")))
    assert (row["operator"], row["calls_baseline"], row["calls_other"]) == ("aten::mm", "4", "4")
    assert (row["host_self_difference_us"], row["host_self_high_us"], row["host_self_clear"]) == ("600", "600", "true")
    assert (row["device_other_us"], row["device_difference_us"], row["device_clear"]) == ("5", "0", "false")


def test_comparison_by_keys_and_as_image(visit: Visit) -> None:
    frame = visit.open("profile")
    comparison = card(frame, "Comparison")
    comparison.scroll_into_view_if_needed()
    comparison.locator("canvas").wait_for(timeout=30_000)
    comparison.locator(".chart").focus()
    visit.page.keyboard.press("End")
    said = plain(comparison.locator("[aria-live]").inner_text())
    assert said == (
        "Data loading: baseline 3.10 ms, this window 6.10 ms, difference +3.00 ms, "
        "95 % interval +2.80 ms to +3.20 ms, clear"
    )
    assert "95 % interval" in frame.locator(".tip").first.inner_text()
    comparison.get_by_role("button", name="Export").click()
    with visit.page.expect_download() as download:
        comparison.locator(".menu-item").filter(has_text="SVG").click()
    svg = Path(download.value.path()).read_text(encoding="utf-8")
    texts = [plain("".join(node.itertext())) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"not distinguishable", "+3.00 ms", "4.00 ms → 4.00 ms"} <= set(texts)


def test_a_run_without_steps_leads_to_its_profile(visit: Visit) -> None:
    for panel in ("overview", "steps"):
        visit.page.goto(f"{visit.server.root}#tb_aiperf&p.tb_aiperf.panel={panel}")
        visit.page.reload()
        frame = visit.frame
        frame.get_by_text("This run holds no recorded steps; see Profile.").wait_for(timeout=30_000)
        assert frame.locator(".run-steps").first.inner_text() == "2\N{NO-BREAK SPACE}profiles"
        frame.get_by_role("button", name="Open its profile").click()
        card(frame, "Findings").wait_for()
    assert visit.complaints == []


def test_without_a_profile_it_says_how_to_get_one(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.unit.storage.series import noisy, write_run

    folder = tmp_path_factory.mktemp("steps") / "logdir"
    write_run(folder / "net", (attempt(), noisy(100)))
    with tensorboard(folder.parent / "tensorboard.log", "--logdir", str(folder)) as running:
        running.await_steps(100)
        page = browser.new_page()
        page.goto(f"{running.root}#tb_aiperf&p.tb_aiperf.panel=profile")
        frame = page.frame_locator("iframe[src*='name=tb_aiperf']")
        frame.get_by_text("aiperf analyze TRACE --logdir DIR").wait_for(timeout=30_000)
        snippets = frame.locator("pre").all_inner_texts()
        assert 'StepProfiler(steps="100:105")' in snippets[0]
        assert snippets[1].strip() == "aiperf profile RUN_DIR"
        page.close()
