"""Routes: HTTP around the functions of `tb_aiperf.reports`. Described in ``docs/http_api.md``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec
from isal import igzip
from tensorboard import plugin_util
from tensorboard.backend.http_util import Respond
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tb_aiperf import reports
from tb_aiperf.plugin.parameters import Parameters
from tb_aiperf.plugin.static_files import StaticFile, static_files
from tb_aiperf.reports import BadRequestError, NotFoundError
from tb_aiperf.storage.cache import BuildCache
from tb_aiperf.storage.reader import CACHE_BYTES, RunReader
from tb_aiperf.storage.source import ProviderSource
from tb_aiperf.storage.tags import PLUGIN_NAME

logger = logging.getLogger(__name__)

ANSWER_CACHE_BYTES = 32 << 20
_JSON = "application/json"
_SELECTION = ("run", "loop", "attempt")
_WINDOW = (*_SELECTION, "from", "to")
_PROFILE = ("run", "attempt", "window")

Handler = Callable[[wrappers.Request], wrappers.Response]


class AiPerfPlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """AI performance for TensorBoard."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._provider = context.data_provider
        self._decoded = BuildCache(CACHE_BYTES)
        self._answers = BuildCache(ANSWER_CACHE_BYTES)
        self._static = static_files()

    def is_active(self) -> bool:
        """False, at once: TensorBoard itself finds runs that hold our data, and every page load waits for this."""
        return False

    def data_plugin_names(self) -> tuple[str, ...]:
        """Our summaries activate us."""
        return (PLUGIN_NAME,)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Where the page comes from and what the tab is called."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="AI performance", disable_reload=False, remove_dom=False
        )

    def get_plugin_apps(self) -> dict[str, Any]:
        """Route -> WSGI application."""
        apps = {
            "/api/v1/runs": _guarded(self._runs),
            "/api/v1/overview": _guarded(self._overview),
            "/api/v1/steps": _guarded(self._steps),
            "/api/v1/steps.csv": _guarded(self._steps_csv),
            "/api/v1/profile": _guarded(self._profile),
            "/api/v1/profile-comparison": _guarded(self._profile_comparison),
            "/api/v1/timeline": _guarded(self._timeline),
        }
        for route, file in self._static.items():
            apps[route] = _guarded(_static_handler(file))
        return apps

    def _reader(self, request: wrappers.Request) -> RunReader:
        experiment = plugin_util.experiment_id(request.environ)
        source = ProviderSource(self._provider, plugin_util.context(request.environ), experiment)
        return RunReader(source, self._decoded, experiment)

    def _runs(self, request: wrappers.Request) -> wrappers.Response:
        Parameters(request.args, ())
        return _respond_json(request, _compress(reports.runs(self._reader(request))))

    def _overview(self, request: wrappers.Request) -> wrappers.Response:
        return self._answer(
            request,
            _SELECTION,
            lambda reader, given: reports.overview(
                reader, given.required("run"), given.text("loop"), given.text("attempt")
            ),
        )

    def _steps(self, request: wrappers.Request) -> wrappers.Response:
        def answer(reader: RunReader, given: Parameters) -> dict[str, Any]:
            sizes = {name: given.whole(name) for name in ("bins", "worst")}
            return reports.steps(
                reader,
                given.required("run"),
                given.text("loop"),
                given.text("attempt"),
                first=given.whole("from"),
                last=given.whole("to"),
                **{name: value for name, value in sizes.items() if value is not None},
            )

        return self._answer(request, (*_WINDOW, "bins", "worst"), answer)

    def _steps_csv(self, request: wrappers.Request) -> wrappers.Response:
        given = Parameters(request.args, _WINDOW)
        text = reports.steps_csv(
            self._reader(request),
            given.required("run"),
            given.text("loop"),
            given.text("attempt"),
            first=given.whole("from"),
            last=given.whole("to"),
        )
        headers = {
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-cache, must-revalidate",
            "Content-Disposition": 'attachment; filename="steps.csv"',
        }
        pieces: Iterator[bytes] = (piece.encode() for piece in text)
        return wrappers.Response(pieces, headers=headers, content_type="text/csv; charset=utf-8")

    def _profile(self, request: wrappers.Request) -> wrappers.Response:
        return self._answer(
            request,
            _PROFILE,
            lambda reader, given: reports.profile(
                reader, given.required("run"), given.text("attempt"), given.whole("window")
            ),
            reports.profile_identity,
        )

    def _profile_comparison(self, request: wrappers.Request) -> wrappers.Response:
        def answer(reader: RunReader, given: Parameters) -> dict[str, Any]:
            sides = (
                reports.WindowChoice(
                    given.required(f"{side}run"), given.text(f"{side}attempt"), given.whole(f"{side}window")
                )
                for side in ("", "other_")
            )
            return reports.compare_profiles(reader, *sides)

        def identity(reader: RunReader, run: str) -> object:
            return [reports.profile_identity(reader, each) for each in (run, request.args.get("other_run", ""))]

        return self._answer(request, (*_PROFILE, *(f"other_{name}" for name in _PROFILE)), answer, identity)

    def _timeline(self, request: wrappers.Request) -> wrappers.Response:
        return self._answer(
            request,
            (*_PROFILE, "index"),
            lambda reader, given: reports.timeline(
                reader,
                given.required("run"),
                given.required("attempt"),
                given.required_whole("window"),
                given.required_whole("index"),
            ),
            reports.profile_identity,
        )

    def _answer(
        self,
        request: wrappers.Request,
        allowed: Collection[str],
        answer: Callable[[RunReader, Parameters], dict[str, Any]],
        identity: Callable[[RunReader, str], object] = reports.run_identity,
    ) -> wrappers.Response:
        """Answer from the cache while what the answer rests on has not changed since."""
        given = Parameters(request.args, allowed)
        reader = self._reader(request)
        state = identity(reader, given.required("run"))
        key = (plugin_util.experiment_id(request.environ), request.path, *sorted(request.args.items()))
        body: bytes = self._answers.get(key, state, lambda _: _compress(answer(reader, given)), len)
        return _respond_json(request, body)


