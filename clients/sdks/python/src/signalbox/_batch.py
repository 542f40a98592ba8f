"""Many events in one request: what both clients and both queues share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import httpx

from ._call import Request, ResponseFacts, Result
from ._errors import (
    Answer,
    APIError,
    InvalidArgumentError,
    InvalidResponseError,
    SignalboxError,
    error_class,
    read_request_id,
)
from ._events import PreparedEvent, prepare_event
from ._operations import find_difference, report_warning
from ._retry import RETRY_AFTER_SECONDS_MAX
from ._settings import Settings
from .types import CreatedEvent, EventBatchResult, EventResult

BATCH_EVENTS_MAX = 200
_BATCH_BYTES_MAX = 1_048_576
_EVENT_BYTES_MAX = 65_536
_BODY_START, _BODY_END = b'{"events":[', b"]}"
_OPERATION = "events.create_events"


@dataclass(frozen=True)
class Answered:
    """The result of an event, and the answer that it came with."""

    result: EventResult
    answer: Answer = field(repr=False)
    attempts: int

    @property
    def is_stored(self) -> bool:
        return self.result["status"] in (200, 202)

    def to_created(self) -> CreatedEvent:
        """What `events.create` would have returned for the event."""
        status = self.result["status"]
        body = {name: value for name, value in self.result.items() if name != "status"}
        headers = self.answer.headers
        facts = ResponseFacts(status, headers, read_request_id(headers), self.attempts)
        return cast(CreatedEvent, Result(body, facts))

    def to_error(self) -> APIError:
        """The error that `events.create` would have raised for the event."""
        status = self.result["status"]
        headers = httpx.Headers(self.answer.headers)
        headers.pop("retry-after", None)
        if "retry_after" in self.result:
            headers["retry-after"] = str(self.result["retry_after"])
        answer = Answer(
            status=status, headers=headers, raw_body=json.dumps(self.result), body=self.result
        )
        error = error_class(status)(self.result.get("message", f"Status {status}."), answer)
        error.attempts = self.attempts
        return error


Settle = Callable[[int, "Answered | Exception"], None]
"""Called once for each event, by its position, when nothing more can change."""


class Batch:
    """
    Events that are within the limits, in one request. Those that the service could not store at the
    time are sent again in the next attempt.
    """

    def __init__(
        self,
        events: Sequence[PreparedEvent],
        settings: Settings,
        settle: Settle,
    ) -> None:
        self._events = events
        self._settings = settings
        self._settle = settle
        self._pending = list(range(len(events)))
        self._last: dict[int, Answered] = {}
        self.is_unsupported = False
        """The service is older than batches."""

    def request(self) -> Request[EventBatchResult]:
        return Request(
            operation=_OPERATION,
            method="POST",
            path="/events/batch",
            content=self._content,
            receive=self._receive,
        )

    def fail(self, error: Exception) -> list[int]:
        """
        Settles what is pending. Returns what it did not settle because it can only be sent one by
        one: the service is older than batches, or a proxy takes no body of this size.
        """
        status = error.status if isinstance(error, APIError) and not self._last else None
        self.is_unsupported = status in (404, 405)
        if self.is_unsupported or status == 413:
            return self._pending
        # A hook that raises is heard.
        known = self._last if isinstance(error, SignalboxError) else {}
        for position in self._pending:
            self._settle(position, known.get(position, error))
        return []

    def _content(self) -> bytes:
        parts = (self._events[position].content for position in self._pending)
        return _BODY_START + b",".join(parts) + _BODY_END

    def _receive(self, answer: Answer, attempts: int) -> APIError | None:
        results = self._read_results(answer)
        if results is None:
            return InvalidResponseError("The answer does not have a result for each event.", answer)
        sent = [
            (position, Answered(result, answer, attempts))
            for position, result in zip(self._pending, results, strict=True)
        ]
        self._last = {at: answered for at, answered in sent if _may_store_later(answered.result)}
        self._pending = list(self._last)
        for position, answered in sent:
            if position not in self._last:
                self._settle(position, self._warn(answered))
        if not self._last:
            return None
        # That of the event which must wait longest, so that one delay is enough for all of them.
        longest = max(self._last.values(), key=lambda one: one.result.get("retry_after") or 0)
        return longest.to_error()

    def _read_results(self, answer: Answer) -> list[EventResult] | None:
        results = answer.body.get("results")
        if not isinstance(results, list) or len(results) != len(self._pending):
            return None
        for position, result in zip(self._pending, results, strict=True):
            if not isinstance(result, dict) or type(result.get("status")) is not int:
                return None
            # Of refused events too: a caller that sends one again needs the id that it had.
            if result.get("event_id") is None:
                result["event_id"] = self._events[position].id
            if isinstance(result.get("message"), str):
                result["message"] = self._settings.require_token().redact(result["message"])
        return results

    def _warn(self, answered: Answered) -> Answered | Exception:
        try:
            report_warning(self._settings.hooks, find_difference(answered.result, _OPERATION))
            return answered
        except Exception as error:
            return error


def _may_store_later(result: EventResult) -> bool:
    """As for a request: to wait longer than this is for the caller to decide."""
    if result["status"] not in (429, 503):
        return False
    return (result.get("retry_after") or 0) <= RETRY_AFTER_SECONDS_MAX


def count_batch(events: Iterable[PreparedEvent], events_max: int) -> int:
    """How many events at the front fit into a request; 0 if the first is too large for one."""
    count = 0
    size = len(_BODY_START) + len(_BODY_END)
    for event in events:
        size += len(event.content) + 1
        is_too_large = len(event.content) > _EVENT_BYTES_MAX or size > _BATCH_BYTES_MAX
        if count >= events_max or is_too_large:
            break
        count += 1
    return count


@dataclass(frozen=True)
class Part:
    """The events of the next request."""

    events: list[PreparedEvent]
    is_alone: bool
    """One event that is not sent in a batch."""


class SubmittedEvents:
    """The events of a call, and what is known of them."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        if isinstance(events, (str, bytes, Mapping)) or not isinstance(events, Iterable):
            raise InvalidArgumentError("Events must be a list.")
        self._results: list[EventResult | None] = []
        self._waiting: list[tuple[int, PreparedEvent]] = []
        self._sent: list[int] = []
        self._failure: Exception | None = None
        for event in events:
            self._add(event)

    def _add(self, event: Mapping[str, Any]) -> None:
        position = len(self._results)
        self._results.append(None)
        try:
            self._waiting.append((position, prepare_event(event)))
        except InvalidArgumentError as error:
            # The others are sent: an event that cannot be JSON is refused like an invalid one.
            self._results[position] = {"status": 422, "message": str(error)}

    def next_part(self, has_batches: bool) -> Part | None:
        """Raises the failure of the part before, with the `results` of the events before that."""
        if self._failure is not None:
            if isinstance(self._failure, SignalboxError):
                self._failure.results = self.results(self._sent[0])
            raise self._failure
        if not self._waiting:
            return None
        front = self._waiting[:BATCH_EVENTS_MAX]
        events = [event for _, event in front]
        count = count_batch(events, BATCH_EVENTS_MAX) if has_batches else 0
        self._sent = [position for position, _ in front[: count or 1]]
        del self._waiting[: len(self._sent)]
        return Part(events[: len(self._sent)], is_alone=count == 0)

    def settle(self, at: int, settlement: Answered | Exception) -> None:
        """`at` is the position in the part."""
        if isinstance(settlement, Answered):
            self._results[self._sent[at]] = settlement.result
        elif self._failure is None:
            self._failure = settlement

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def results(self, end: int | None = None) -> list[EventResult]:
        return cast(list[EventResult], self._results[:end])


_RESULT_STATUSES = frozenset({400, 413, 422, 429, 503})
"""Statuses that a result can have; others are about the request and not about its event."""


def answer_alone(event: PreparedEvent, sent: CreatedEvent | Exception) -> Answered | Exception:
    """What `events.create` returned or raised for an event, as a result of a batch."""
    if isinstance(sent, APIError) and sent.status in _RESULT_STATUSES:
        result: EventResult = {
            "status": sent.status,
            "event_id": event.id,
            "message": str(sent),
        }
        if sent.errors:
            result["errors"] = sent.errors
        if sent.retry_after is not None:
            result["retry_after"] = sent.retry_after
        answer = Answer(
            status=sent.status, headers=sent.headers, raw_body=sent.raw_body, body=sent.body
        )
        return Answered(result, answer, sent.attempts)
    if isinstance(sent, Exception):
        return sent
    facts = cast(Result, sent).facts
    answer = Answer(status=facts.status, headers=facts.headers, raw_body="", body=sent)
    return Answered(cast(EventResult, {"status": facts.status, **sent}), answer, facts.attempts)
