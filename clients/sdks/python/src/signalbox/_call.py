"""What a call does, without input and output: the clients of threads and of asyncio share it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

import httpx

from ._body import BODY_BYTES_MAX, encode_body, parse_body
from ._errors import (
    Answer,
    APIConnectionError,
    APIError,
    APITimeoutError,
    InvalidArgumentError,
    RateLimitError,
    error_class,
    read_request_id,
)
from ._hooks import RequestInfo, ResponseInfo, RetryInfo
from ._retry import plan_retry
from ._settings import CallOptions, Secret, Settings

Body = TypeVar("Body")


@dataclass(frozen=True, kw_only=True)
class Request(Generic[Body]):
    """A request of the API, before it is sent. `Body` is that of its answer."""

    operation: str
    """Such as `events.create`."""
    method: str
    path: str
    """Below the base URL; ids are encoded."""
    query: Mapping[str, str | int | None] = field(default_factory=dict)
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    content: Callable[[], bytes] | None = field(default=None, repr=False)
    """A body that is JSON already, in place of `body`. Read before each attempt."""
    receive: Callable[[Answer, int], APIError | None] | None = field(default=None, repr=False)
    """
    Takes the answer of an attempt. An error that it returns is a failure like any other. Of such a
    request, rate limits are waited for until the call ends: many events share one limit.
    """
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key: Secret | None = None
    """In place of the token."""
    has_credential: bool = True
    is_retried: bool = True
    """Whether repeating it is harmless."""


@dataclass(frozen=True)
class ResponseFacts:
    """The facts of the answer that a result came from."""

    status: int
    headers: httpx.Headers = field(repr=False)
    request_id: str | None
    """Quote it when you contact support."""
    attempts: int
    """How many requests were made."""


class Result(dict[str, Any]):
    """A body of the API, which knows the facts of its answer."""

    __slots__ = ("facts",)

    def __init__(self, body: Mapping[str, Any], facts: ResponseFacts) -> None:
        super().__init__(body)
        self.facts = facts


def last_response(result: Mapping[str, Any]) -> ResponseFacts:
    """The status, headers, request ID and number of attempts of what a call returned."""
    if isinstance(result, Result):
        return result.facts
    raise TypeError("Pass what a call returned itself: a part or a copy of it has no response.")


class Call(Generic[Body]):
    """
    One call with its attempts. Its client makes an attempt, settles it, and waits, until there is
    no delay.
    """

    def __init__(self, settings: Settings, request: Request[Body], options: CallOptions) -> None:
        self._limits = settings.limits.merge(options)
        self._request = request
        self._hooks = settings.hooks
        self._credential = _select_credential(settings, request)
        self._url = _create_url(settings, request)
        self._headers = _prepare_headers(settings, request, self._credential)
        self._content = None if request.body is None else encode_body(request.body)
        self._deadline = time.monotonic() + self._limits.total_timeout
        self._attempts = 0
        self._waits = 0
        self._answer: Answer | None = None

    def start_attempt(self) -> Attempt:
        self._attempts += 1
        request = self._request
        info = RequestInfo(
            operation=request.operation,
            method=request.method,
            path=request.path,
            attempt=self._attempts,
        )
        if self._hooks.on_request:
            self._hooks.on_request(info)
        limit = min(self._limits.timeout, self._deadline - time.monotonic())
        return Attempt(self, info, limit=limit)

    def create_request(self, info: RequestInfo) -> httpx.Request:
        headers = httpx.Headers(info.headers)
        headers.update(self._headers)
        content = self._request.content() if self._request.content else self._content
        return httpx.Request(info.method, self._url, headers=headers, content=content)

    def end_attempt(self, attempt: Attempt) -> None:
        """Tells the hook, whether an answer came or not."""
        if self._hooks.on_response:
            response = ResponseInfo(
                **vars(attempt.info),
                status=attempt.status,
                request_id=attempt.request_id,
                duration=time.monotonic() - attempt.started_at,
            )
            self._hooks.on_response(response)

    def settle(self, attempt: Attempt) -> float | None:
        """
        Seconds before the next attempt; `None` when there is a result. Raises the error of an
        attempt after which there is none.
        """
        error = attempt.error or self._receive(attempt.read_answer())
        if error is None:
            return None
        error.attempts = self._attempts
        is_waited_for = self._request.receive and isinstance(error, RateLimitError)
        if is_waited_for and self._limits.max_retries > 0:
            self._waits += 1
        attempts = self._attempts - self._waits
        is_last = not self._request.is_retried or attempts > self._limits.max_retries
        delay = None if is_last else plan_retry(error, self._attempts)
        if delay is None or time.monotonic() + delay >= self._deadline:
            raise error
        if self._hooks.on_retry:
            self._hooks.on_retry(RetryInfo(**vars(attempt.info), delay=delay))
        return delay

    def _receive(self, answer: Answer) -> APIError | None:
        """The error of an answer, unless it is a success with a JSON object."""
        if 200 <= answer.status < 300 and isinstance(answer.body, dict):
            self._answer = answer
            receive = self._request.receive
            return receive(answer, self._attempts) if receive else None
        return error_class(answer.status)(self.redact(_describe(answer)), answer)

    def result(self) -> Body:
        answer = cast(Answer, self._answer)
        facts = ResponseFacts(
            status=answer.status,
            headers=answer.headers,
            request_id=read_request_id(answer.headers),
            attempts=self._attempts,
        )
        return cast(Body, Result(answer.body, facts))

    def redact(self, text: str) -> str:
        return text if self._credential is None else self._credential.redact(text)


class Attempt:
    """One request and what is known of its answer. A context: leaving it tells the hook."""

    error: APIConnectionError | None = None
    status: int | None = None
    request_id: str | None = None

    def __init__(self, call: Call[Any], info: RequestInfo, *, limit: float) -> None:
        self._call = call
        self.info = info
        self.request = call.create_request(info)
        self.limit = limit
        """Seconds for this attempt."""
        self.started_at = time.monotonic()
        self._headers = httpx.Headers()
        self._bytes = bytearray()
        self._is_too_large = False

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *_error: object) -> None:
        self._call.end_attempt(self)

    @property
    def remaining(self) -> float:
        """Seconds that are left for this attempt."""
        return self.limit - (time.monotonic() - self.started_at)

    def receive_headers(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self._headers = response.headers
        self.request_id = read_request_id(response.headers)

    def receive_bytes(self, chunk: bytes) -> bool:
        """Whether more can be read: an answer that is too large is not kept."""
        self._is_too_large = len(self._bytes) + len(chunk) > BODY_BYTES_MAX
        self._bytes += b"" if self._is_too_large else chunk
        return not self._is_too_large

    def fail(self, error: Exception) -> None:
        """Keeps the name and the message of an error below, and nothing else of it."""
        if isinstance(error, (httpx.TimeoutException, TimeoutError)):
            self.error = APITimeoutError(f"No complete answer came within {self.limit:g} s.")
            return
        self.error = APIConnectionError("The request failed before an answer was complete.")
        message = self._call.redact(str(error))
        self.error.__cause__ = ConnectionError(f"{type(error).__name__}: {message}")

    def read_answer(self) -> Answer:
        raw_body = "" if self._is_too_large else bytes(self._bytes).decode("utf-8-sig", "replace")
        status = cast(int, self.status)
        body = None if self._is_too_large else parse_body(raw_body)
        return Answer(status=status, headers=self._headers, raw_body=raw_body, body=body)


def _select_credential(settings: Settings, request: Request[Any]) -> Secret | None:
    if not request.has_credential:
        return None
    return request.api_key or settings.require_token()


def _create_url(settings: Settings, request: Request[Any]) -> httpx.URL:
    given = [(name, value) for name, value in request.query.items() if value is not None]
    query = f"?{urlencode(given)}" if given else ""
    try:
        return httpx.URL(f"{settings.base_url}{request.path}{query}")
    except httpx.InvalidURL:
        raise InvalidArgumentError("An id or a parameter is too long for a URL.") from None


def _prepare_headers(
    settings: Settings, request: Request[Any], credential: Secret | None
) -> httpx.Headers:
    headers = httpx.Headers({"Accept": "application/json", "User-Agent": settings.user_agent})
    headers.update(dict(request.headers))
    if request.body is not None or request.content is not None:
        headers["Content-Type"] = "application/json"
    if credential is not None:
        headers["Authorization"] = f"Bearer {credential.reveal()}"
    return headers


def _describe(answer: Answer) -> str:
    if answer.status < 300:
        return f"The answer with status {answer.status} is not a JSON object."
    if answer.status < 400:
        return f"The service answered with a redirect ({answer.status}), which is not followed."
    message = answer.body.get("message") if isinstance(answer.body, dict) else None
    return message if isinstance(message, str) and message else f"Status {answer.status}."
