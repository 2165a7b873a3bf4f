"""The file by which a running training is asked for a profile, and by which it answers."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

_LOOK_EVERY_S = 0.2
#: Beside the event file of rank 0.
REQUEST_FILE = "tb_aiperf_request.json"


class Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the request file says.

    id: chosen by who asks. steps: how many are wanted. first_step: where they begin, as rank 0 answers. state: such as
    ``accepted``, ``done`` or ``refused``, empty until a training has seen it. message, window, path: of the answer.
    """

    id: str
    steps: int
    first_step: int | None = None
    state: str = ""
    message: str = ""
    window: int | None = None
    path: str | None = None


def read_request(path: str) -> Request | None:
    """The request in a file; None if there is none, or none that can be understood."""
    try:
        with open(path, "rb") as file:
            request = msgspec.json.decode(file.read(1 << 16), type=Request)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    if request.first_step is not None and request.first_step < 0:
        return None
    return request if 1 <= request.steps <= 1_000_000 else None


def write_request(path: str, request: Request) -> None:
    """Put a request (or its answer) into a file, whole or not at all. Raises OSError."""
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:
        file.write(msgspec.json.encode(request))
    os.replace(part, path)


class RequestError(OSError):
    """The request cannot be made. The message names the folder and what to do."""


@dataclass(frozen=True)
class PendingRequest:
    """A request that was made."""

    path: str
    id: str

    def wait_for(self, states: Collection[str], timeout: float | None) -> Request | None:
        """The answer once its state is one of `states`, None after `timeout` seconds without.

        Raises RequestError if another request has taken its place, or the file is gone.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while until is None or time.monotonic() < until:
            found = read_request(self.path)
            if found is None or found.id != self.id:
                reason = "is gone" if found is None else "was replaced by another one"
                raise RequestError(f"{self.path}: the request {reason}; ask again")
            if found.state in states:
                return found
            time.sleep(_LOOK_EVERY_S)
        return None


def ask(run: str | os.PathLike[str], steps: int) -> PendingRequest:
    """Ask the training that writes to a folder for a profile of its next steps. Raises RequestError."""
    folder = Path(run)
    if not folder.is_dir():
        raise RequestError(f"{folder} is no folder; give the run's own, where its event file lies")
    if not any(folder.glob("*.tfevents.*")):
        raise RequestError(f"{folder} holds no event file; give the run's own folder")
    path = str(folder / REQUEST_FILE)
    request = Request(id=uuid.uuid4().hex, steps=steps)
    try:
        write_request(path, request)
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror or error}") from error
    return PendingRequest(path, request.id)


def withdraw(request: PendingRequest) -> None:
    """Take a request back that nobody has answered."""
    found = read_request(request.path)
    if found is not None and found.id == request.id and not found.state:
        try:
            os.remove(request.path)
        except OSError:
            return
