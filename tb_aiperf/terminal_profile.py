"""Trace profiles as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tb_aiperf.records import CollectivesProfile, TraceAnalysis, TraceProfile
from tb_aiperf.terminal import bar, duration, printable, shown

#: Rows of the operator and the kernel table.
_MOST_ROWS = 10
_LONGEST_NAME = 60


def print_analysis(analysis: TraceAnalysis, console: Console | None = None) -> None:
    """Print one block per trace, then the collectives across ranks."""
    console = Console(highlight=False) if console is None else console
    for place, profile in enumerate(analysis.traces):
        if place:
            console.print()
        _print_profile(profile, console)
    if analysis.collectives is not None:
        console.print()
        _print_collectives(analysis.collectives, console)


def _print_profile(profile: TraceProfile, console: Console) -> None:
    title = f"[bold]{shown(profile.path)}[/bold] · {shown(profile.device)}"
    if profile.rank is not None:
        title += f" · rank {profile.rank}" + ("" if profile.world_size is None else f" of {profile.world_size}")
    console.print(title)
    for finding in profile.findings:
        gain = finding.speedup
        console.print(
            f"{escape(finding.cause)}: {finding.share:.1%} of the step time; without it "
            f"{gain.expected:.2f} times as fast ({gain.low:.2f} to {gain.high:.2f}). {escape(finding.evidence)} "
            f"{escape(finding.action)}"
        )
    if profile.steps:
        times = [step.duration_us / 1e6 for step in profile.steps]
        partial = sum(step.partial for step in profile.steps)
        marks = "stretch without step marks" if not profile.marked else "step" if len(times) == 1 else "steps"
        console.print(
            f"{len(times)} {marks}: median {duration(median(times))}, mean {duration(fmean(times))}, "
            f"max {duration(max(times))}" + (f"; {partial} of them may be incomplete" if partial else "")
        )
        console.print(_categories(profile))
        idle = _sums([step.idle_us for step in profile.steps if step.idle_us is not None])
        if total := sum(idle.values()):
            causes = ", ".join(f"{cause} {spent / total:.0%}" for cause, spent in _by_size(idle) if spent)
            console.print(f"Device idle inside steps: {duration(total / 1e6)} in total, of that {causes}")
    if (device := profile.device_timeline_us) is not None:
        console.print(
            f"Device: busy {device.busy / device.total:.1%} of {duration(device.total / 1e6)}; compute "
            f"{duration(device.compute / 1e6)}, communication {duration(device.communication / 1e6)} (exposed "
            f"{duration(device.communication_exposed / 1e6)}), copies {duration(device.memcpy / 1e6)} (exposed "
            f"{duration(device.memcpy_exposed / 1e6)})"
        )
    console.print(_operators(profile))
    if profile.kernels:
        console.print(_kernels(profile))
    for warning in profile.warnings:
        console.print(f"Note: {shown(warning)}")


def _sums(parts: Sequence[msgspec.Struct]) -> dict[str, float]:
    """Field -> its sum over structs of one kind."""
    names = parts[0].__struct_fields__ if parts else ()
    return {name: sum(getattr(part, name) for part in parts) for name in names}


def _by_size(times: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda pair: -pair[1])


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] or not heading else "right")
    return table


def _categories(profile: TraceProfile) -> Table:
    table = _table("Category", "", "Share of steps", "Total", "Median per step")
    parts = [step.categories_us for step in profile.steps]
    total = sum(step.duration_us for step in profile.steps)
    for name, spent in _by_size(_sums(parts)):
        if spent:
            each = duration(median(getattr(part, name) for part in parts) / 1e6)
            share = spent / total
            table.add_row(name, bar(share), f"{share:.1%}", duration(spent / 1e6), each)
    return table


def _operators(profile: TraceProfile) -> Table:
    on_device = profile.device_timeline_us is not None
    ranked = sorted(profile.operators, key=lambda row: -(row.device_us if on_device else row.host_self_us))
    shown = ranked[:_MOST_ROWS]
    table = _table(f"Operator ({len(shown)} of {len(ranked)})", "Calls", "Host self", "Host total", "Device")
    for row in shown:
        device = duration(row.device_us / 1e6) if on_device else "not measured"
        times = (duration(row.host_self_us / 1e6), duration(row.host_total_us / 1e6), device)
        table.add_row(_name(row.name), f"{row.calls:,}", *times)
    if profile.unattributed_device_us:
        table.add_row("(no operator known)", "", "", "", duration(profile.unattributed_device_us / 1e6))
    return table


def _kernels(profile: TraceProfile) -> Table:
    ranked = sorted(profile.kernels, key=lambda row: -row.total_us)
    shown = ranked[:_MOST_ROWS]
    table = _table(f"Kernel ({len(shown)} of {len(ranked)})", "Calls", "Total", "Mean")
    for row in shown:
        mean = duration(row.total_us / row.calls / 1e6)
        table.add_row(_name(row.name), f"{row.calls:,}", duration(row.total_us / 1e6), mean)
    return table


def _print_collectives(collectives: CollectivesProfile, console: Console) -> None:
    console.print(f"[bold]Collectives[/bold] of ranks {', '.join(map(str, collectives.ranks))}")
    table = _table("Operation", "Calls", "Transfer", *(f"Wait, rank {rank}" for rank in collectives.ranks))
    for row in collectives.operations:
        waits = ("not in the group" if wait is None else duration(wait / 1e6) for wait in row.wait_us)
        table.add_row(_name(row.operation), f"{row.calls:,}", duration(row.transfer_us / 1e6), *waits)
    console.print(table)
    for warning in collectives.warnings:
        console.print(f"Note: {shown(warning)}")


def _name(name: str) -> str:
    """A name from a trace: no markup, no control characters, not too long."""
    plain = printable(name)
    return escape(plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 1] + "…")
