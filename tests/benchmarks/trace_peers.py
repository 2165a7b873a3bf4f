"""`aiperf analyze` against torch-tb-profiler 0.4.3 and HolisticTraceAnalysis (HTA) 0.5: the same traces in one run.

``python -m tests.benchmarks.trace_peers [MEGABYTES | FILE...]``. Without files, three traces of about 200 MB are
made (`peers.inputs`): a training of a small transformer with shapes and memory; the same with Python stacks, both
on a GPU if there is one; and an A100's published trace over and over, where the published traces lie beside the
project. The peers go into an environment of their own on first use (`peers.environment`). Where they cannot be
installed, `aiperf` alone is measured. POSIX only.

Measured per tool and file: the time of a process from its start to its exit; the time of the work alone, without
the start of the interpreter and imports; and the greatest resident memory of the process with its children,
interpreter included. The tools take turns, in opposite order every other round, and find the files in the system's
cache. Shown are medians over the rounds with the least and the greatest, and the medians of each round's factors.

Is it fair? It is the wait for a first answer from a file, not equal work:

aiperf
    The command. It gives steps by category, idle time by cause, the device's timeline, operators (also by shape and
    call site), kernels, modules, memory and findings, computes in whole nanoseconds, repairs damage, and prints a
    report. It keeps no table of events that one could query afterwards.
torch-tb-profiler
    What its TensorBoard plugin does with a file before it can show it: parse, build the operator tree, break steps
    down, make the contents of the overview, operator, kernel, memory and module views. Left out, which favours it:
    the process per file, and pickling the result back to TensorBoard. It also makes stacks by operator; its tree
    serves comparisons of runs. On traces of today's PyTorch it finds no data loading and no device time of
    operators.
HTA (json), HTA (ijson)
    Loading into a table of pandas, nearly all of its time, then the temporal, kernel and idle breakdowns, not
    drawn; with the default parser and with the one its authors advise for large files. The table then serves
    further queries. Nothing is said of operators, memory or single steps; instant events are dropped, and with
    ijson Python frames as well. Without device work two of the breakdowns fail; that is reported, and costs no
    time.

Files differ: HTA compares each event with every step mark, and rounds times with decimals one by one. All read
plain files here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.peers.environment import UnavailableError, peers_python
from tests.benchmarks.peers.process import FailedError, Run, read_through, run
from tests.unit.trace.published import TRACES

SCRIPTS = Path(__file__).parent / "peers"
OURS = "aiperf"
#: A trace that both peers read without failing, by one of their own authors.
GPU_TRACE = TRACES / "ab_a100_v100" / "control.json.gz"


@dataclass(frozen=True)
class Tool:
    """A tool as it is measured."""

    name: str
    python: Path
    script: str
    arguments: tuple[str, ...] = ()

    def run(self, trace: Path) -> Run:
        """One run on a trace."""
        return run(self.python, SCRIPTS / self.script, trace, *self.arguments)


def tools() -> Iterator[Tool]:
    """Ours, and the peers if they can be had."""
    yield Tool(OURS, Path(sys.executable), "run_aiperf.py")
    try:
        python = peers_python()
    except UnavailableError as error:
        print(f"the peers cannot be installed, so there is nothing to compare with: {error}", file=sys.stderr)
        return
    yield Tool("torch-tb-profiler", python, "run_torch_tb_profiler.py")
    yield Tool("HTA (json)", python, "run_hta.py", ("json",))
    yield Tool("HTA (ijson)", python, "run_hta.py", ("ijson_batch_and_compress",))


def make_traces(folder: Path, size: int) -> Iterator[Path]:
    """The traces of the benchmark. Each is made in a process of its own, whose memory is not left in this one."""
    for name, *options in (
        ("transformer.json",),
        ("transformer_with_stack.json", "--with-stack"),
        ("a100_repeated.json", "--repeat", str(GPU_TRACE)),
    ):
        if "--repeat" in options and not GPU_TRACE.is_file():
            print(f"{name} is left out: there is no {GPU_TRACE.name} at {GPU_TRACE.parent}", file=sys.stderr)
            continue
        path = folder / name
        print(f"making {name}", file=sys.stderr)
        command = [sys.executable, "-m", "tests.benchmarks.peers.inputs", str(path), str(size), *options]
        subprocess.run(command, check=True, capture_output=True)
        yield path


def measure(trace: Path, contenders: Sequence[Tool], rounds: int) -> dict[str, Any]:
    """All figures for one trace."""
    read_through(trace)
    runs: dict[str, list[Run]] = {tool.name: [] for tool in contenders}
    broken: dict[str, str] = {}
    for number in range(rounds):
        for tool in contenders if number % 2 == 0 else reversed(contenders):
            if tool.name in broken:
                continue
            print(f"{trace.name}, round {number + 1} of {rounds}: {tool.name}", file=sys.stderr)
            try:
                runs[tool.name].append(tool.run(trace))
            except FailedError as error:
                broken[tool.name] = str(error)
    whole = {name: found for name, found in runs.items() if name not in broken}
    return {
        "file": trace.name,
        "megabytes": round(trace.stat().st_size / 1e6, 1),
        "tools": {name: _figures(found, whole.get(OURS)) for name, found in whole.items()},
        "broken": broken,
    }


def _figures(runs: Sequence[Run], ours: Sequence[Run] | None) -> dict[str, Any]:
    values: dict[str, Callable[[Run], float]] = {
        "seconds": lambda run: run.seconds,
        "work_seconds": lambda run: run.work_seconds,
        "peak_megabytes": lambda run: run.peak_bytes / 1e6,
        "cpu_seconds": lambda run: run.cpu_seconds,
    }
    figures: dict[str, Any] = {"version": runs[0].version}
    for name, value in values.items():
        figures[name] = _spread([value(run) for run in runs])
        if ours is not None and runs is not ours:
            factors = [value(run) / value(own) for run, own in zip(runs, ours, strict=True)]
            figures[f"{name}_factor"] = _spread(factors)
    return {**figures, "failed": runs[0].failed, "found": runs[0].found}


def _spread(values: Sequence[float]) -> dict[str, float]:
    named = {"median": median(values), "min": min(values), "max": max(values)}
    return {name: round(value, 3) for name, value in named.items()}


def print_table(result: dict[str, Any]) -> None:
    """A block per file, a line per tool."""
    for each in result["traces"]:
        print(f"\n{each['file']}, {each['megabytes']} MB")
        print(f"{'':18}{'process s':>22}{'':>8}{'work s':>20}{'':>8}{'peak MB':>20}{'':>8}")
        for name, figures in each["tools"].items():
            cells = ""
            for key, width, digits in (("seconds", 22, 2), ("work_seconds", 20, 2), ("peak_megabytes", 20, 0)):
                value, factor = figures[key], figures.get(f"{key}_factor")
                spread = f"{value['median']:.{digits}f} ({value['min']:.{digits}f}-{value['max']:.{digits}f})"
                cells += f"{spread:>{width}}" + (f"{factor['median']:>6.1f} ×" if factor else f"{'':8}")
            print(f"{name:18}{cells}")
        for name, figures in each["tools"].items():
            for part, reason in figures["failed"].items():
                print(f"  {name}: {part} failed: {reason}")
        for name, reason in each["broken"].items():
            print(f"  {name}: no result: {reason}")


def main() -> None:
    """Print a table and write all figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", nargs="*", metavar="MEGABYTES | FILE", help="size of the traces made, or files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(".benchmarks/trace_peers.json"))
    arguments = parser.parse_args()
    contenders = list(tools())
    result: dict[str, Any] = {
        "rounds": arguments.rounds,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "traces": [],
    }
    sizes = [int(word) for word in arguments.traces if word.isdigit()]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(word).resolve() for word in arguments.traces if not word.isdigit()]
        for trace in files or make_traces(Path(folder), (sizes or [200])[0] * 1_000_000):
            result["traces"].append(measure(trace, contenders, arguments.rounds))
            if not files:
                trace.unlink()
    print_table(result)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"\nAll figures: {arguments.output}")


if __name__ == "__main__":
    main()