def _compress(value: Any) -> bytes:
    """JSON, gzipped: NaN and infinity become null. isal packs a timeline of 3 MB in 10 ms, zlib in 100."""
    return igzip.compress(msgspec.json.encode(value), compresslevel=2, mtime=0)


def _respond_json(request: wrappers.Request, body: bytes) -> wrappers.Response:
    response: wrappers.Response = Respond(request, body, _JSON, content_encoding="gzip")
    return response


def _respond_error(request: wrappers.Request, code: int, message: str) -> wrappers.Response:
    headers = [("Allow", "GET")] if code == 405 else []
    body = msgspec.json.encode({"error": message})
    response: wrappers.Response = Respond(request, body, _JSON, code=code, headers=headers)
    return response


def _static_handler(file: StaticFile) -> Handler:
    def handle(request: wrappers.Request) -> wrappers.Response:
        try:
            content = file.read()
        except OSError:
            raise NotFoundError("the file has gone since TensorBoard started; restart TensorBoard") from None
        response: wrappers.Response = Respond(request, content, file.content_type)
        return response

    return handle


def _guarded(handler: Handler) -> Any:
    """A WSGI application around `handler`: GET only, and every failure is JSON."""

    @wrappers.Request.application
    def application(request: wrappers.Request) -> wrappers.Response:
        if request.method != "GET":
            return _respond_error(request, 405, f"{request.method} is not possible here; use GET")
        try:
            return handler(request)
        except BadRequestError as error:
            return _respond_error(request, 400, str(error))
        except NotFoundError as error:
            return _respond_error(request, 404, str(error))
        except Exception:
            logger.exception("tb_aiperf: %s failed", request.path)
            return _respond_error(request, 500, "the answer could not be made; TensorBoard's log says why")

    return application
