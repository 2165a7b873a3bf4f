from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.trace import profile_trace
from tb_aiperf.trace.launches import find_launches
from tb_aiperf.trace.memory import CURVE_POINTS, DeviceMemory, _Curve, find_memory
from tb_aiperf.trace.operators import find_operators
from tb_aiperf.trace.table import Trace
from tests.unit.trace.events import Event, read, span


def memory(ts: float, address: int, size: int, **totals: int) -> Event:
    arguments: dict[str, Any] = {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size}
    if totals:
        arguments |= {"Total Allocated": totals["allocated"], "Total Reserved": totals["reserved"]}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": arguments}


def find(trace: Trace) -> list[DeviceMemory]:
    return find_memory(trace, find_operators(trace, find_launches(trace)))


def test_peak_and_holders_by_hand(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            span("aten::mm", 0, 50),
            span("aten::empty", 10, 10),
            memory(12, 100, 400, allocated=1400, reserved=2000),
            memory(30, 200, 100, allocated=1500, reserved=2000),
            memory(40, 200, -100, allocated=1400, reserved=2000),
            memory(45, 200, 300, allocated=1700, reserved=4000),
            memory(60, 300, 50, allocated=1750, reserved=4000),
            memory(70, 100, -400, allocated=1350, reserved=4000),
            memory(80, 999, -350, allocated=1000, reserved=4000),
        ],
    )
    (device,) = find(trace)
    assert not device.relative
    assert (device.peak_allocated, device.peak_reserved, device.peak_time) == (1750, 4000, 60_000)
    names = [trace.names[index] if index >= 0 else None for index in device.holder]
    assert dict(zip(names, device.held.tolist(), strict=True)) == {"aten::empty": 400, "aten::mm": 300, None: 50}
    assert device.held.tolist() == [400, 300, 50]
    assert device.allocated.tolist() == [1400, 1500, 1400, 1700, 1750, 1350, 1000]


def test_without_totals_the_curve_counts_from_the_start(tmp_path: Path) -> None:
    trace = read(tmp_path, [span("aten::mm", 0, 50), memory(1, 5, 100), memory(2, 6, 50), memory(3, 5, -100)])
    (device,) = find(trace)
    assert device.relative
    assert device.reserved is None
    assert device.peak_reserved is None
    assert device.allocated.tolist() == [100, 150, 50]
    assert device.peak_allocated == 150


def test_devices_apart_and_none_without_events(tmp_path: Path) -> None:
    host = memory(1, 5, 100)
    host["args"] |= {"Device Type": 0, "Device Id": -1}
    found = find(read(tmp_path, [span("aten::mm", 0, 50), host, memory(2, 5, 7)]))
    assert [(device.device_type, device.device, device.peak_allocated) for device in found] == [(0, -1, 100), (1, 0, 7)]
    assert find(read(tmp_path, [span("aten::mm", 0, 50)])) == []


def test_of_very_many_devices_those_with_most_events_are_kept(tmp_path: Path) -> None:
    """A damaged file: 70 numbers of devices, of which the last two have two events each."""
    events = [memory(index, 5, 100) for index in range(72)]
    for index, event in enumerate(events):
        event["args"] |= {"Device Id": 68 + index % 2 if index >= 68 else index}
    found = profile_trace(read(tmp_path, [span("aten::mm", 0, 50), *events]))
    assert found.memory is not None
    assert [device.device for device in found.memory.devices] == [f"cuda:{index}" for index in (*range(62), 68, 69)]
    assert [warning for warning in found.warnings if "memory of" in warning] == [
        "memory of 6 devices with few events is left out"
    ]


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.integers(1, 60))
def test_thinning_keeps_the_peak_however_the_events_come(sizes: list[int], batch: int) -> None:
    values = np.array(sizes * 60, np.int64)
    place = np.arange(len(values))
    whole, parts = _Curve(len(values)), _Curve(len(values))
    whole.add(values, place)
    for start in range(0, len(values), len(values) // batch or 1):
        part = slice(start, start + (len(values) // batch or 1))
        parts.add(values[part], place[part])
    highest, rows = whole.points()
    assert (values[rows] == highest).all()
    assert len(rows) == min(len(values), CURVE_POINTS)
    assert highest.max() == values.max()
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(parts.points(), whole.points())
