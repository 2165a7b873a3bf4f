"""AI performance for TensorBoard: where each training step's time goes, and why."""

from tb_aiperf.version import __version__

__all__ = ["__version__"]
