"""
The limit of an attempt in a thread. The timeouts of httpx are for each wait, so an answer that
comes byte by byte would never end, and no thread can be told from outside to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from ._call import Attempt

_current: ContextVar[Attempt | None] = ContextVar("signalbox_attempt", default=None)


@contextmanager
def limit_waits(attempt: Attempt) -> Iterator[None]:
    """Within it, the attempt waits for the network only as long as it has time left."""
    attempt.request.extensions["timeout"] = RemainingTime(attempt)
    attempt.request.extensions["trace"] = _limit_reads
    token = _current.set(attempt)
    try:
        yield
    finally:
        _current.reset(token)


class RemainingTime(dict[str, float]):
    """
    The timeouts of a request. httpx asks for one when it starts to wait for a connection, to write,
    to read headers and to read a body, so each of them gets what those before have left.
    """

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(dict.fromkeys(("pool", "connect", "write", "read"), attempt.limit))
        self._attempt = attempt

    def get(self, _name: str, _default: object = None) -> float:
        return _seconds_left(self._attempt)


_CONNECTED = (
    ".connect_tcp.complete",
    ".connect_unix_socket.complete",
    ".start_tls.complete",
)


def _limit_reads(event: str, info: Mapping[str, Any]) -> None:
    """Called by httpx when it has connected: limits every read of that connection."""
    if event.endswith(_CONNECTED):
        stream = info["return_value"]
        stream.read = partial(_read, stream.read)


def _read(read: Callable[..., bytes], max_bytes: int, timeout: float | None = None) -> bytes:
    # Another attempt may use the connection later, or a request that is not ours.
    attempt = _current.get()
    return read(max_bytes, timeout if attempt is None else _seconds_left(attempt))


def _seconds_left(attempt: Attempt) -> float:
    # Zero would mean not to wait at all, which is another error.
    return max(attempt.remaining, 0.001)
