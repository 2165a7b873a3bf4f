"""What the wheel carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


#: The suffix of compiled modules, and a compiler that makes them.
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
COMPILER = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])


def build(folder: Path, **environment: str) -> zipfile.ZipFile:
    if not (ROOT / "tb_aiperf" / "static" / "index.js").is_file():
        pytest.skip("the panels are not built")
    # From a copy: setuptools leaves a build folder, and would take what an earlier one left.
    source = folder / "source"
    source.mkdir()
    for name in ("tb_aiperf", "callbacks"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(source)], check=True, cwd=folder, env=os.environ | environment)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build(tmp_path_factory.mktemp("wheel"))


def read(wheel: zipfile.ZipFile, ending: str) -> str:
    (name,) = [name for name in wheel.namelist() if name.endswith(ending)]
    return wheel.read(name).decode()


def test_panels_and_licences_of_their_parts_are_inside(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {"tb_aiperf/static/index.js", "tb_aiperf/static/index.css", "tb_aiperf/static/LICENSES.txt"} <= set(names)
    assert [name for name in names if name.startswith("tb_aiperf/static/chunks/") and name.endswith(".js")]
    assert "tb_aiperf/py.typed" in names


def test_every_module_is_inside_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packaged = {name for name in wheel.namelist() if name.endswith(".py")}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "tb_aiperf").rglob("*.py")}
    sources |= {f"tb_aiperf/{path.relative_to(ROOT)}" for path in (ROOT / "callbacks").rglob("*.py")}
    assert packaged == sources


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_the_scanner_is_inside_without_its_sources(wheel: zipfile.ZipFile) -> None:
    native = {
        name for name in wheel.namelist() if name.startswith(("tb_aiperf/trace/_native", "tb_aiperf/trace/native"))
    }
    assert native == {f"tb_aiperf/trace/_native{SUFFIX}", "tb_aiperf/trace/_native.pyi"}
    assert not str(wheel.filename).endswith("-any.whl"), "it is for this platform alone"


@pytest.mark.skipif(os.name == "nt", reason="MSVC is found without CC")
def test_without_a_compiler_there_is_a_wheel_all_the_same(tmp_path: Path, wheel: zipfile.ZipFile) -> None:
    without = set(build(tmp_path, CC=str(tmp_path / "no-compiler")).namelist())
    assert without == set(wheel.namelist()) - {f"tb_aiperf/trace/_native{SUFFIX}"}


def test_entry_points_and_light_dependencies(wheel: zipfile.ZipFile) -> None:
    entry_points = read(wheel, "entry_points.txt")
    assert "aiperf = tb_aiperf.cli:main" in entry_points
    assert "tb_aiperf = tb_aiperf.plugin.loader:Loader" in entry_points
    required = [line for line in read(wheel, "METADATA").splitlines() if line.startswith("Requires-Dist")]
    always = {line.split()[1].split(">")[0] for line in required if "extra ==" not in line}
    assert always == {"isal", "numpy", "msgspec", "psutil", "rich", "tensorboard", "typer"}
