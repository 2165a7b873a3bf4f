"""Query parameters, checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tb_aiperf.reports import BadRequestError

_LIMIT = 1 << 62
#: Python itself refuses to read some thousand digits.
_MAX_DIGITS = 100


class Parameters:
    """The parameters of one request. Raises BadRequestError for one that is not in `allowed`."""

    def __init__(self, values: Mapping[str, str], allowed: Collection[str]) -> None:
        unknown = [name for name in values if name not in allowed]
        if unknown:
            raise BadRequestError(
                f"parameter {unknown[0]!r} is unknown; this route takes {', '.join(allowed) or 'none'}"
            )
        self._values = values

    def text(self, name: str) -> str | None:
        """A parameter, or None where it is absent or empty."""
        return self._values.get(name) or None

    def required(self, name: str) -> str:
        """A parameter that must be there. Raises BadRequestError."""
        value = self.text(name)
        if value is None:
            raise BadRequestError(f"parameter {name!r} is missing; api/v1/runs lists the runs")
        return value

    def required_whole(self, name: str) -> int:
        """A whole number that must be there. Raises BadRequestError."""
        value = self.whole(name)
        if value is None:
            raise BadRequestError(f"parameter {name!r} is missing; it must be a whole number")
        return value

    def whole(self, name: str) -> int | None:
        """A whole number, or None where it is absent or empty. Raises BadRequestError."""
        value = self.text(name)
        if value is None:
            return None
        if not re.fullmatch("[-+]?[0-9]+", value):
            raise BadRequestError(f"{name} is {value!r}; it must be a whole number")
        if len(value) > _MAX_DIGITS or abs(int(value)) > _LIMIT:
            raise BadRequestError(f"{name} is {value!r}; that is too large")
        return int(value)
