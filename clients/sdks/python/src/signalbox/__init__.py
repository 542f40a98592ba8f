"""Client of the Signalbox API for server-side conversion events."""

from . import consent, hash, types, webhooks
from ._async_client import AsyncSignalbox
from ._call import ResponseFacts, last_response
from ._client import Signalbox
from ._errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    InvalidArgumentError,
    InvalidResponseError,
    NotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    QueueClosedError,
    QueueFullError,
    RateLimitError,
    RedirectError,
    SignalboxError,
    UnprocessableEntityError,
    UnsupportedMediaTypeError,
)
from ._hooks import Hooks, RequestInfo, ResponseInfo, RetryInfo, WarningInfo
from ._queue import CloseResult, FlushResult, Outcome
from ._settings import AppInfo, CallOptions
from ._task_queue import AsyncEventQueue
from ._thread_queue import EventQueue
from ._version import __version__

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AppInfo",
    "AsyncEventQueue",
    "AsyncSignalbox",
    "AuthenticationError",
    "BadRequestError",
    "CallOptions",
    "CloseResult",
    "ConflictError",
    "EventQueue",
    "FlushResult",
    "Hooks",
    "InternalServerError",
    "InvalidArgumentError",
    "InvalidResponseError",
    "NotFoundError",
    "Outcome",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "QueueClosedError",
    "QueueFullError",
    "RateLimitError",
    "RedirectError",
    "RequestInfo",
    "ResponseFacts",
    "ResponseInfo",
    "RetryInfo",
    "Signalbox",
    "SignalboxError",
    "UnprocessableEntityError",
    "UnsupportedMediaTypeError",
    "WarningInfo",
    "__version__",
    "consent",
    "hash",
    "last_response",
    "types",
    "webhooks",
]
