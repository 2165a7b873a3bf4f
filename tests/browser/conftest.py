"""A logged run, a TensorBoard that serves it and a Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tensorboard_process import TensorBoard, tensorboard
from tests.unit.storage.series import attempt, noisy, write_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STATIC = Path(__file__).parents[2] / "tb_aiperf" / "static" / "index.js"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser these tests are skipped, but never in CI."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.browser)
    missing = "Chromium is not installed" if CHROMIUM is None else "the panels are not built" * (not STATIC.is_file())
    if missing and os.environ.get("CI") != "true":
        for item in here:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 3,000 steps with known figures, and a folder that is no run of ours."""
    root = tmp_path_factory.mktemp("logs") / "logdir"
    for seed, name in enumerate(("slow loader", "<b>healthy<b>")):
        write_run(root / "net" / name, (attempt(), noisy(3000, seed=seed)))
    return root


@pytest.fixture(scope="session")
def server(logdir: Path) -> Iterator[TensorBoard]:
    with tensorboard(logdir.parent / "tensorboard.log", "--logdir", str(logdir)) as running:
        running.await_steps(3000)
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
