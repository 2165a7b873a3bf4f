"""The entry point that TensorBoard imports at start: standard library and `base_plugin` only until `load`.

An exception here would keep TensorBoard itself from starting, so nothing may raise.
"""

from __future__ import annotations

import argparse
import logging

from tensorboard.plugins import base_plugin

logger = logging.getLogger(__name__)

PLUGIN_NAME = "tb_aiperf"


class Loader(base_plugin.TBLoader):  # type: ignore[misc]
    """Loads the plugin; it adds no flags."""

    def fix_flags(self, flags: argparse.Namespace) -> None:
        """Keep one summary per tag unless the user chose otherwise.

        Every tag of ours is read by its last summary alone, and both loaders always keep the last; keeping all would
        hold every rewrite of a long run's tail in memory.
        """
        try:
            samples = dict(getattr(flags, "samples_per_plugin", None) or {})
            samples.setdefault(PLUGIN_NAME, 1)
            flags.samples_per_plugin = samples
        except Exception:
            logger.warning("tb_aiperf: cannot set samples_per_plugin", exc_info=True)

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin | None:
        """The plugin, or None if it cannot be made."""
        try:
            from tb_aiperf.plugin.plugin import AiPerfPlugin

            return AiPerfPlugin(context)
        except Exception:
            logger.warning("tb_aiperf: the plugin cannot be loaded and is left out", exc_info=True)
            return None
