"""`PatchSet` puts everything back exactly."""

from __future__ import annotations

from typing import Any

from callbacks.patches import PatchSet


class Engine:
    def run(self) -> str:
        """Runs."""
        return "engine"


def louder(original: Any) -> Any:
    def run() -> str:
        return str(original()).upper()

    return run


def test_replaced_and_restored() -> None:
    engine, patches = Engine(), PatchSet()
    assert patches.replace(engine, "run", louder)
    assert (engine.run(), Engine().run(), engine.run.__doc__) == ("ENGINE", "engine", "Runs.")
    patches.undo()
    assert engine.run() == "engine"
    assert "run" not in vars(engine)


def test_an_instance_attribute_comes_back() -> None:
    engine, patches = Engine(), PatchSet()
    own = lambda: "own"  # noqa: E731
    engine.run = own  # type: ignore[method-assign]
    patches.replace(engine, "run", louder)
    patches.replace(engine, "run", lambda original: lambda: original() + "!")
    assert engine.run() == "OWN!"
    patches.undo()
    assert vars(engine)["run"] is own


def test_what_somebody_else_put_on_top_stays() -> None:
    engine, patches = Engine(), PatchSet()
    patches.replace(engine, "run", louder)
    theirs = lambda: "theirs"  # noqa: E731
    engine.run = theirs  # type: ignore[method-assign]
    patches.undo()
    assert engine.run is theirs


def test_nothing_to_replace() -> None:
    assert not PatchSet().replace(Engine(), "stop", louder)
