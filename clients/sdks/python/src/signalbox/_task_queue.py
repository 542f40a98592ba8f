from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ._events import PreparedEvent
from ._queue import CloseResult, Entry, FlushResult, Outcome, QueueState, report_outcome, to_outcome
from ._settings import CallOptions
from .types import CreatedEvent, EventSubmission

SendEvent = Callable[[PreparedEvent, CallOptions], Awaitable[CreatedEvent]]


class AsyncEventQueue:
    """
    Sends events in tasks of the background. It is in memory only: what is in it is lost with the
    process, so `flush` it before a function returns and `close` it before the process ends.
    """

    def __init__(
        self, send: SendEvent, state: QueueState, on_outcome: Callable[[Outcome], None] | None
    ) -> None:
        self._send = send
        self._state = state
        self._on_outcome = on_outcome
        self._tasks: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()
        """Set when an event settles, and then replaced."""
        self._closing: asyncio.Task[CloseResult] | None = None

    @property
    def size(self) -> int:
        """How many events wait or are in flight."""
        return self._state.size

    def add(self, event: EventSubmission) -> str:
        """Adds an event and returns its id. Raises a QueueFullError or a QueueClosedError."""
        asyncio.get_running_loop()
        prepared = self._state.prepare(event)
        self._state.add(prepared)
        self._start()
        return prepared.id

    async def flush(self) -> FlushResult:
        """Waits for every event that was added before, in flight or not; returns the outcomes."""
        last = self._state.added
        while not self._state.is_settled(last):
            await self._change.wait()
        return self._state.take(last)

    async def close(self, timeout: float | None = None) -> CloseResult:
        """
        Refuses new events and waits for those in the queue, at most `timeout` seconds. Then it
        ends the requests in flight and names in `left` what has no outcome. A second call returns
        what the first did.
        """
        self._state.is_closed = True
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(timeout))
        return await asyncio.shield(self._closing)

    async def _close(self, timeout: float | None) -> CloseResult:
        try:
            async with asyncio.timeout(timeout):
                while self._state.size > 0:
                    await self._change.wait()
        except TimeoutError:
            pass
        closed = self._state.end()
        self._notify()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return closed

    def _start(self) -> None:
        while (entry := self._state.start_next()) is not None:
            # The loop itself keeps no reference to a task.
            task = asyncio.create_task(self._run(entry))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, entry: Entry) -> None:
        outcome = await self._send_entry(entry)
        is_counted = self._state.settle(entry, outcome)
        if is_counted:
            report_outcome(self._on_outcome, outcome)
        self._state.finish(entry)
        self._start()
        self._notify()

    async def _send_entry(self, entry: Entry) -> Outcome:
        try:
            return to_outcome(entry.event, await self._send(entry.event, {}))
        except Exception as error:
            return Outcome(entry.event.id, "failed", error=error)

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
