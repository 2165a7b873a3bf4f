"""Speed and memory of reading a trace: ``python -m tests.benchmarks.trace_speed [MEGABYTES | TRACE_FILE]``.

Without a file, one is synthesised in the form in which torch.profiler writes traces: a training step of operators two
deep with shapes, their launches, kernels and flows, Python frames and memory events. The file is analysed in a fresh
process, whose peak resident memory includes the interpreter and numpy.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

_EVENTS = """  {
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(124): forward", "pid": 77, "tid": 77,
    "ts": %(a).3f, "dur": 95.250,
    "args": {
      "Python parent id": 4, "Python id": %(id)d, "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 77, "tid": 77,
    "ts": %(b).3f, "dur": 80.125,
    "args": {
      "External id": %(id)d,"Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["float", "float", "float"], "Input Strides": [[%(width)d, 1], [%(width)d, 1], [1]], "Input Dims": [[128, %(width)d], [%(width)d, %(width)d], [%(width)d]], "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 77, "tid": 77,
    "ts": %(c).3f, "dur": 60.500,
    "args": {
      "External id": %(id)d,"Record function id": 0, "Sequence number": %(id)d, "Fwd thread id": 0, "Input type": ["float", "float", "float"], "Input Dims": [[%(width)d], [128, %(width)d], [%(width)d, %(width)d]], "Ev Idx": %(id)d
    }
  },
  {
    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 77, "tid": 77,
    "ts": %(c).3f,
    "args": {
      "Total Reserved": 4194304, "Total Allocated": %(bytes)d, "Bytes": 65536, "Addr": %(bytes)d, "Device Id": 0, "Device Type": 1, "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77,
    "ts": %(d).3f, "dur": 7.375,
    "args": {
      "External id": %(id)d, "cbid": 211, "correlation": %(id)d
    }
  },
  {
    "ph": "s", "id": %(id)d, "pid": 77, "tid": 77, "ts": %(d).3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_%(width)dx64_16x6_tn_align4>(cutlass_80_tensorop_s1688gemm_%(width)dx64_16x6_tn_align4::Params)", "pid": 0, "tid": 7,
    "ts": %(e).3f, "dur": 70.000,
    "args": {
      "External id": %(id)d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %(id)d, "registers per thread": 90, "shared memory": 49152, "blocks per SM": 0.592593, "warps per SM": 2.370370, "grid": [64, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 4
    }
  },
  {
    "ph": "f", "id": %(id)d, "pid": 0, "tid": 7, "ts": %(e).3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""  # noqa: E501
_MARK = """  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 77, "tid": 77,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": 1, "Ev Idx": 0
    }
  },
"""
_CALLS_PER_STEP = 2000
_CALL_US = 100.0
_START_US = 4203669604595.407


def synthesise(file: TextIO, size: int) -> int:
    """Write a trace of about `size` bytes; returns the number of its events."""
    file.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "A100"}],\n  "traceEvents": [\n')
    call, step = 0, 0
    while file.tell() < size:
        start = _START_US + call * _CALL_US
        file.write(_MARK % (step, start, _CALLS_PER_STEP * _CALL_US))
        step += 1
        for _ in range(_CALLS_PER_STEP):
            start = _START_US + call * _CALL_US
            moments = dict(zip("abcde", (start + offset for offset in (0, 2, 10, 30, 55)), strict=True))
            call += 1
            file.write(_EVENTS % {**moments, "id": call, "width": 64 << call % 5, "bytes": call % 64 << 16})
    file.write(
        '  {"name": "process_name", "ph": "M", "ts": 0, "pid": 77, "tid": 0, "args": {"name": "python"}}\n  ],\n'
    )
    file.write('  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000\n}\n')
    return 8 * call + step + 1


def measure(path: str) -> dict[str, float]:
    """Seconds and peak resident bytes of analysing a file, in this process."""
    from tb_aiperf.trace import analyze

    before = time.perf_counter()
    analyze([path])
    seconds = time.perf_counter() - before
    return {"seconds": seconds, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def report(path: Path, json_bytes: int, events: int | None) -> None:
    """Analyse a file in a fresh process and print the figures as one line of JSON."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--measure", str(path)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    megabytes = json_bytes / 1e6
    figures = {
        "json_megabytes": round(megabytes, 1),
        "events": events,
        "seconds": round(found["seconds"], 2),
        "megabytes_per_second": round(megabytes / found["seconds"]),
        "peak_rss_megabytes": round(found["peak_rss_bytes"] / 1e6),
        "peak_rss_per_json_byte": round(found["peak_rss_bytes"] / json_bytes, 2),
    }
    print(json.dumps(figures))


def main(arguments: list[str]) -> None:
    """Measure a given file, or one that is made for it."""
    if arguments[:1] == ["--measure"]:
        print(json.dumps(measure(arguments[1])))
    elif arguments and not arguments[0].isdigit():
        path = Path(arguments[0])
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            report(path, sum(len(block) for block in iter(lambda: file.read(1 << 20), b"")), None)
    else:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "trace.json"
            with path.open("w") as file:
                events = synthesise(file, int(arguments[0] if arguments else 200) * 1_000_000)
            report(path, path.stat().st_size, events)


if __name__ == "__main__":
    main(sys.argv[1:])
