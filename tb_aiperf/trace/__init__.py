"""torch.profiler trace files as records: `analyze` reads files, `read_trace` gives the columns of one."""

from tb_aiperf.trace.analysis import analyze
from tb_aiperf.trace.errors import TraceError
from tb_aiperf.trace.paths import find_traces
from tb_aiperf.trace.profile import profile_trace
from tb_aiperf.trace.reader import read_trace
from tb_aiperf.trace.table import Trace

__all__ = ["Trace", "TraceError", "analyze", "find_traces", "profile_trace", "read_trace"]
