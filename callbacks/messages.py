"""What the callbacks say to the person at the terminal."""

from __future__ import annotations

import logging

logger = logging.getLogger("tb_aiperf")

if not logging.root.handlers and not logger.handlers:
    # Without a logging set-up, messages should be seen all the same, as Lightning's own are.
    logger.addHandler(logging.StreamHandler())
    logger.propagate = False
if logger.level == logging.NOTSET:
    logger.setLevel(logging.INFO)


def say(message: str) -> None:
    """One line for the person who runs the training."""
    logger.info("tb_aiperf: %s", message)


def warn(message: str, error: BaseException | None = None) -> None:
    """One warning; by logging, since a warning turned into an error must not reach the training."""
    logger.warning("tb_aiperf: %s", message, exc_info=error)
