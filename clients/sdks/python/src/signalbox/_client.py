from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Literal, Self, Unpack

import httpx

from . import _operations as operations
from ._errors import InvalidArgumentError
from ._events import DeliveryWait, EventPages, prepare_event
from ._hooks import Hooks
from ._operations import NOT_GIVEN, NotGiven
from ._queue import Outcome, QueueState
from ._settings import CallOptions, resolve_settings
from ._thread_queue import EventQueue
from ._transport import Transport
from .types import (
    CreatedEvent,
    DeletionResult,
    EmqReport,
    Event,
    EventDetail,
    EventList,
    EventResult,
    EventSubmission,
    NewVerification,
    ReconciliationReports,
    ReplayResult,
    SandboxDiscovery,
    SandboxEventResult,
    SandboxEventSubmission,
    SandboxKey,
    TestMode,
    TestPurchase,
)


class Signalbox:
    """
    A client of the Signalbox API. Make one in each process, keep it, and close it at the end. Its
    threads may share it.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        base_url: str | None = None,
        http_client: httpx.Client | None = None,
        hooks: Hooks | None = None,
        app_info: tuple[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """
        `token` is the secret of a signal tracker, SIGNALBOX_TOKEN by default. `base_url` is such as
        `https://events.example/api/v1`, SIGNALBOX_BASE_URL by default. `http_client` is your own,
        for a proxy or a test; you close it. `app_info` is the name and version of your program.
        Raises an InvalidArgumentError that names the argument or the variable which is wrong.
        """
        if http_client is not None and not isinstance(http_client, httpx.Client):
            raise InvalidArgumentError("http_client must be an httpx.Client.")
        settings = resolve_settings(
            token=token, base_url=base_url, hooks=hooks, app_info=app_info, options=options
        )
        self._base_url = settings.base_url
        self._transport = Transport(settings, http_client)
        self.events = Events(self._transport)
        self.destinations = Destinations(self._transport)
        self.deliveries = Deliveries(self._transport)
        self.reports = Reports(self._transport)
        self.user_data = UserData(self._transport)
        self.sandbox = Sandbox(self._transport)

    def queue(
        self,
        *,
        capacity: int = 1_000,
        concurrency: int = 8,
        batch_size: int = 100,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> EventQueue:
        """
        A queue in memory that sends events in the background. Flush or close it before you exit.
        It holds `capacity` events and makes `concurrency` requests at the same time, each with at
        most `batch_size` events, which is at most 200; 1 is for single events. `on_outcome` is
        called in the background with each outcome; it must not flush or close the queue.
        """
        state = QueueState(capacity, concurrency, batch_size)
        return EventQueue(self._transport, state, on_outcome)

    def close(self) -> None:
        """Closes its connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Signalbox {self._base_url}>"


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Events(Resource):
    def create(self, event: EventSubmission, **options: Unpack[CallOptions]) -> CreatedEvent:
        """Submits one event. Without an id it gets one before the first attempt."""
        return self._transport.send_event(prepare_event(event), options)

    def create_events(
        self, events: Iterable[EventSubmission], **options: Unpack[CallOptions]
    ) -> list[EventResult]:
        """
        Submits many events, 200 in a request, and returns their results by position. It raises what
        is wrong with a request; what is wrong with an event is its result.
        """
        return self._transport.create_events(events, options)

    def verify(self, **options: Unpack[CallOptions]) -> NewVerification:
        """Checks that the token can write events."""
        return self._transport.send(operations.verify(), options)

    def get(
        self,
        event_id: str,
        *,
        space: Literal["secret", "publishable"] | None = None,
        **options: Unpack[CallOptions],
    ) -> EventDetail:
        """
        One event with its deliveries and why each is in its state. `space` says whether the tracker
        secret or a publishable key sent the event; the first by default.
        """
        return self._transport.send(operations.get_event(event_id, space), options)

    def list(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        **options: Unpack[CallOptions],
    ) -> EventList:
        """One page of events, newest first. Pages count from 1 and have at most 100 events."""
        return self._transport.send(operations.list_events(page, per_page), options)

    def iterate(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[Event]:
        """The events of all pages, newest first. Asks for a page when it is needed."""
        pages = EventPages(page)
        while not pages.is_last:
            found = self.list(page=pages.parameter, per_page=per_page, **options)
            yield from pages.receive(found)

    def wait_for_delivery(
        self,
        event_id: str,
        *,
        space: Literal["secret", "publishable"] | None = None,
        timeout: float = 60.0,
    ) -> EventDetail:
        """Reads an event until its deliveries are final. Raises an APITimeoutError otherwise."""
        wait = DeliveryWait(timeout)
        while (delay := wait.settle(detail := self.get(event_id, space=space))) is not None:
            time.sleep(delay)
        return detail


class Destinations(Resource):
    def set_test_mode(
        self,
        destination_id: str,
        *,
        enabled: bool,
        test_event_code: str | NotGiven | None = NOT_GIVEN,
        **options: Unpack[CallOptions],
    ) -> TestMode:
        """Turns test mode on or off. A code that is left out is kept; `None` clears it."""
        request = operations.set_test_mode(destination_id, enabled, test_event_code)
        return self._transport.send(request, options)

    def send_test_purchase(
        self,
        destination_id: str,
        *,
        value: str | None = None,
        currency: str | None = None,
        order_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> TestPurchase:
        """Sends a purchase to the platform while test mode is on. Never retried."""
        body = {"value": value, "currency": currency, "order_id": order_id}
        request = operations.send_test_purchase(destination_id, body)
        return self._transport.send(request, options)


class Deliveries(Resource):
    def replay(
        self,
        *,
        delivery_ids: Sequence[int] | None = None,
        event_name: str | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> ReplayResult:
        """Queues failed deliveries again. Never retried."""
        body = {"delivery_ids": delivery_ids, "event_name": event_name, "limit": limit}
        return self._transport.send(operations.replay(body), options)


class Reports(Resource):
    def reconciliation(
        self, *, date: str | datetime.date | None = None, **options: Unpack[CallOptions]
    ) -> ReconciliationReports:
        """What the platform counted beside what was accepted, for one day."""
        return self._transport.send(operations.reconciliation(date), options)

    def match_quality(self, **options: Unpack[CallOptions]) -> EmqReport:
        """The platform's scores of event match quality."""
        return self._transport.send(operations.match_quality(), options)


class UserData(Resource):
    def delete(
        self,
        *,
        identifier_hash: str,
        identifier_type: Literal["email", "phone", "external_id"] | None = None,
        **options: Unpack[CallOptions],
    ) -> DeletionResult:
        """Deletes what is stored of a person, by the digest of an identifier (see `hash`)."""
        body = {"identifier_hash": identifier_hash, "identifier_type": identifier_type}
        return self._transport.send(operations.delete_user_data(body), options)


class Sandbox(Resource):
    """Needs no token and stores nothing."""

    def discover(self, **options: Unpack[CallOptions]) -> SandboxDiscovery:
        return self._transport.send(operations.discover(), options)

    def create_key(self, **options: Unpack[CallOptions]) -> SandboxKey:
        return self._transport.send(operations.create_key(), options)

    def read_key(self, **options: Unpack[CallOptions]) -> SandboxKey:
        """A key without a write request."""
        return self._transport.send(operations.read_key(), options)

    def validate(
        self, event: SandboxEventSubmission, *, api_key: str, **options: Unpack[CallOptions]
    ) -> SandboxEventResult:
        """Says what production would do with an event."""
        return self._transport.send(operations.validate(event, api_key), options)
