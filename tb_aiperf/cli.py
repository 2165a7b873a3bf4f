"""The `aiperf` command: arguments and exit codes; answers come from `reports`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

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
    from tb_aiperf.storage.directory import DirectorySource
    from tb_aiperf.storage.reader import RunReader

    try:
        source = DirectorySource(logdir)
    except OSError as error:
        _fail(f"{error}; give the folder that the logger writes to")
    reader = RunReader(source)
    listed = reports.runs(reader)
    for skipped in listed["skipped"]:
        print(f"aiperf: run {skipped['run']!r} left out: {skipped['reason']}", file=sys.stderr)
    overviews = reports.overviews(reader)
    if not overviews:
        problems = [problem for run in source.runs for problem in source.problems(run)]
        if problems:
            _fail(f"no steps could be read: {problems[0]}")
        found = f"{len(source.runs)} runs, none with recorded steps" if source.runs else "no event files"
        _fail(f"{logdir} holds {found}; add PerfMonitor() to the Trainer's callbacks")
    if json:
        answer = {"runs": [reports.summary(overview) for overview in overviews]}
        print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        terminal.print_overviews(overviews, logdir)


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


def _fail(message: str) -> NoReturn:
    print(f"aiperf: {message}", file=sys.stderr)
    raise typer.Exit(1)


def main() -> None:
    """Entry point of the console script."""
    app()
