"""What the operations on events decide: ids, pages, and when a delivery is final."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ._body import encode_body, format_time
from ._errors import APITimeoutError, InvalidArgumentError
from .types import Event, EventDetail, EventList


@dataclass(frozen=True)
class PreparedEvent:
    id: str
    content: bytes = field(repr=False)
    """The body as JSON: later changes of the caller's event do not reach it."""
    is_generated: bool
    """The event had no id."""


def prepare_event(event: Mapping[str, Any]) -> PreparedEvent:
    """
    The body of an event: with an id, so that a retry does not count it twice, and with its time as
    the API takes it. The event itself is not changed. Raises an InvalidArgumentError for what
    cannot be sent.
    """
    if not isinstance(event, Mapping):
        raise InvalidArgumentError("An event must be a mapping, such as a dictionary.")
    given = event.get("event_id")
    event_id = f"evt_{uuid.uuid4()}" if given is None else given
    body = {**event, "event_id": event_id}
    if event.get("event_time") is not None:
        body["event_time"] = format_time(event["event_time"], "event_time")
    return PreparedEvent(event_id, encode_body(body), is_generated=given is None)


class EventPages:
    """
    Which page of events comes next. It counts pages itself: URLs of the answer are not followed,
    because they could name another host.
    """

    def __init__(self, page: int | None) -> None:
        self.parameter = page
        """The page to ask for; `None` for the first one."""
        self.is_last = False
        self._page = 1 if page is None else page
        self._before: set[str] = set()

    def receive(self, page: EventList) -> list[Event]:
        """The events that were not on the page before."""
        events = _as_mapping(page.get("events"))
        data = events.get("data")
        found = [event for event in data if isinstance(event, Mapping)] if data else []
        # New events push others to the next page, where they would come again.
        fresh = [event for event in found if event.get("id") not in self._before]
        self._before = {event["id"] for event in found if "id" in event}
        self.is_last = not found or not _has_next_page(events, self._page)
        self._page += 1
        self.parameter = self._page
        return cast(list[Event], fresh)


def _has_next_page(events: Mapping[str, Any], page: int) -> bool:
    last_page = events.get("last_page")
    if isinstance(last_page, (int, float)):
        return page < last_page
    return isinstance(events.get("next_page_url"), str)


_PENDING = frozenset({"queued", "sent", "retrying"})
_FIRST_DELAY_SECONDS = 0.5
_DELAY_SECONDS_MAX = 5.0


class DeliveryWait:
    """How long to wait for deliveries. A status of a later version counts as final."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._delay = _FIRST_DELAY_SECONDS

    def settle(self, detail: EventDetail) -> float | None:
        """
        Seconds until it is worth to read the event again; `None` when no delivery is pending.
        Raises an APITimeoutError when the time is over.
        """
        deliveries = map(_as_mapping, detail.get("deliveries") or [])
        if not any(delivery.get("status") in _PENDING for delivery in deliveries):
            return None
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise APITimeoutError(f"A delivery is still pending after {self._timeout:g} s.")
        delay = min(self._delay, remaining)
        self._delay = min(self._delay * 2, _DELAY_SECONDS_MAX)
        return delay


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
