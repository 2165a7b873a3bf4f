"""Lightning callbacks. Importing this package imports Lightning; nothing else of tb_aiperf does."""

from .perf_monitor import PerfMonitor
from .step_profiler import StepProfiler
from .window_keeper import TraceInfo

__all__ = ["PerfMonitor", "StepProfiler", "TraceInfo"]
