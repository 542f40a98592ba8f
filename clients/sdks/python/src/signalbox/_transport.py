"""How a call is sent: with threads, and with asyncio. The two differ in how they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from . import _operations as operations
from ._call import Attempt, Call, Request
from ._deadline import limit_waits
from ._events import PreparedEvent
from ._settings import CallOptions, Settings
from .types import CreatedEvent

Body = TypeVar("Body")


class Transport:
    """Sends requests, again if they fail and repeating them is harmless."""

    def __init__(self, settings: Settings, http_client: httpx.Client | None) -> None:
        self._settings = settings
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
