"""What a request refers to: a run, one of its loops, one or all attempts."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from tb_aiperf.records import LOOPS, STAGE_KEYS
from tb_aiperf.storage.index import AttemptIndex, RunIndex
from tb_aiperf.storage.reader import LoadedSteps, RunReader
from tb_aiperf.storage.tags import STEPS

TICKS_PER_S = 1e6


class NotFoundError(LookupError):
    """The run, loop or attempt does not exist. The message is one sentence: what, where, what to do."""


class BadRequestError(ValueError):
    """A parameter cannot be used. The message is one sentence: which, why, what is possible."""


@dataclass(frozen=True)
class Selection:
    """The steps that a request refers to. attempt: as asked for. attempts: those selected, oldest first."""

    index: RunIndex
    loop: str
    attempt: str | None
    attempts: list[AttemptIndex]
    steps: LoadedSteps


def select(reader: RunReader, run: str, loop: str | None = None, attempt: str | None = None) -> Selection:
    """Load the steps of `run`; its first loop and all attempts where none is given.

    Raises NotFoundError, BadRequestError.
    """
    if loop is not None and loop not in LOOPS:
        raise BadRequestError(f"loop {loop!r} is not one of {', '.join(LOOPS)}")
    index = find_run(reader, run)
    loops = index.loops(STEPS)
    if not loops:
        raise NotFoundError(f"run {run!r} holds no steps: {reason_without_steps(index, reader.file_problems(run))}")
    chosen = next(iter(loops)) if loop is None else loop
    if chosen not in loops:
        raise NotFoundError(f"run {run!r} holds no steps of loop {chosen!r}, only of {', '.join(loops)}")
    attempts = [a for a in loops[chosen] if attempt in (None, a.id)]
    if not attempts:
        known = ", ".join(a.id for a in loops[chosen])
        raise NotFoundError(f"run {run!r} has no attempt {attempt!r} in loop {chosen!r}, only {known}")
    return Selection(index, chosen, attempt, attempts, reader.load_steps(index, chosen, attempt))


def find_run(reader: RunReader, run: str) -> RunIndex:
    """The index of a run. Raises NotFoundError."""
    index = reader.index(run)
    if index is None:
        raise NotFoundError(f"run {run!r} holds no summaries of tb_aiperf; api/v1/runs lists the runs that do")
    return index


def run_identity(reader: RunReader, run: str) -> object:
    """Equal for two readers exactly when the answers about the run's steps are."""
    index = reader.index(run)
    return None if index is None else index.identity


def group_of(run: str, rank: int) -> str:
    """The training to which a run belongs: rank 0 lies in ``<group>``, rank k > 0 in ``<group>/rank_<k>``.

    TensorBoard names a log directory that is a run itself ``.``, or ``name/.``; the group is ``.`` or ``name``.
    """
    group = run if rank == 0 else re.sub(rf"(^|/)rank_{rank}$", "", run)
    return posixpath.normpath(group)


def group_of_run(reader: RunReader, index: RunIndex) -> list[RunIndex]:
    """The runs of the same training, itself included, by name."""

    def group(of: RunIndex) -> str | None:
        return group_of(of.run, of.attempts[-1].rank) if of.attempts else None

    return [index] if group(index) is None else [other for other in reader.indexes() if group(other) == group(index)]


def reason_without_steps(index: RunIndex, file_problems: list[str]) -> str:
    """Why a run that holds summaries of ours shows no steps."""
    problems = index.problems + file_problems
    if index.windows:
        return "it holds profiles only"
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return problems[0] + more
    return "no step has been written yet; the first appear within 10 s of the training's start"


def stacking_order(stages: tuple[str, ...]) -> list[int]:
    """Places of `stages` in stacking order: the standard ones in theirs, then those the program named."""
    rank = {key: place for place, key in enumerate(STAGE_KEYS)}
    return sorted(range(len(stages)), key=lambda place: (rank.get(stages[place], len(rank)), place))


def seconds(ticks: float | int | None) -> float | None:
    """Ticks of a microsecond in seconds, to the nanosecond; None stays None."""
    return None if ticks is None else round(ticks / TICKS_PER_S, 9)
