from __future__ import annotations

import numpy as np
import pytest

from tb_aiperf.analysis.resources import QuantitySummary, sampling_interval_us, summarise
from tb_aiperf.records import ResourceTable


def test_samples_by_hand() -> None:
    one = ResourceTable(time_us=np.array([0, 10, 30]), values={"x": np.array([1.0, np.nan, 3.0])})
    two = ResourceTable(time_us=np.array([0, 10]), values={"x": np.array([2.0, 10.0]), "y": np.array([np.nan, np.nan])})
    assert sampling_interval_us([one, two]) == 10
    assert summarise([one, two]) == {
        # Four valid samples, 1 2 3 10: mean 4, median 2.5, the 95th percentile at rank 2.85.
        "x": QuantitySummary(4, 4.0, 2.5, pytest.approx(3 + 0.85 * 7), 10.0),
        "y": QuantitySummary(0, None, None, None, None),
    }


def test_one_sample_has_no_interval() -> None:
    assert sampling_interval_us([ResourceTable(time_us=np.array([5]), values={})]) is None
    assert summarise([]) == {}
