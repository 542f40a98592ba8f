"""Where a case runs: with threads, or with an event loop. Both move a simulated time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any, Protocol

import httpx
import pytest

from signalbox import AsyncSignalbox, Signalbox

from .scripted_transport import AsyncScriptedTransport, Script, ScriptedTransport
from .simulated_loop import SimulatedLoop
from .simulated_threads import SimulatedThreads


class World(Protocol):
    def install(self, patch: pytest.MonkeyPatch, started_at: float, jitter: float) -> None: ...
    def now(self) -> float: ...
    def create_client(self, script: Script, options: dict[str, Any]) -> Any: ...
    def run(self, story: Coroutine[Any, Any, None]) -> None: ...
    async def move_to(self, seconds: float) -> None: ...
    def cancel_at(self, seconds: float) -> None: ...


class ThreadWorld:
    """The methods of a client of threads return values, so a coroutine never waits."""

    def __init__(self) -> None:
        self._threads = SimulatedThreads()
        self.install = self._threads.install

    def now(self) -> float:
        return self._threads.now

    def create_client(self, script: Script, options: dict[str, Any]) -> Any:
        http_client = httpx.Client(transport=ScriptedTransport(script))
        return Signalbox(http_client=http_client, **options)

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        with pytest.raises(StopIteration):
            story.send(None)
        self._threads.finish()

    async def move_to(self, seconds: float) -> None:
        self._threads.sleep(seconds - self._threads.now)

    def cancel_at(self, seconds: float) -> None:
        self._threads.interrupt_main(seconds)


class LoopWorld:
    def __init__(self) -> None:
        self._loop = SimulatedLoop()
        self.install = self._loop.install

    def now(self) -> float:
        return self._loop.now

    def create_client(self, script: Script, options: dict[str, Any]) -> Any:
        http_client = httpx.AsyncClient(transport=AsyncScriptedTransport(script))
        return AsyncSignalbox(http_client=http_client, **options)

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        try:
            self._loop.run_until_complete(story)
            # Generators that a caller left early end in the loop.
            gc.collect()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.assert_nothing_left()
        finally:
            self._loop.close()

    async def move_to(self, seconds: float) -> None:
        await asyncio.sleep(seconds - self._loop.now)

    def cancel_at(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._loop.call_at(seconds, task.cancel)
