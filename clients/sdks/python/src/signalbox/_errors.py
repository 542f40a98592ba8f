from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any, ClassVar

import httpx

from ._types import EventResult


class SignalboxError(Exception):
    """Every error that this package raises, except that of your own cancellation."""

    type: ClassVar[str] = "signalbox"
    """Names the kind of error in logs; the same in the clients of all languages."""
    results: list[EventResult]
    """Of `events.create_events`: the results of the events before those of the failed request."""


class InvalidArgumentError(SignalboxError, ValueError):
    """Refused before any request: the message says what is wrong."""

    type = "invalid_argument"


class QueueFullError(SignalboxError):
    """The queue has no room. The event was not added: keep it, or flush and add it again."""

    type = "queue_full"


class QueueClosedError(SignalboxError):
    """The queue was closed. The event was not added."""

    type = "queue_closed"


class APIConnectionError(SignalboxError):
    """There was no answer, or it broke off. The request may have been processed."""

    type = "connection"
    attempts = 1
    """How many requests were made."""


class APITimeoutError(APIConnectionError):
    """An attempt, or the whole call, took longer than its timeout."""

    type = "timeout"


class Answer:
    """A complete answer. It has no printed form: headers and bodies may repeat what was sent."""

    def __init__(self, *, status: int, headers: httpx.Headers, raw_body: str, body: Any) -> None:
        self.status = status
        self.headers = headers
        self.raw_body = raw_body
        self.body = body
        """The body as JSON; `None` when it is none."""

    def __repr__(self) -> str:
        return f"<Answer {self.status}>"


class APIError(SignalboxError):
    """The service answered with an error. No log prints its headers and its body."""

    type = "api"
    attempts = 1
    """How many requests were made."""

    def __init__(self, message: str, answer: Answer) -> None:
        super().__init__(message)
        self._answer = answer

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers such as those of Celery pass errors on as pickles.
        return type(self), (str(self), self._answer), {"attempts": self.attempts}

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def request_id(self) -> str | None:
        """Quote it when you contact support."""
        return read_request_id(self.headers)

    @property
    def headers(self) -> httpx.Headers:
        return self._answer.headers

    @property
    def raw_body(self) -> str:
        """The body as it came."""
        return self._answer.raw_body

    @property
    def body(self) -> Any:
        """The body as JSON; `None` when it is none."""
        return self._answer.body

    @property
    def errors(self) -> dict[str, list[str]]:
        """What is wrong with each field, by its dotted path. Empty unless the service says it."""
        errors = self.body.get("errors") if isinstance(self.body, Mapping) else None
        if not isinstance(errors, Mapping):
            return {}
        return {name: value for name, value in errors.items() if _is_sentences(value)}

    @property
    def retry_after(self) -> int | None:
        """Seconds that the service asks to wait; `None` when it does not say."""
        return parse_retry_after(self.headers.get("retry-after"), time.time())


class BadRequestError(APIError):
    """400"""

    type = "bad_request"


class AuthenticationError(APIError):
    """401: the token is missing, mistyped or revoked."""

    type = "authentication"


class PermissionDeniedError(APIError):
    """403"""

    type = "permission_denied"


class NotFoundError(APIError):
    """404: nothing of this tracker has the id."""

    type = "not_found"


class ConflictError(APIError):
    """409"""

    type = "conflict"


class PayloadTooLargeError(APIError):
    """413: the body is larger than 64 KiB."""

    type = "payload_too_large"


class UnsupportedMediaTypeError(APIError):
    """415"""

    type = "unsupported_media_type"


class UnprocessableEntityError(APIError):
    """422: `errors` names every invalid field."""

    type = "unprocessable_entity"


class RateLimitError(APIError):
    """429"""

    type = "rate_limit"


class InternalServerError(APIError):
    """500 to 599"""

    type = "internal_server"


class RedirectError(APIError):
    """3xx: redirects are not followed, because they would send the token elsewhere."""

    type = "redirect"


class InvalidResponseError(APIError):
    """A success whose body is not a JSON object, such as the page of a proxy."""

    type = "invalid_response"


_CLASSES: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: PayloadTooLargeError,
    415: UnsupportedMediaTypeError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def error_class(status: int) -> type[APIError]:
    """The class of error for an answer that is not a success with a JSON object."""
    if status < 300:
        return InvalidResponseError
    if status < 400:
        return RedirectError
    if status >= 500:
        return InternalServerError
    return _CLASSES.get(status, APIError)


def read_request_id(headers: httpx.Headers) -> str | None:
    request_id: str | None = headers.get("request-id") or headers.get("x-request-id")
    return request_id


def parse_retry_after(text: str | None, now: float) -> int | None:
    """Seconds from a number or an HTTP date. `None` when it is neither."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return int(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # A date with the zone -0000 has none for Python, but it is one of UTC.
    return math.ceil((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def _is_sentences(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
