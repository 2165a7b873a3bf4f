"""Published traces of real machines, and oracles, beside the repository; without them, tests skip and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared"
TRACES = SHARED / "traces"
ORACLES = SHARED / "oracles"

needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason=f"no published traces at {TRACES}")
needs_oracles = pytest.mark.skipif(not ORACLES.is_dir(), reason=f"no oracles at {ORACLES}")

RESNET_V100 = [TRACES / "resnet50_v100" / f"num_workers_{workers}.pt.trace.json.gz" for workers in (0, 4)]
OWLV2_H100 = TRACES / "owlv2_h100" / "google_owlv2-large-patch14-ensemble__1016001.json.gz"
MI210 = TRACES / "gpu_only_mi210" / "gpu_only_trace.json.gz"
MI300 = TRACES / "resnet_mi300" / "resnet_act_checkpoint.json.gz"
NCCL_A100 = TRACES / "nccl_a100" / "nccl_data.json.gz"
NS_V100 = TRACES / "ns_v100" / "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"
DDP_A100 = [TRACES / "ddp_a100_128ranks" / f"sampled_rank-{rank}.json.gz" for rank in (0, 1)]
GLOO = TRACES / "cpu_only_gloo" / "rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"

ALL = sorted(TRACES.glob("*/*.json.gz"))
