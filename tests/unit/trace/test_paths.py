"""Files, folders and patterns on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.paths import find_traces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pt.trace.json", "a.pt.trace.json.gz", "settings.json", "deep/c.pt.trace.json", "plain/x.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    return tmp_path


def names(found: list[str], folder: Path) -> list[str]:
    return [str(Path(path).relative_to(folder)) for path in found]


def test_a_folder_stands_for_the_traces_below_it(folder: Path) -> None:
    found = find_traces([str(folder)])
    assert names(found, folder) == ["a.pt.trace.json.gz", "b.pt.trace.json", "deep/c.pt.trace.json"]


def test_a_folder_without_profiler_names_stands_for_its_json(folder: Path) -> None:
    assert names(find_traces([str(folder / "plain")]), folder) == ["plain/x.json"]


def test_patterns_and_files_each_once(folder: Path) -> None:
    given = [str(folder / "b.pt.trace.json"), str(folder / "**" / "*.trace.json")]
    assert names(find_traces(given), folder) == ["b.pt.trace.json", "deep/c.pt.trace.json"]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "rank[0].json"
    path.write_text("{}")
    assert find_traces([str(path)]) == [str(path)]


def test_nothing_found_names_the_argument(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no trace files"):
        find_traces([str(tmp_path)])
    with pytest.raises(TraceError, match="no trace files"):
        find_traces([str(tmp_path / "*.json")])
