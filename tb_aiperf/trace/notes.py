"""`Notes`: what a reading of a trace could not take at its word, counted, with the first place of each kind."""

from __future__ import annotations


class Notes:
    """Counts of peculiarities by kind. A file with a million of one kind makes one warning."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int | None]] = {}

    def add(self, kind: str, offset: int | None = None, count: int = 1) -> None:
        """Count `count` more of `kind`; offset: byte in the (inflated) file, kept for the first of its kind."""
        seen, first = self._seen.get(kind, (0, offset))
        self._seen[kind] = (seen + count, first)

    def __bool__(self) -> bool:
        return bool(self._seen)

    def warnings(self) -> list[str]:
        """One line per kind, in order of first appearance."""
        lines = []
        for kind, (count, first) in self._seen.items():
            place = [] if first is None else [f"byte {first}" if count == 1 else f"first at byte {first}"]
            times = [f"{count} times"] if count > 1 else []
            lines.append(kind + (f" ({', '.join(times + place)})" if times or place else ""))
        return lines
