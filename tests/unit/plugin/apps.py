"""The plugin inside TensorBoard's own WSGI application, over the Python loader and without flags of ours."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend import application
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from tb_aiperf.plugin.plugin import AiPerfPlugin

ROOT = "/data/plugin/tb_aiperf"


class App:
    """client: of the whole application. reload: read the files again, as TensorBoard does every few seconds."""

    def __init__(self, logdir: Path, path_prefix: str = "") -> None:
        # The default of 10 samples per tag: TensorBoard without our `samples_per_plugin`.
        self._multiplexer = plugin_event_multiplexer.EventMultiplexer()
        self._logdir = logdir
        self.reload()
        provider = data_provider.MultiplexerDataProvider(self._multiplexer, str(logdir))
        self.plugin = AiPerfPlugin(base_plugin.TBContext(data_provider=provider, logdir=str(logdir)))
        self.client = Client(application.TensorBoardWSGI([self.plugin], path_prefix, data_provider=provider))
        self._root = path_prefix + ROOT

    def reload(self) -> None:
        self._multiplexer.AddRunsFromDirectory(str(self._logdir))
        self._multiplexer.Reload()

    def get(self, route: str, **query: object):
        return self.client.get(self._root + route, query_string={key: str(value) for key, value in query.items()})
