"""The `aiperf` command: arguments and exit codes; answers come from `reports`."""

from __future__ import annotations

import re
import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from tb_aiperf import __version__

app = typer.Typer(
    name="aiperf",
    help="AI performance for TensorBoard: where each training step's time goes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Apply options of the command itself; typer's own `--version` is handled before."""


@app.command()
def report(
    logdir: Annotated[str, typer.Argument(metavar="LOGDIR", help="Folder that TensorBoard would be given.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Show where the time of each run below LOGDIR goes."""
    from tb_aiperf import reports, terminal
    from tb_aiperf.storage.cache import BuildCache
    from tb_aiperf.storage.directory import DirectorySource
    from tb_aiperf.storage.reader import RunReader

    try:
        source = DirectorySource(logdir)
    except (FileNotFoundError, NotADirectoryError) as error:
        _fail(f"{error}; give the folder that the logger writes to")
    except OSError as error:
        _fail(str(error))
    # Each run is read once: nothing is kept.
    reader = RunReader(source, BuildCache(0))
    overviews = reports.overviews(reader)
    skipped = reports.skipped(reader)
    for run in skipped:
        _warn(f"run {run['run']!r} left out: {run['reason']}")
    # Runs that cannot even be told to hold steps.
    told = {run["run"] for run in [*overviews, *skipped]}
    unknown = [name for name in source.runs if name not in told and source.problems(name)]
    if overviews:
        for problem in source.unreadable:
            _warn(f"folder left out: {problem}")
        for name in unknown:
            _warn(f"run {name!r} left out: {source.problems(name)[0]}")
    else:
        problems = [problem for name in source.runs for problem in source.problems(name)]
        if problems or source.unreadable:
            _fail(f"no steps could be read: {(problems + source.unreadable)[0]}")
        runs = terminal.count(len(source.runs), "run")
        found = f"{runs}, none with recorded steps" if source.runs else "no event files"
        _fail(f"{logdir} holds {found}; add PerfMonitor() to the Trainer's callbacks")
    if json:
        _print_json({"runs": [reports.summary(overview) for overview in overviews]})
    else:
        terminal.print_overviews(overviews, logdir)


@app.command()
def analyze(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Trace files, folders that hold some, or patterns.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Read torch.profiler traces: steps, operators, kernels and what the device waited for.

    Traces of several ranks of one run are matched.
    """
    from tb_aiperf import terminal_profile
    from tb_aiperf.trace import TraceError, find_traces
    from tb_aiperf.trace import analyze as analyze_traces

    try:
        analysis = analyze_traces(find_traces(traces))
    except TraceError as error:
        _fail(str(error))
    if json:
        _print_json(analysis)
    else:
        terminal_profile.print_analysis(analysis)


@app.command()
def demo(
    logdir: Annotated[Path, typer.Option(help="Folder to write the run to.")] = Path("aiperf_demo"),
    serve: Annotated[bool, typer.Option(help="Start TensorBoard on the result.")] = True,
) -> None:
    """Train a small network whose data set is slow on purpose, show where its time goes, and start TensorBoard."""
    from tb_aiperf import demo as training

    try:
        run = training.train_demo(logdir)
    except training.DemoError as error:
        _fail(str(error))
    report(str(run))
    if serve:
        raise typer.Exit(training.serve(logdir))
    print(f"\nLook at it with: tensorboard --logdir {logdir}")


def _print_json(answer: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
    # Escaped, so that any encoding takes it.
    print(re.sub("[^\x00-\x7f]", lambda match: dumps(match[0])[1:-1], text))


def _fail(message: str) -> NoReturn:
    _warn(message)
    raise typer.Exit(1)


def _warn(message: str) -> None:
    from tb_aiperf.terminal import printable

    print(f"aiperf: {printable(message)}", file=sys.stderr)


def main() -> None:
    """Entry point of the console script."""
    from tb_aiperf.terminal import degrade_output

    degrade_output()
    app()
