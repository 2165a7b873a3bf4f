"""`profile_trace`: a `Trace` as a `TraceProfile`; `TraceReading`: that, and what else is kept of a trace."""

from __future__ import annotations

from dataclasses import replace

from tb_aiperf.records import CollectiveCalls, MemoryProfile, TraceProfile
from tb_aiperf.records.step_timeline import StepTimeline
from tb_aiperf.trace.as_records import (
    kernel_records,
    memory_record,
    microseconds,
    module_records,
    operator_records,
    operator_shape_records,
    operator_step_records,
    step_records,
    timeline_record,
)
from tb_aiperf.trace.call_sites import CallSites
from tb_aiperf.trace.categories import CategoryTotals, find_coverage
from tb_aiperf.trace.checks import Checks
from tb_aiperf.trace.collectives import CollectiveFinder, as_calls
from tb_aiperf.trace.device_timeline import DeviceTimelineTotals, IdleTotals
from tb_aiperf.trace.device_work import DeviceWork
from tb_aiperf.trace.evidence import EvidenceFinder
from tb_aiperf.trace.findings import find_findings
from tb_aiperf.trace.kernels import KernelTotals
from tb_aiperf.trace.limits import MAX_ROWS, MAX_STEP_ROWS, MAX_STEP_VALUES, keep_largest
from tb_aiperf.trace.memory import MemoryTotals
from tb_aiperf.trace.modules import ModuleTotals
from tb_aiperf.trace.operations import Operations
from tb_aiperf.trace.operator_totals import OperatorTotals
from tb_aiperf.trace.overhead import OverheadTotal
from tb_aiperf.trace.partial_steps import PartialSteps
from tb_aiperf.trace.segments import TraceSource, WholeTrace
from tb_aiperf.trace.table import Trace
from tb_aiperf.trace.timeline import Timelines


def profile_trace(trace: Trace) -> TraceProfile:
    """Everything that a trace tells, as a record."""
    return TraceReading(WholeTrace(trace)).profile()


class TraceReading:
    """The analysis of a trace: each part of it has seen all segments. timelines: whether events are kept, too."""

    def __init__(self, source: TraceSource, *, timelines: bool = False) -> None:
        self._source = source
        self._partial = PartialSteps(source.steps)
        self._categories = CategoryTotals(source.steps)
        self._idle = IdleTotals(source.steps)
        self._timeline = DeviceTimelineTotals()
        self._checks = Checks(source.trace)
        self._overhead = OverheadTotal(source.steps)
        self._operators = OperatorTotals(source.steps)
        self._kernels = KernelTotals()
        self._modules = ModuleTotals()
        self._memory = MemoryTotals(source.memory)
        self._collectives = CollectiveFinder()
        self._operations = Operations()
        self._device_work = DeviceWork()
        self._call_sites = CallSites()
        self._evidence = EvidenceFinder(source.steps)
        self._timelines = Timelines(source.trace, source.steps) if timelines else None
        covering = (self._categories, self._idle, self._timeline, self._checks, self._operations)
        others = (
            self._partial,
            self._overhead,
            self._operators,
            self._kernels,
            self._modules,
            self._memory,
            self._collectives,
            self._device_work,
            self._call_sites,
            self._evidence,
        )
        for segment in source.segments():
            coverage = find_coverage(segment.trace)
            for part in covering:
                part.add(segment, coverage)
            for other in others:
                other.add(segment)
            if self._timelines is not None:
                self._timelines.add(segment)
            # Else it would still be there while the next is made.
            del segment, coverage

    def profile(self) -> TraceProfile:
        """What the trace tells."""
        trace, steps, origin = self._source.trace, self._partial.steps(), self._source.origin
        timeline, modules, overhead = self._timeline.result(), self._modules.table(), self._overhead.result()
        by_name, by_shape, idle = self._operators.by_name(), self._operators.by_shape(), self._idle.result()
        operators, kernels = operator_records(trace, by_name), kernel_records(trace, self._kernels.table())
        shapes = None if by_shape is None else operator_shape_records(trace, by_shape)
        shapes, fewer_shapes = (
            (None, [])
            if shapes is None
            else keep_largest(shapes, lambda row: row.host_self_us + row.device_us, "operators by shape", MAX_ROWS)
        )
        by_step = self._operators.by_step(min(MAX_STEP_ROWS, MAX_STEP_VALUES // max(1, len(steps))))
        call_sites, fewer_sites = self._call_sites.result(by_name)
        device_work, less_work = self._device_work.result()
        operations = self._operations.result()
        evidence = replace(
            self._evidence.result(steps),
            operator_times=operators,
            kernel_times=kernels,
            device_work=device_work,
            operations=operations,
        )
        memory = [memory_record(trace, device, origin) for device in self._memory.devices()]
        return TraceProfile(
            path=trace.path,
            rank=trace.rank,
            world_size=trace.world_size,
            device=self._checks.device_name(),
            marked=steps.marked,
            warnings=[
                *trace.warnings,
                *steps.warnings,
                *self._checks.warnings(),
                *self._collectives.warnings(),
                *self._memory.warnings(),
                *fewer_shapes,
                *fewer_sites,
                *less_work,
            ],
            steps=step_records(steps, self._categories.times, idle, origin),
            device_timeline_us=None if timeline is None else timeline_record(timeline),
            operators=operators,
            operators_by_shape=shapes,
            operators_by_step=None if by_step is None else operator_step_records(trace, by_step),
            call_sites=call_sites,
            modules=None if modules is None else module_records(trace, modules),
            kernels=kernels,
            device_work=device_work,
            unattributed_device_us=microseconds(self._operators.unattributed) if self._checks.has_device_work else None,
            memory=MemoryProfile(devices=memory) if memory else None,
            collectives=operations,
            profiler_overhead_us=None if overhead is None else microseconds(overhead),
            findings=find_findings(steps, self._categories.times, idle, evidence),
        )

    def calls(self) -> CollectiveCalls | None:
        """The collectives, to be matched with other ranks'; None without any."""
        return as_calls(self._collectives.collectives(self._source.trace))

    def timelines(self) -> tuple[StepTimeline, ...]:
        """The events of each step, in order; empty if they were not to be kept."""
        return () if self._timelines is None else self._timelines.result()
