"""How a call is sent: with threads, and with asyncio. The two differ in how they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import httpx

from . import _operations as operations
from ._batch import Answered, Batch, Settle, SubmittedEvents, answer_alone
from ._call import Attempt, Call, Request
from ._deadline import limit_waits
from ._events import PreparedEvent
from ._settings import CallOptions, Settings
from .types import CreatedEvent, EventResult

Body = TypeVar("Body")


class Transport:
    """Sends requests, again if they fail and repeating them is harmless."""

    def __init__(self, settings: Settings, http_client: httpx.Client | None) -> None:
        self._settings = settings
        self.has_batches = True
        """Whether the service takes batches; false once it answered that it does not."""
        self._http = http_client or httpx.Client()
        self._is_own = http_client is None

    def send(
        self,
        request: Request[Body],
        options: CallOptions,
        sleep: Callable[[float], None] | None = None,
    ) -> Body:
        call = Call(self._settings, request, options)
        while (delay := self._settle(call)) is not None:
            (sleep or time.sleep)(delay)
        return call.result()

    def send_event(
        self,
        event: PreparedEvent,
        options: CallOptions,
        sleep: Callable[[float], None] | None = None,
    ) -> CreatedEvent:
        created = self.send(operations.create_event(event), options, sleep)
        return operations.complete_created(created, event, self._settings.hooks)

    def send_batch(
        self,
        events: Sequence[PreparedEvent],
        settle: Settle,
        options: CallOptions,
        sleep: Callable[[float], None] | None = None,
    ) -> list[int]:
        """Sends events in one request. Returns the positions of what can only be sent alone."""
        batch = Batch(events, self._settings, settle)
        try:
            self.send(batch.request(), options, sleep)
        except Exception as error:
            alone = batch.fail(error)
            self.has_batches = self.has_batches and not batch.is_unsupported
            return alone
        return []

    def create_events(
        self, events: Iterable[Mapping[str, Any]], options: CallOptions
    ) -> list[EventResult]:
        submitted = SubmittedEvents(events)
        while (part := submitted.next_part(self.has_batches)) is not None:
            alone = (
                [0] if part.is_alone else self.send_batch(part.events, submitted.settle, options)
            )
            for at in alone:
                if not submitted.has_failed:
                    submitted.settle(at, self._send_alone(part.events[at], options))
        return submitted.results()

    def _send_alone(self, event: PreparedEvent, options: CallOptions) -> Answered | Exception:
        try:
            return answer_alone(event, self.send_event(event, options))
        except Exception as error:
            return answer_alone(event, error)

    def close(self) -> None:
        if self._is_own:
            self._http.close()

    def _settle(self, call: Call[Body]) -> float | None:
        with call.start_attempt() as attempt:
            try:
                self._exchange(attempt)
            except (httpx.RequestError, OSError) as error:
                attempt.fail(error)
        return call.settle(attempt)

    def _exchange(self, attempt: Attempt) -> None:
        with limit_waits(attempt):
            response = self._http.send(
                attempt.request, stream=True, auth=None, follow_redirects=False
            )
            try:
                attempt.receive_headers(response)
                for chunk in response.iter_bytes():
                    if not attempt.receive_bytes(chunk):
                        return
            finally:
                response.close()


class AsyncTransport:
    """Sends requests, again if they fail and repeating them is harmless."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._settings = settings
        self.has_batches = True
        """Whether the service takes batches; false once it answered that it does not."""
        self._http = http_client or httpx.AsyncClient()
        self._is_own = http_client is None

    async def send(self, request: Request[Body], options: CallOptions) -> Body:
        call = Call(self._settings, request, options)
        while (delay := await self._settle(call)) is not None:
            await asyncio.sleep(delay)
        return call.result()

    async def send_event(self, event: PreparedEvent, options: CallOptions) -> CreatedEvent:
        created = await self.send(operations.create_event(event), options)
        return operations.complete_created(created, event, self._settings.hooks)

    async def send_batch(
        self, events: Sequence[PreparedEvent], settle: Settle, options: CallOptions
    ) -> list[int]:
        """Sends events in one request. Returns the positions of what can only be sent alone."""
        batch = Batch(events, self._settings, settle)
        try:
            await self.send(batch.request(), options)
        except Exception as error:
            alone = batch.fail(error)
            self.has_batches = self.has_batches and not batch.is_unsupported
            return alone
        return []

    async def create_events(
        self, events: Iterable[Mapping[str, Any]], options: CallOptions
    ) -> list[EventResult]:
        submitted = SubmittedEvents(events)
        while (part := submitted.next_part(self.has_batches)) is not None:
            alone = [0]
            if not part.is_alone:
                alone = await self.send_batch(part.events, submitted.settle, options)
            for at in alone:
                if not submitted.has_failed:
                    submitted.settle(at, await self._send_alone(part.events[at], options))
        return submitted.results()

    async def _send_alone(self, event: PreparedEvent, options: CallOptions) -> Answered | Exception:
        try:
            return answer_alone(event, await self.send_event(event, options))
        except Exception as error:
            return answer_alone(event, error)

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def _settle(self, call: Call[Body]) -> float | None:
        with call.start_attempt() as attempt:
            try:
                async with asyncio.timeout(attempt.limit):
                    await self._exchange(attempt)
            except (httpx.RequestError, OSError) as error:
                attempt.fail(error)
        return call.settle(attempt)

    async def _exchange(self, attempt: Attempt) -> None:
        response = await self._http.send(
            attempt.request, stream=True, auth=None, follow_redirects=False
        )
        try:
            attempt.receive_headers(response)
            async for chunk in response.aiter_bytes():
                if not attempt.receive_bytes(chunk):
                    return
        finally:
            await response.aclose()
