"""The virtual environment of the peers, made on first use in the user's cache: never the project's own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

#: The peers, and what they were written for: both leave their dependencies open at the top.
REQUIREMENTS = (
    "torch-tb-profiler==0.4.3",
    "HolisticTraceAnalysis==0.5.0",
    "ijson==3.4.0",  # the second of HTA's parsers
    "numpy==2.2.6",
    "pandas==2.2.3",
    "setuptools<81",  # pkg_resources, which torch-tb-profiler and the TensorBoard it came with need
    "tensorboard==2.20.0",
)
_INSTALLED = "installed"


class UnavailableError(RuntimeError):
    """The peers cannot be installed here; the text says why."""


def peers_python() -> Path:
    """The interpreter of the peers' environment, which is made if it is not there. Raises `UnavailableError`."""
    root = _cache() / _key()
    python = root / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (root / _INSTALLED).is_file() and python.is_file():
        return python
    print(f"installing {REQUIREMENTS[0]} and {REQUIREMENTS[1]} into {root}", file=sys.stderr)
    try:
        shutil.rmtree(root, ignore_errors=True)
        venv.create(root, with_pip=True, symlinks=os.name != "nt")
        _install(python)
        (root / _INSTALLED).touch()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(str(error)) from error
    return python


def _install(python: Path) -> None:
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *REQUIREMENTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise UnavailableError(lines[-1] if lines else f"pip ended with status {done.returncode}")


def _cache() -> Path:
    named = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return Path(named or Path.home() / ".cache") / "tb_aiperf" / "trace_peers"


def _key() -> str:
    """Another interpreter or other requirements get an environment of their own."""
    text = "\n".join([sys.version, sys.base_prefix, *REQUIREMENTS])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
