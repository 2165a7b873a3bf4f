"""Speed and memory of reading traces: ``python -m tests.benchmarks.trace_speed [--shuffled] [MEGABYTES | FILE]...``.

Without a file, one is synthesised in the form in which torch.profiler writes traces: a training step of operators two
deep with shapes, their launches, kernels and flows, Python frames and memory events; with ``--shuffled`` also one whose
events are in no order of time. Each file is analysed in a fresh process, whose peak resident memory includes the
interpreter and numpy. Sizes that show how memory is bounded: 200, 1500, 3000 (the folder for temporary files must have
room for the file and about half as much).
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from math import gcd
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


def synthesise(file: TextIO, size: int, *, shuffled: bool = False) -> int:
    """Write a trace of about `size` bytes; returns the number of its events.

    shuffled: calls and marks in an order that has nothing to do with their time.
    """
    file.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "A100"}],\n  "traceEvents": [\n')
    count = max(1, size // len(_call(0)))
    # A step far from 1 that shares no factor with the count reaches every place once.
    stride = next(step for step in range(count // 3 + 1, count + 2) if gcd(step, count) == 1) if shuffled else 1
    for number in range(count):
        call = number * stride % count
        if call % _CALLS_PER_STEP == 0:
            file.write(_MARK % (call // _CALLS_PER_STEP, _START_US + call * _CALL_US, _CALLS_PER_STEP * _CALL_US))
        file.write(_call(call))
    file.write(
        '  {"name": "process_name", "ph": "M", "ts": 0, "pid": 77, "tid": 0, "args": {"name": "python"}}\n  ],\n'
    )
    file.write('  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000\n}\n')
    return 8 * count + -(-count // _CALLS_PER_STEP) + 1


def _call(number: int) -> str:
    """The events of one call of a module."""
    start = _START_US + number * _CALL_US
    moments = dict(zip("abcde", (start + offset for offset in (0, 2, 10, 30, 55)), strict=True))
    return _EVENTS % {**moments, "id": number + 1, "width": 64 << number % 5, "bytes": number % 64 << 16}


def measure(path: str) -> dict[str, float]:
    """Seconds and peak resident bytes of analysing a file, in this process."""
    from tb_aiperf.trace import analyze

    before = time.perf_counter()
    analyze([path])
    seconds = time.perf_counter() - before
    return {"seconds": seconds, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def report(path: Path, json_bytes: int, **about: object) -> None:
    """Analyse a file in a fresh process and print the figures as one line of JSON."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--measure", str(path)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    megabytes = json_bytes / 1e6
    figures = {
        "json_megabytes": round(megabytes, 1),
        **about,
        "seconds": round(found["seconds"], 2),
        "megabytes_per_second": round(megabytes / found["seconds"]),
        "peak_rss_megabytes": round(found["peak_rss_bytes"] / 1e6),
        "peak_rss_per_json_byte": round(found["peak_rss_bytes"] / json_bytes, 2),
    }
    print(json.dumps(figures), flush=True)


def report_synthetic(megabytes: int, *, shuffled: bool) -> None:
    """Make a file and report on it."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trace.json"
        with path.open("w") as file:
            events = synthesise(file, megabytes * 1_000_000, shuffled=shuffled)
        report(path, path.stat().st_size, events=events, shuffled=shuffled)


def report_file(path: Path) -> None:
    """Report on a given file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        size = sum(len(block) for block in iter(lambda: file.read(1 << 20), b""))
    report(path, size)


def main(arguments: list[str]) -> None:
    """Measure given files, or some that are made for it."""
    if arguments[:1] == ["--measure"]:
        print(json.dumps(measure(arguments[1])))
        return
    shuffled = "--shuffled" in arguments
    for argument in [argument for argument in arguments if argument != "--shuffled"] or ["200"]:
        if not argument.isdigit():
            report_file(Path(argument))
            continue
        report_synthetic(int(argument), shuffled=False)
        if shuffled:
            report_synthetic(int(argument), shuffled=True)


if __name__ == "__main__":
    main(sys.argv[1:])
