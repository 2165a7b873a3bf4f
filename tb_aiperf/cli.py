"""The `aiperf` command: arguments and exit codes; answers come from `reports`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec
import typer

from tb_aiperf import __version__

if TYPE_CHECKING:
    from tb_aiperf.records import TraceAnalysis

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
    runs = reports.at_a_glance(reader)
    skipped = reports.skipped(reader)
    for run in skipped:
        _warn(f"run {run['run']!r} left out: {run['reason']}")
    # Runs that cannot even be told to hold anything of ours.
    told = {run["run"] for run in [*runs, *skipped]}
    unknown = [name for name in source.runs if name not in told and source.problems(name)]
    if runs:
        for problem in source.unreadable:
            _warn(f"folder left out: {problem}")
        for name in unknown:
            _warn(f"run {name!r} left out: {source.problems(name)[0]}")
    else:
        problems = [problem for name in source.runs for problem in source.problems(name)]
        if problems or source.unreadable:
            _fail(f"no steps could be read: {(problems + source.unreadable)[0]}")
        counted = terminal.count(len(source.runs), "run")
        found = f"{counted}, none with recorded steps" if source.runs else "no event files"
        _fail(f"{logdir} holds {found}; add PerfMonitor() to the Trainer's callbacks")
    if json:
        _print_json({"runs": [reports.summary(run) for run in runs]})
    else:
        terminal.print_runs(runs, logdir)


@app.command()
def analyze(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Trace files, folders that hold some, or patterns.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    logdir: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Also write the traces as new runs below DIR, for TensorBoard."),
    ] = None,
) -> None:
    """Read torch.profiler traces: steps, operators, kernels and what the device waited for.

    Traces of several ranks of one run are matched.
    """
    from tb_aiperf import terminal_profile
    from tb_aiperf.trace import TraceError, find_traces
    from tb_aiperf.trace import analyze as analyze_traces

    told: list[str] = []
    try:
        paths = find_traces(traces)
        if logdir is None:
            analysis = analyze_traces(paths)
        else:
            analysis, told = _analyze_into(logdir, paths)
    except TraceError as error:
        _fail(str(error))
    if json:
        _print_json(analysis)
    else:
        terminal_profile.print_analysis(analysis)
        if told:
            print()
    for line in told:
        print(line, file=sys.stderr if json else sys.stdout)


def _analyze_into(logdir: str, paths: Iterable[str]) -> tuple[TraceAnalysis, list[str]]:
    """Read traces and write them as new runs; also lines that say what was written. Raises TraceError."""
    from tb_aiperf.records import TraceAnalysis
    from tb_aiperf.storage.new_runs import NewRuns, NotWrittenError
    from tb_aiperf.terminal import count, printable
    from tb_aiperf.trace.analysis import record_trace
    from tb_aiperf.trace.ranks import match_profiles

    profiles, calls = [], []
    try:
        with NewRuns(logdir) as runs:
            for path in paths:
                recording = record_trace(path)
                runs.add(recording)
                profiles.append(recording.profile)
                calls.append(recording.calls)
            written = runs.publish()
    except NotWrittenError as error:
        _fail(str(error))
    for note in runs.notes:
        _warn(note)
    told = []
    for run in written:
        ranks = f" ({count(len(run.traces), 'rank')})" if len(run.traces) > 1 else ""
        told.append(f"Written as run {printable(run.name)}{ranks}")
    told.append(f"Look at it with: tensorboard --logdir {printable(shlex.quote(logdir))}")
    return TraceAnalysis(traces=profiles, collectives=match_profiles(profiles, calls)), told


@app.command()
def profile(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder of the run whose training goes on.")],
    steps: Annotated[int, typer.Option(min=1, max=100_000, help="How many steps to profile.")] = 10,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for the training to answer.")] = 30.0,
    wait: Annotated[bool, typer.Option(help="Wait until the profile is there.")] = True,
) -> None:
    """Ask a running training to profile its next steps; it needs StepProfiler() among its callbacks."""
    from tb_aiperf.storage.requests import RequestError, ask, withdraw
    from tb_aiperf.terminal import printable

    try:
        request = ask(run, steps)
        answer = request.wait_for({"accepted", "done", "refused"}, timeout)
        if answer is None:
            withdraw(request)
            _fail(
                f"{run}: no training answered within {timeout:g} s; one with StepProfiler(on_demand=True) must run and "
                "write there, and it answers between two steps"
            )
        if answer.state == "accepted":
            print(f"Profiling steps {answer.first_step} to {(answer.first_step or 0) + steps - 1}")
            if wait:
                answer = request.wait_for({"done", "refused"}, None) or answer
    except RequestError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if answer.state == "refused":
        _fail(f"{run}: the training did not profile them: {answer.message}")
    if answer.state == "done":
        print(f"Done: profile {answer.window} of {printable(str(run))}; its trace is {printable(answer.path or '')}")


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
