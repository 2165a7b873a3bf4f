"""Lightning callbacks. Importing this package imports Lightning; nothing else of tb_aiperf does."""

from .perf_monitor import PerfMonitor

__all__ = ["PerfMonitor"]
