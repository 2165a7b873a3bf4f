"""Overviews as tables in the terminal."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tb_aiperf.records import FINDING_CAUSES, SEGMENTS, describe_stages

_BAR_CELLS = 20
#: What stands for a character of ours where the terminal's encoding lacks it.
_PLAIN = {"·": "-", "×": "x", "µ": "u", "…": ".", **dict.fromkeys("▌▋▊▉█", "#"), **dict.fromkeys("▏▎▍", " ")}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DEGRADE = "tb_aiperf.degrade"


def degrade_output() -> None:
    """Have stdout and stderr take any character, whatever their encoding."""
    codecs.register_error(_DEGRADE, _degrade)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_DEGRADE)


def _degrade(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), error.end


def printable(text: str) -> str:
    """Text without anything that could move the cursor, colour the terminal or hide: such characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def count(number: int, noun: str) -> str:
    """A number and its noun, in the plural where needed."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def print_runs(runs: list[dict[str, Any]], logdir: str, console: Console | None = None) -> None:
    """Print one block per run. A run that is `logdir` itself is called by the folder's name."""
    console = Console(highlight=False) if console is None else console
    for place, run in enumerate(runs):
        if place:
            console.print()
        name = run["run"] if run["run"] != "." else os.path.basename(os.path.abspath(logdir))
        if run["overview"] is not None:
            _print_overview(run["overview"], name, console)
        else:
            ranks = f" · rank {run['rank']} of {run['world_size']}" if run["world_size"] > 1 else ""
            console.print(f"[bold]{shown(name)}[/bold] · no recorded steps{ranks}")
        several = len({window["attempt"] for window in run["profiles"]}) > 1
        for window in run["profiles"]:
            of = f" of {shown(window['attempt'])}" if several else ""
            console.print(f"Profile {window['window']}{of}: {_described(window['profile'])}")
        for damage in run["damage"]:
            console.print(f"[red]Damaged:[/red] {shown(damage)}")


def _described(profile: dict[str, Any]) -> str:
    """A window in one line: steps, device, top finding."""
    numbers = [step["step"] for step in profile["steps"] if step["step"] is not None]
    if len(numbers) > 1:
        words = [f"steps {min(numbers)} to {max(numbers)}"]
    else:
        words = [f"step {numbers[0]}" if numbers else "no step marks"]
    words.append(shown(profile["device"]))
    titles = {cause.key: cause.title for cause in FINDING_CAUSES}
    for finding in profile["findings"][:1]:
        cause = titles.get(finding["cause"], finding["cause"])
        words.append(f"{shown(cause)} takes {100 * finding['share']:.0f} % of the step time")
    return " · ".join(words)


def _print_overview(overview: dict[str, Any], name: str, console: Console) -> None:
    title = f"[bold]{shown(name)}[/bold] · {overview['loop']} · {count(overview['steps'], 'step')}"
    if len(overview["attempts"]) > 1:
        title += f" · {count(len(overview['attempts']), 'attempt')}"
    if overview["superseded_steps"]:
        title += f" ({overview['superseded_steps']:,} run again)"
    if overview["world_size"] > 1:
        title += f" · rank {overview['rank']} of {overview['world_size']}"
    console.print(title)
    console.print(shown(overview["headline"]) + ".")
    times = overview["step_time_s"]
    if times["n"]:
        named = [("median", "median"), ("mean", "mean"), ("p95", "p95"), ("p99", "p99"), ("max", "max")]
        console.print("Step time: " + ", ".join(f"{word} {duration(times[key])}" for word, key in named))
        console.print(_stages(overview["stages"]))
    for segment in overview["segments"]:
        title = next(s.title for s in SEGMENTS if s.key == segment["key"])
        console.print(f"{title}: {segment['count']} ×, {duration(segment['total_s'])} in total")
    for note in overview["notes"]:
        console.print(f"Note: {shown(note)}")
    for damage in overview["damage"]:
        console.print(f"[red]Damaged:[/red] {shown(damage)}")


def shown(data: str) -> str:
    """Data of a run, as it is to be shown."""
    return escape(printable(data))


def _stages(stages: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("Stage", "Share", "", "Total", "Median", "p95", "Max"):
        table.add_column(heading, justify="left" if heading in ("Stage", "Share") else "right")
    titles = {stage.key: stage.title for stage in describe_stages(stage["key"] for stage in stages)}
    for stage in sorted(stages, key=lambda stage: -stage["total_s"]):
        if stage["nonzero"]:
            share = stage["share"]
            numbers = [duration(stage[key]) for key in ("total_s", "median_s", "p95_s", "max_s")]
            table.add_row(shown(titles[stage["key"]]), bar(share), f"{100 * share:.1f} %", *numbers)
    return table


def bar(share: float) -> str:
    """A bar of `_BAR_CELLS` cells for a share in [0, 1]."""
    full, rest = divmod(round(share * _BAR_CELLS * 8), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR_CELLS)


def duration(seconds: float) -> str:
    """Seconds with a fitting unit and three digits."""
    if seconds == 0:
        return "0"
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s"), (6000.0, 1 / 60, "min")):
        if seconds < limit * 0.9995:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 999.5 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds / 3600:,.1f} h"
