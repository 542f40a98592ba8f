from __future__ import annotations

import asyncio
from collections.abc import Callable

from ._batch import Answered
from ._queue import (
    WAIT_SECONDS,
    CloseResult,
    Entry,
    FlushResult,
    Outcome,
    QueueState,
    report_outcome,
    to_outcome,
)
from ._transport import AsyncTransport
from .types import EventSubmission


class AsyncEventQueue:
    """
    Sends events in tasks of the background: in batches that are full, or 50 milliseconds after the
    first event of one. It is in memory only: what is in it is lost with the process, so `flush` it
    before a function returns and `close` it before the process ends.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        state: QueueState,
        on_outcome: Callable[[Outcome], None] | None,
    ) -> None:
        self._transport = transport
        self._state = state
        self._on_outcome = on_outcome
        self._tasks: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()
        """Set when an event settles, and then replaced."""
        self._timer: asyncio.TimerHandle | None = None
        """Until events wait no longer for others."""
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
        self._send_now()
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
        self._send_now()
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

    def _send_now(self) -> None:
        self._state.send_now()
        self._start()

    def _start(self) -> None:
        while entries := self._state.start_next(self._transport.has_batches):
            # The loop itself keeps no reference to a task.
            task = asyncio.create_task(self._run(entries))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._state.is_gathering and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WAIT_SECONDS, self._end_wait)
        elif not self._state.is_gathering:
            self._stop_timer()

    def _end_wait(self) -> None:
        self._timer = None
        self._send_now()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _run(self, entries: list[Entry]) -> None:
        if len(entries) == 1:
            alone: list[Entry] = []
            await self._send_event(entries[0])
        else:
            alone = await self._send_batch(entries)
        self._state.end_request(alone)
        self._start()
        self._notify()

    async def _send_event(self, entry: Entry) -> None:
        try:
            created = await self._transport.send_event(entry.event, {})
            self._settle(entry, to_outcome(entry.event, created))
        except Exception as error:
            self._settle(entry, to_outcome(entry.event, error))

    async def _send_batch(self, entries: list[Entry]) -> list[Entry]:
        """Returns the events that can only be sent one by one."""

        def settle(at: int, settlement: Answered | Exception) -> None:
            self._settle(entries[at], to_outcome(entries[at].event, settlement))

        events = [entry.event for entry in entries]
        return [entries[at] for at in await self._transport.send_batch(events, settle, {})]

    def _settle(self, entry: Entry, outcome: Outcome) -> None:
        if self._state.settle(entry, outcome):
            report_outcome(self._on_outcome, outcome)
        self._state.finish(entry)
        self._notify()

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
