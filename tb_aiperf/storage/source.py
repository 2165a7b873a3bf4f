"""`SummarySource`: where stored summaries come from. One reads TensorBoard's data provider, one files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from tensorboard.data.provider import DataProvider, RunTagFilter

from tb_aiperf.storage.codec import Payload
from tb_aiperf.storage.tags import PLUGIN_NAME


class Entry(NamedTuple):
    """A tag in a listing. content: its index. step, wall_time: of its last event."""

    content: bytes
    step: int
    wall_time: float


Listing = dict[str, dict[str, Entry]]


class SummarySource(Protocol):
    """Summaries of this plugin by run and tag; of a tag that was written several times, the last."""

    def listing(self, run: str | None = None) -> Listing:
        """run -> tag -> entry, of all runs or of one; a run without any is left out. Cheap: no payload is read."""

    def read(self, tags: Mapping[str, Collection[str]]) -> dict[str, dict[str, Payload]]:
        """run -> tag -> payload for the given run -> tags; what does not exist is left out."""

    def problems(self, run: str) -> list[str]:
        """What could not be read in a run's files: one sentence each."""


class ProviderSource:
    """The summaries that TensorBoard has loaded, through either of its loaders. Make one for each request.

    context: `plugin_util.context(environ)`; experiment: `plugin_util.experiment_id(environ)`. Raises what the provider
    raises.
    """

    def __init__(self, provider: DataProvider, context: object, experiment: str) -> None:
        self._provider = provider
        self._where = {"ctx": context, "experiment_id": experiment, "plugin_name": PLUGIN_NAME}

    def listing(self, run: str | None = None) -> Listing:
        """See `SummarySource`."""
        wanted = None if run is None else RunTagFilter(runs=[run])
        listed = self._provider.list_tensors(**self._where, run_tag_filter=wanted)
        return {
            name: {tag: Entry(t.plugin_content, t.max_step, t.max_wall_time) for tag, t in series.items()}
            for name, series in listed.items()
            if series
        }

    def read(self, tags: Mapping[str, Collection[str]]) -> dict[str, dict[str, Payload]]:
        """See `SummarySource`."""
        names = sorted({tag for of_run in tags.values() for tag in of_run})
        if not names:
            return {}
        wanted = RunTagFilter(runs=list(tags), tags=names)
        # Sampled down to one datum, both loaders keep the last.
        read = self._provider.read_tensors(**self._where, downsample=1, run_tag_filter=wanted)
        return {
            run: {tag: memoryview(data[-1].numpy) for tag, data in series.items() if data and tag in tags[run]}
            for run, series in read.items()
            if run in tags
        }

    def problems(self, run: str) -> list[str]:
        """None: TensorBoard does not tell."""
        return []
