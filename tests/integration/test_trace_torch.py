"""Traces that today's torch.profiler writes here, on the CPU."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from tb_aiperf.records import TraceProfile
from tb_aiperf.trace import analyze, read_trace
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.modules import summarise_modules

torch = pytest.importorskip("torch")

STEPS = 4
LOADING_S = 0.02


class SlowDataset(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return STEPS + 1

    def __getitem__(self, index: int) -> object:
        time.sleep(LOADING_S)
        return torch.ones(16) * index


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("torch") / "trace.json"
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        for batch in torch.utils.data.DataLoader(SlowDataset(), batch_size=1):
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    return path


@pytest.fixture(scope="module")
def profile(trace_file: Path) -> TraceProfile:
    return analyze([trace_file]).traces[0]


def test_one_step_for_each_that_was_recorded(profile: TraceProfile) -> None:
    assert [step.step for step in profile.steps] == list(range(1, STEPS + 1))
    assert profile.device == "cpu"
    assert not any("unknown category" in warning or "JSON" in warning for warning in profile.warnings)


def test_the_slow_loader_is_the_top_finding(profile: TraceProfile) -> None:
    for step in profile.steps[:-1]:
        assert step.categories_us.data_loading >= 1e6 * LOADING_S
    assert profile.findings[0].cause == "data_loading"


def test_operators_and_memory(profile: TraceProfile) -> None:
    operators = {operator.name: operator for operator in profile.operators}
    assert operators["aten::linear"].calls == 2 * STEPS
    assert operators["aten::addmm"].calls == 2 * STEPS
    assert operators["aten::linear"].host_total_us >= operators["aten::addmm"].host_total_us
    assert not any(name.startswith(("ProfilerStep", "enumerate(")) for name in operators)
    assert profile.memory is not None
    assert profile.memory.devices[0].device == "cpu"


def test_modules(trace_file: Path) -> None:
    trace = read_trace(trace_file)
    modules = summarise_modules(trace, find_launches(trace))
    assert modules is not None
    calls = dict(zip([trace.names[index] for index in modules.name], modules.calls.tolist(), strict=True))
    assert calls["nn.Module: Sequential_0"] == STEPS
    assert calls["nn.Module: Linear_1"] == STEPS
    names = [trace.names[index] for index in modules.name]
    assert names[modules.parent[names.index("nn.Module: Linear_0")]] == "nn.Module: Sequential_0"


def test_a_gzip_file_under_any_name_is_the_same(trace_file: Path, profile: TraceProfile, tmp_path: Path) -> None:
    packed = tmp_path / "packed.json"
    packed.write_bytes(gzip.compress(trace_file.read_bytes()))
    assert analyze([packed]).traces[0].steps == profile.steps
