"""Trace profiles as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from tb_aiperf.records import (
    CATEGORIES,
    FINDING_CAUSES,
    IDLE_CAUSES,
    CallSite,
    CollectivesProfile,
    Finding,
    MemoryProfile,
    TraceAnalysis,
    TraceProfile,
)
from tb_aiperf.terminal import bar, duration, printable, shown

#: Rows of the operator and the kernel table, and of all others.
_MOST_ROWS = 10
_FEW_ROWS = 5
#: Python frames of a call site.
_FRAMES = 3
#: However narrow the terminal, so much is shown of a name.
_SHORTEST_NAME = 20
_GAP = 2
#: Ranks that get a column each.
_FEW_RANKS = 4
_CAUSES = {part.key: part.title for part in FINDING_CAUSES}
_CATEGORIES = {part.key: part.title for part in CATEGORIES}
_IDLE = {part.key: part.title for part in IDLE_CAUSES}


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
    if profile.steps:
        _print_steps(profile, console)
    for number, finding in enumerate(profile.findings, 1):
        _print_finding(number, finding, console)
    if profile.steps:
        _print_categories(profile, console)
    _print_device(profile, console)
    _print_operators(profile, console)
    _print_call_sites(profile, console)
    _print_modules(profile, console)
    _print_kernels(profile, console)
    _print_operations(profile, console)
    if profile.memory is not None:
        _print_memory(profile.memory, console)
    if profile.profiler_overhead_us is not None:
        console.print(
            f"Profiler: at work itself for {duration(profile.profiler_overhead_us / 1e6)} inside steps, "
            "as far as it recorded that"
        )
    for warning in profile.warnings:
        console.print(f"Note: {shown(warning)}")


def _print_steps(profile: TraceProfile, console: Console) -> None:
    times = [step.duration_us / 1e6 for step in profile.steps]
    partial = sum(step.partial for step in profile.steps)
    marks = "stretch without step marks" if not profile.marked else "step" if len(times) == 1 else "steps"
    console.print(
        f"{len(times)} {marks}: median {duration(median(times))}, mean {duration(fmean(times))}, "
        f"max {duration(max(times))}" + (f"; {partial} of them may be incomplete" if partial else "")
    )


def _print_finding(number: int, finding: Finding, console: Console) -> None:
    gain = finding.speedup
    console.print(
        f"[bold]{number}. {shown(_CAUSES.get(finding.cause, finding.cause))}: {finding.share:.1%}[/bold] of the step "
        f"time; acted upon, {gain.expected:.2f} times as fast ({gain.low:.2f} to {gain.high:.2f})"
    )
    console.print(Padding(f"{shown(finding.evidence)}\n{shown(finding.action)}", (0, 0, 0, 3), expand=False))


def _print_categories(profile: TraceProfile, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading in ("Category", "", "Share of steps", "Total", "Median per step"):
        table.add_column(heading, justify="left" if heading in ("Category", "") else "right")
    parts = [step.categories_us for step in profile.steps]
    total = sum(step.duration_us for step in profile.steps)
    for name, spent in _by_size(_sums(parts)):
        if spent:
            each = duration(median(getattr(part, name) for part in parts) / 1e6)
            share = spent / total
            table.add_row(_CATEGORIES[name], bar(share), f"{share:.1%}", duration(spent / 1e6), each)
    console.print(table)
    idle = _sums([step.idle_us for step in profile.steps if step.idle_us is not None])
    if idle_total := sum(idle.values()):
        causes = ", ".join(
            f"{_IDLE[cause].lower()} {spent / idle_total:.0%}" for cause, spent in _by_size(idle) if spent
        )
        console.print(f"Device idle inside steps: {duration(idle_total / 1e6)} in total, of that {causes}")


def _print_device(profile: TraceProfile, console: Console) -> None:
    device = profile.device_timeline_us
    if device is not None:
        console.print(
            f"Device: busy {device.busy / device.total:.1%} of {duration(device.total / 1e6)}; compute "
            f"{duration(device.compute / 1e6)}, communication {duration(device.communication / 1e6)} (exposed "
            f"{duration(device.communication_exposed / 1e6)}), copies {duration(device.memcpy / 1e6)} (exposed "
            f"{duration(device.memcpy_exposed / 1e6)})"
        )


def _print_operators(profile: TraceProfile, console: Console) -> None:
    on_device = profile.device_timeline_us is not None
    ranked = sorted(profile.operators, key=lambda row: -(row.device_us if on_device else row.host_self_us))
    rows = []
    headings = (_counted("Operator", ranked[:_MOST_ROWS], ranked), "Calls", "Host self", "Host total", "Device")
    for row in ranked[:_MOST_ROWS]:
        device = duration(row.device_us / 1e6) if on_device else "not measured"
        times = (duration(row.host_self_us / 1e6), duration(row.host_total_us / 1e6), device)
        rows.append((row.name, f"{row.calls:,}", *times))
    if profile.unattributed_device_us:
        rows.append(("(no operator known)", "", "", "", duration(profile.unattributed_device_us / 1e6)))
    _print_table(headings, rows, console)


def _print_call_sites(profile: TraceProfile, console: Console) -> None:
    if not profile.call_sites:
        return
    console.print(_counted("Call sites", profile.call_sites[:_FEW_ROWS], profile.call_sites))
    for site in profile.call_sites[:_FEW_ROWS]:
        backward = " (backward)" if site.backward else ""
        figures = f"{site.calls:,} call{'' if site.calls == 1 else 's'}, host self {duration(site.host_self_us / 1e6)}"
        if profile.device_timeline_us is not None:
            figures += f", device {duration(site.device_us / 1e6)}"
        name = _cut(site.operator, console.width - len(f"  {backward}: {figures}"))
        _print_line(f"  {name}{backward}: {figures}", console)
        for line in _frames(site, console.width - 4):
            _print_line(f"    {line}", console)


def _print_line(line: str, console: Console) -> None:
    console.print(line, no_wrap=True, overflow="ellipsis")


def _frames(site: CallSite, width: int) -> Iterable[str]:
    if not site.frames:
        yield "(the trace does not tell where)"
    for frame in site.frames[:_FRAMES]:
        yield _cut(frame, width)
    if len(site.frames) > _FRAMES:
        yield f"… and {len(site.frames) - _FRAMES} more frames"


def _print_modules(profile: TraceProfile, console: Console) -> None:
    if not profile.modules:
        return
    ranked = sorted(profile.modules, key=lambda row: -(row.device_us or row.host_total_us))[:_FEW_ROWS]
    on_device = profile.device_timeline_us is not None
    rows = [
        (
            row.name.removeprefix("nn.Module: "),
            f"{row.calls:,}",
            duration(row.host_self_us / 1e6),
            duration(row.host_total_us / 1e6),
            duration(row.device_us / 1e6) if on_device else "not measured",
        )
        for row in ranked
    ]
    headings = (_counted("Module", rows, profile.modules), "Calls", "Host self", "Host total", "Device")
    _print_table(headings, rows, console)


def _print_kernels(profile: TraceProfile, console: Console) -> None:
    if not profile.kernels:
        return
    ranked = sorted(profile.kernels, key=lambda row: -row.total_us)
    rows = [
        (row.name, f"{row.calls:,}", duration(row.total_us / 1e6), duration(row.total_us / row.calls / 1e6))
        for row in ranked[:_MOST_ROWS]
    ]
    _print_table((_counted("Kernel", rows, ranked), "Calls", "Total", "Mean"), rows, console)


def _print_operations(profile: TraceProfile, console: Console) -> None:
    if not profile.collectives:
        return
    rows = [
        (
            row.operation + ("" if row.group is None else f" in group {row.group}"),
            f"{row.calls:,}",
            duration(row.total_us / 1e6),
            "not measured" if row.exposed_us is None else duration(row.exposed_us / 1e6),
            "not recorded" if row.bytes is None else _size(row.bytes),
        )
        for row in profile.collectives[:_MOST_ROWS]
    ]
    headings = (_counted("Collective", rows, profile.collectives), "Calls", "Total", "Exposed", "Sent")
    _print_table(headings, rows, console)


def _print_memory(memory: MemoryProfile, console: Console) -> None:
    for device in memory.devices:
        since = " above the start of the trace" if device.relative else ""
        reserved = "" if device.peak_reserved_bytes is None else f", {_size(device.peak_reserved_bytes)} reserved"
        holders = [
            f"{_cut(holder.operator, 40) if holder.operator else '(no operator known)'} {_size(holder.bytes)}"
            for holder in device.holders[:_FEW_ROWS]
        ]
        held = f"; held by {', '.join(holders)}" if holders else ""
        console.print(
            f"Memory of {shown(device.device)}: peak {_size(device.peak_allocated_bytes)}{since}{reserved}, "
            f"{duration(device.peak_us / 1e6)} after the start{held}"
        )


def _print_collectives(collectives: CollectivesProfile, console: Console) -> None:
    ranks = collectives.ranks
    each = len(ranks) <= _FEW_RANKS
    listed = ", ".join(map(str, ranks)) if each else f"{ranks[0]} to {ranks[-1]} ({len(ranks)})"
    console.print(f"[bold]Collectives[/bold] of ranks {listed}")
    rows = []
    for row in collectives.operations:
        waits = [(wait, rank) for wait, rank in zip(row.wait_us, ranks, strict=True) if wait is not None]
        if each:
            told = ["not in the group" if wait is None else duration(wait / 1e6) for wait in row.wait_us]
        else:
            times = [wait for wait, _ in waits]
            told = [duration(time / 1e6) for time in (min(times), median(times), max(times))] + [f"{max(waits)[1]}"]
        rows.append((row.operation, f"{row.calls:,}", duration(row.transfer_us / 1e6), *told))
    columns = [f"Wait, rank {rank}" for rank in ranks] if each else ["Least wait", "Median", "Most", "of rank"]
    _print_table(("Operation", "Calls", "Transfer", *columns), rows, console)
    for warning in collectives.warnings:
        console.print(f"Note: {shown(warning)}")


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """A table of names and figures, on one line each: names are cut to what the figures leave."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows, strict=True)]
    left = max(console.width - sum(widths[1:]) - _GAP * len(widths[1:]), len(headings[0]), _SHORTEST_NAME)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == headings[0] else "right")
    for name, *figures in rows:
        table.add_row(_cut(name, left), *figures)
    console.print(table)


def _counted(title: str, rows: Sequence[object], of: Sequence[object]) -> str:
    return f"{title} ({min(len(rows), len(of)):,} of {len(of):,})"


def _sums(parts: Sequence[msgspec.Struct]) -> dict[str, float]:
    """Field -> its sum over structs of one kind."""
    names = parts[0].__struct_fields__ if parts else ()
    return {name: sum(getattr(part, name) for part in parts) for name in names}


def _by_size(times: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda pair: -pair[1])


def _size(count: int) -> str:
    """Bytes with a fitting unit and three digits."""
    value = float(abs(count))
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{'-' if count < 0 else ''}{value:.3g} {unit}"
        value /= 1000
    return f"{'-' if count < 0 else ''}{value:,.3g} TB"


def _cut(name: str, width: int) -> str:
    """A name from a trace: no markup, no control characters, and of a long one both ends."""
    plain, width = printable(name), max(width, _SHORTEST_NAME)
    if len(plain) > width:
        plain = plain[: width - 1 - width // 3] + "…" + plain[len(plain) - width // 3 :]
    return escape(plain)
