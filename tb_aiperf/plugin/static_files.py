"""The built front end: a fixed list of files with fixed types, made once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STATIC = Path(__file__).parent.parent / "static"

_JAVASCRIPT = "text/javascript"
#: Pattern below the static folder -> type. Never guessed: on Windows the registry decides and may say text/plain.
_ALLOWED = {
    "index.js": _JAVASCRIPT,
    "index.css": "text/css",
    "chunks/*.js": _JAVASCRIPT,
    "LICENSES.txt": "text/plain",
}
_NOT_BUILT = b"""export function render() {
  document.documentElement.lang = "en";
  document.title = "AI performance";
  document.body.textContent =
    "The panels of AI performance for TensorBoard are not built. Run 'make frontend' in the source folder, " +
    "or install the package from a wheel, and restart TensorBoard.";
}
"""


class StaticFile(NamedTuple):
    """path: None for the page that says that the panels are not built."""

    path: Path | None
    content_type: str

    def read(self) -> bytes:
        """The file's bytes. Raises OSError."""
        return _NOT_BUILT if self.path is None else self.path.read_bytes()


def static_files(folder: Path = STATIC) -> dict[str, StaticFile]:
    """Route -> file, for what lies in `folder` now. `/index.js` is always there."""
    files = {"/index.js": StaticFile(None, _JAVASCRIPT)}
    for pattern, content_type in _ALLOWED.items():
        for path in sorted(folder.glob(pattern)):
            files[f"/{path.relative_to(folder).as_posix()}"] = StaticFile(path, content_type)
    return files
