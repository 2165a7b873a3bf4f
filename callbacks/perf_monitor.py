"""`PerfMonitor`: times every step of a Lightning Trainer by stages, always, and writes them for TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tb_aiperf.capture.environment import collect_environment
from tb_aiperf.capture.resources import ResourceSampler
from tb_aiperf.capture.totals import StepTotals
from tb_aiperf.records import STAGES, StepTable
from tb_aiperf.storage.writer import ResourceSeriesWriter, StepSeriesWriter

from .measurement import Measurement
from .measuring_callback import MeasuringCallback, never_raise
from .messages import say, warn

_MANUAL_NOTE = "Manual optimisation: a backward pass that bypasses manual_backward is counted as forward."


class PerfMonitor(MeasuringCallback):
    """Times every step by exclusive stages and shows them in TensorBoard's tab "AI performance".

    Works for fit, validate, test and predict, in `lightning.pytorch` and `pytorch_lightning`. It never synchronises the
    device, and after its setup ranks do not communicate for it.

    Args:
        resources: also sample CPU, memory, disk, network and GPU.
        resource_interval: seconds between two samples.
        flush_every: seconds between two writes of the steps so far; a killed process loses no more than that.
        ranks: "all", one global rank or several.
        dirpath: run folder to write to. By default the TensorBoardLogger's own event file, else the first logger's
            folder, else `<default_root_dir>/tb_aiperf/version_<n>`. A fast_dev_run writes nothing unless this is set.
        enabled: False makes the callback inert. By default the environment variable TB_AIPERF decides (0 is off).
        verbose: say at the start where to look and at the end what was found.
    """

    _role = "PerfMonitor"
    _does = "measures"
    _running_state = ("_measurement", "_totals")

    def __init__(
        self,
        *,
        resources: bool = True,
        resource_interval: float = 1.0,
        flush_every: float = 10.0,
        ranks: str | int | Sequence[int] = "all",
        dirpath: str | os.PathLike[str] | None = None,
        enabled: bool | None = None,
        verbose: bool = True,
    ) -> None:
        if not (resource_interval > 0 and flush_every > 0):
            raise ValueError("PerfMonitor: resource_interval and flush_every are seconds above 0")
        super().__init__(ranks=ranks, dirpath=dirpath, enabled=enabled, verbose=verbose)
        self.resources = resources
        self.resource_interval = resource_interval
        self.flush_every = flush_every
        self._on_rows_failed = False
        self._loop = ""
        self._totals: StepTotals | None = None

    # ---- for users ----

    def on_rows(self, table: StepTable) -> None:
        """Override to see every batch of new rows (nanosecond ticks); called in a background thread."""

    def summary(self) -> dict[str, Any]:
        """Figures of the latest attempt so far: steps, median and p95 of the step time in seconds, shares by stage."""
        totals = self._totals
        median, p95 = (totals.quantile_ns(0.5), totals.quantile_ns(0.95)) if totals else (None, None)
        return {
            "loop": self._loop or None,
            "steps": totals.steps if totals else 0,
            "step_time_s": {
                "median": None if median is None else median / 1e9,
                "p95": None if p95 is None else p95 / 1e9,
            },
            "shares": totals.shares() if totals else {},
        }

    # ---- hooks ----

    @never_raise
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Have the steps so far written."""
        if (measurement := self._measurement_of(trainer)) is not None:
            measurement.recorder.ask_flush()

    @never_raise
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Finish the attempt, put everything back and say what was found."""
        if self._measurement_of(trainer) is not None:
            self._finish(interrupted=False)
            if self.verbose and trainer.global_rank == 0 and not self._off:
                self._say_summary()

    # ---- inside ----

    def _begin(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        self._loop = measurement.loop
        self._on_rows_failed = False
        self._totals = StepTotals(measurement.clock.stages)
        sink, attempt, recorder = measurement.sink, measurement.attempt, measurement.recorder
        recorder.flush_every = self.flush_every
        if sink is None or attempt is None:
            recorder.keep_rows(None, self._take_rows)
            return
        recorder.keep_rows(StepSeriesWriter(sink, attempt), self._take_rows)
        if self.resources:
            device = trainer.strategy.root_device
            ordinals = [device.index or 0] if device.type == "cuda" else None
            sampler = ResourceSampler(origin_ns=measurement.clock.origin_ns, gpu_ordinals=ordinals)
            recorder.keep_resources(ResourceSeriesWriter(sink, attempt), sampler, self.resource_interval)
        if self.verbose and trainer.global_rank == 0:
            measurement.say_where("timing every step")

    def _loop_starts(self, measurement: Measurement, trainer: Any, pl_module: Any) -> None:
        if measurement.loop == "train" and not pl_module.automatic_optimization:
            measurement.note(_MANUAL_NOTE)
        if measurement.sink is not None:
            measurement.report("environment", collect_environment(trainer, pl_module))

    def _take_rows(self, table: StepTable) -> None:
        if self._totals is not None:
            self._totals.update(table)
        if self._on_rows_failed:
            return
        try:
            self.on_rows(table)
        except Exception as error:  # noqa: BLE001  a user's code; the records go on
            self._on_rows_failed = True
            warn("on_rows failed and is not called again; recording goes on", error)

    def _say_summary(self) -> None:
        summary = self.summary()
        if not summary["steps"]:
            return
        titles = {stage.key: stage.title.lower() for stage in STAGES}
        shares = [f"{titles[key]} {share:.0%}" for key, share in list(summary["shares"].items())[:3]]
        times = summary["step_time_s"]
        say(
            f"{summary['steps']} steps ({summary['loop']}), median {times['median'] * 1e3:.3g} ms, "
            f"p95 {times['p95'] * 1e3:.3g} ms; of the step time: {', '.join(shares)}"
        )
