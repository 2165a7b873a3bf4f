"""How many rows the tables of a profile keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

#: Rows of `operators_by_shape` and of `device_work`. A person looks at the first hundred; each takes some 200 bytes of
#: JSON, so that a profile stays below a few megabytes.
MAX_ROWS = 2000
#: Rows of `call_sites`, which are longer: tens of frames each.
MAX_CALL_SITES = 500

#: Rows of `operators_by_step`, and values of each kind in it: a profile of many steps keeps fewer operators.
MAX_STEP_ROWS = 200
MAX_STEP_VALUES = 20_000

Row = TypeVar("Row")


def keep_largest(
    rows: Sequence[Row], time: Callable[[Row], float], what: str, limit: int
) -> tuple[list[Row], list[str]]:
    """The `limit` rows with the most time, in their order, and a warning if some are left out.

    what: the rows, in the plural.
    """
    if len(rows) <= limit:
        return list(rows), []
    kept = sorted(sorted(range(len(rows)), key=lambda place: -time(rows[place]))[:limit])
    chosen = [rows[place] for place in kept]
    total = sum(map(time, rows))
    return chosen, left_out(what, len(rows) - limit, 1 - sum(map(time, chosen)) / total if total else 0.0)


def left_out(what: str, count: int, share: float) -> list[str]:
    """The warning of rows that are not in a table; none if there are none. share: of the time of all."""
    return [f"{what}: {count:,} more are left out, which took {share:.1%} of the time of all"] if count else []
