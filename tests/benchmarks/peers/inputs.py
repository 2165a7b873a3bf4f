"""The traces that the tools are compared on, made when they are needed.

`record` runs torch.profiler on a small transformer, with CUDA where there is a device; a machine without one has no
kernels to show, so `repeat` makes a long trace of a short one that was recorded on real devices.
``python -m tests.benchmarks.peers.inputs FILE BYTES [--with-stack | --repeat TRACE]`` makes one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

#: Layers of the transformer: 200 MB hold 10 to 20 steps, as a recorded window does. (HTA looks at each event once per
#: step, so many small steps would slow it down.)
LAYERS = 24
WIDTH = 64


def record(path: Path, size: int, with_stack: bool) -> int:
    """Record training steps until the trace has about `size` bytes; returns their number.

    Shapes and memory are recorded, steps are marked, and `with_stack` adds Python's stack and the modules.
    """
    import torch

    torch.manual_seed(0)
    trial = 2
    _record(path, trial, with_stack)
    first = path.stat().st_size
    _record(path, 2 * trial, with_stack)
    each = (path.stat().st_size - first) / trial
    steps = max(2, round(size / each))
    _record(path, steps, with_stack)
    return steps


def _record(path: Path, steps: int, with_stack: bool) -> None:
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, schedule
    from torch.utils.data import DataLoader, TensorDataset

    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, batch_first=True)
    model = nn.Sequential(nn.Embedding(100, WIDTH), nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, 100))
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    loader = DataLoader(TensorDataset(torch.randint(0, 100, (4 * (steps + 1), 8))), batch_size=4)

    def step(batch: Any) -> None:
        (tokens,) = batch
        tokens = tokens.to(device)
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    batches = iter(loader)
    with profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])],
        schedule=schedule(wait=0, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda recorded: recorded.export_chrome_trace(str(path)),
        record_shapes=True,
        profile_memory=True,
        with_stack=with_stack,
        with_modules=with_stack,
    ) as profiler:
        for _ in range(steps + 1):
            step(next(batches))
            profiler.step()


#: What makes an event of a copy another one: its time, the ids that tie events together, the number of its step.
_MOVED = re.compile(
    r'(?P<time>"ts"\s*:\s*)(?P<whole>\d+)'
    r'|(?P<id>"(?:id|correlation|External id|Sequence number|Ev Idx|Python id|Python parent id)"\s*:\s*)(?P<number>\d+)'
    r"|(?P<mark>ProfilerStep#)(?P<step>\d+)"
)
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
#: Time between two copies.
_GAP_US = 1000


def repeat(source: Path, path: Path, size: int) -> int:
    """Write a trace of at least `size` bytes that is the trace `source` over and over; returns how often.

    Each copy follows the one before on the clock, with ids and step numbers of its own. The text stays as the profiler
    wrote it; what stands before and behind the events is there once.
    """
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    text = data.decode("utf-8", "replace")
    found = _EVENTS.search(text)
    if found is None:
        raise ValueError(f"{source} has no list of traceEvents")
    decoded, end = json.JSONDecoder(strict=False).raw_decode(text, found.end() - 1)
    head, events, tail = text[: found.end()], text[found.end() : end - 1], text[end - 1 :]
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in decoded if event["ph"] == "X"]
    length = math.ceil(max(stop for _, stop in spans) - min(start for start, _ in spans)) + _GAP_US
    # Above every id and every number of a step: they are counted, and a profiler's counts begin near 0.
    ids = max(int(match["number"]) for match in _MOVED.finditer(events) if match["id"]) + 1
    steps = max((int(match["step"]) for match in _MOVED.finditer(events) if match["mark"]), default=0) + 1
    copies = max(1, math.ceil(size / len(events)))
    with path.open("w", encoding="utf-8") as file:
        file.write(head)
        for copy in range(copies):
            file.write("," * bool(copy))
            file.write(_moved(events, copy * length, copy * ids, copy * steps) if copy else events)
        file.write(tail)
    return copies


def _moved(events: str, time: int, ids: int, steps: int) -> str:
    """The text of events with everything of `_MOVED` that much higher."""

    def move(match: re.Match[str]) -> str:
        if match["time"]:
            return f"{match['time']}{int(match['whole']) + time}"
        if match["id"]:
            return f"{match['id']}{int(match['number']) + ids}"
        return f"{match['mark']}{int(match['step']) + steps}"

    return _MOVED.sub(move, events)


def main() -> None:
    """Make one trace. Run as a process of its own, it leaves no memory behind in the one that measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("bytes", type=int)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--with-stack", action="store_true", help="record Python's stack too")
    what.add_argument("--repeat", type=Path, metavar="TRACE", help="repeat this trace instead of recording one")
    arguments = parser.parse_args()
    if arguments.repeat:
        repeat(arguments.repeat, arguments.file, arguments.bytes)
    else:
        record(arguments.file, arguments.bytes, arguments.with_stack)


if __name__ == "__main__":
    main()
