from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.plugins import base_plugin

from tb_aiperf.plugin.loader import PLUGIN_NAME, Loader
from tb_aiperf.storage import tags


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {PLUGIN_NAME: 1}),
        (None, {PLUGIN_NAME: 1}),
        ({"scalars": 5}, {"scalars": 5, PLUGIN_NAME: 1}),
        ({PLUGIN_NAME: 7}, {PLUGIN_NAME: 7}),
    ],
)
def test_the_last_sample_is_kept_unless_the_user_chose(given: dict | None, expected: dict) -> None:
    flags = argparse.Namespace(samples_per_plugin=given)
    Loader().fix_flags(flags)
    assert flags.samples_per_plugin == expected


def test_strange_flags_do_not_stop_tensorboard(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Loader().fix_flags(argparse.Namespace(samples_per_plugin=5))
    assert "cannot set samples_per_plugin" in caplog.text
    flags = argparse.Namespace()
    Loader().fix_flags(flags)
    assert flags.samples_per_plugin == {PLUGIN_NAME: 1}


def test_no_flags_are_added() -> None:
    parser = argparse.ArgumentParser()
    before = parser.format_help()
    Loader().define_flags(parser)
    assert parser.format_help() == before


def test_loading() -> None:
    plugin = Loader().load(base_plugin.TBContext(data_provider=object()))
    assert plugin.plugin_name == PLUGIN_NAME == tags.PLUGIN_NAME
    assert plugin.data_plugin_names() == (PLUGIN_NAME,)


def test_a_failure_to_load_leaves_the_plugin_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tb_aiperf.plugin.plugin", None)
    with caplog.at_level(logging.WARNING):
        assert Loader().load(base_plugin.TBContext()) is None
    assert "the plugin cannot be loaded and is left out" in caplog.text


def test_importing_the_entry_point_is_light() -> None:
    program = (
        "import sys; from tensorboard.plugins import base_plugin; before = set(sys.modules);"
        "from tb_aiperf.plugin.loader import Loader; Loader();"
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('tb_aiperf')"
        " and m.split('.')[0] not in sys.stdlib_module_names))"
    )
    root = Path(__file__).parents[3]
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert result.stdout.strip() == "[]"


def test_the_plugin_does_not_import_torch() -> None:
    modules = "tb_aiperf.plugin.plugin, tb_aiperf.cli, tb_aiperf.storage.directory, tb_aiperf.storage.writer"
    program = f"import sys, {modules}; print('torch' in sys.modules)"
    root = Path(__file__).parents[3]
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert result.stdout.strip() == "False"
