"""Lightning callbacks. Importing this package imports Lightning; nothing else of tb_aiperf does."""

from tb_aiperf.callbacks.perf_monitor import PerfMonitor

__all__ = ["PerfMonitor"]
