"""The nouns that every layer shares. Depends on numpy and msgspec only."""

from tb_aiperf.records.attempt import Attempt, new_attempt_id
from tb_aiperf.records.environment import Environment
from tb_aiperf.records.resource_table import QUANTITIES, Quantity, ResourceTable
from tb_aiperf.records.stages import (
    LOOPS,
    SEGMENT_KEYS,
    SEGMENTS,
    STAGE_KEYS,
    STAGES,
    STEP_ROW,
    Segment,
    Stage,
    describe_stages,
)
from tb_aiperf.records.step_table import StepTable
from tb_aiperf.records.trace_profile import (
    CategoryTimes,
    CollectivesProfile,
    CollectiveTimes,
    DeviceMemoryProfile,
    DeviceTimes,
    Estimate,
    Finding,
    IdleTimes,
    KernelTimes,
    MemoryHolder,
    MemoryProfile,
    OperatorTimes,
    StepProfile,
    TraceAnalysis,
    TraceProfile,
)

__all__ = [
    "LOOPS",
    "QUANTITIES",
    "SEGMENTS",
    "SEGMENT_KEYS",
    "STAGES",
    "STAGE_KEYS",
    "STEP_ROW",
    "Attempt",
    "CategoryTimes",
    "CollectiveTimes",
    "CollectivesProfile",
    "DeviceMemoryProfile",
    "DeviceTimes",
    "Environment",
    "Estimate",
    "Finding",
    "IdleTimes",
    "KernelTimes",
    "MemoryHolder",
    "MemoryProfile",
    "OperatorTimes",
    "Quantity",
    "ResourceTable",
    "Segment",
    "Stage",
    "StepProfile",
    "StepTable",
    "TraceAnalysis",
    "TraceProfile",
    "describe_stages",
    "new_attempt_id",
]
