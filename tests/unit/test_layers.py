"""Who may import whom. The rules keep a trace readable without torch and TensorBoard startable without it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Layer -> layers of ours that it may import, itself aside.
ALLOWED = {
    "records": set(),
    "trace": {"records"},
    "analysis": {"records"},
    "errors": {"records"},
    "capture": {"records"},
    "storage": {"records"},
    "callbacks": {"capture", "trace", "errors", "storage", "records"},
    "reports": {"analysis", "storage", "trace", "errors", "records"},
    "plugin": {"reports", "storage"},
    "cli": {"reports", "trace", "storage", "records", "terminal", "terminal_profile", "demo"},
    "demo": {"callbacks"},
    "terminal": {"records"},
    "terminal_profile": {"records", "terminal"},
    "version": set(),
    "window_reader": {"records", "trace", "storage"},
}

#: Outside package -> layers that may import it.
OUTSIDE = {
    "torch": {"capture", "callbacks", "demo"},
    "lightning": {"callbacks", "demo"},
    "pytorch_lightning": {"callbacks"},
    "tensorboard": {"storage", "plugin"},
    "sklearn": {"demo", "errors"},
}


def sources() -> Iterator[tuple[str, Path]]:
    """(layer, file) of every source file."""
    for path in sorted((ROOT / "tb_aiperf").rglob("*.py")):
        parts = path.relative_to(ROOT / "tb_aiperf").parts
        if parts != ("__init__.py",):
            yield parts[0].removesuffix(".py"), path
    for path in sorted((ROOT / "callbacks").rglob("*.py")):
        yield "callbacks", path


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything a file imports, at its top or inside a function; type-only imports too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def test_every_layer_has_its_rule() -> None:
    assert {layer for layer, _ in sources()} <= set(ALLOWED)


@pytest.mark.parametrize("layer", ALLOWED)
def test_imports_go_downward_only(layer: str) -> None:
    wrong = []
    for of, path in sources():
        if of != layer:
            continue
        for line, name in imported_modules(path):
            parts = name.split(".")
            where = f"{path.relative_to(ROOT)}:{line} imports {name}"
            if parts[0] == "tb_aiperf" and len(parts) > 1 and parts[1] not in ("__version__", "version"):
                if parts[1] != layer and parts[1] not in ALLOWED[layer]:
                    wrong.append(where)
            elif parts[0] in OUTSIDE and layer not in OUTSIDE[parts[0]]:
                wrong.append(where)
    assert wrong == []


def test_records_need_numpy_and_msgspec_only() -> None:
    outside = {
        name.split(".")[0] for layer, path in sources() if layer == "records" for _, name in imported_modules(path)
    }
    assert outside - set(sys.stdlib_module_names) <= {"numpy", "msgspec", "tb_aiperf"}


def test_the_loader_starts_light() -> None:
    """TensorBoard imports the entry point at start-up, unguarded: only what it has loaded itself anyway."""
    path = ROOT / "tb_aiperf" / "plugin" / "loader.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {
        name
        for node in tree.body
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert {name for name in top if name.split(".")[0] not in sys.stdlib_module_names} == {"tensorboard.plugins"}, top
