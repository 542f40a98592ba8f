from __future__ import annotations

import threading
from collections.abc import Callable

from ._batch import Answered
from ._queue import (
    CloseResult,
    Entry,
    FlushResult,
    Outcome,
    QueueState,
    report_outcome,
    to_outcome,
)
from ._transport import Transport
from .types import EventSubmission


class EventQueue:
    """
    Sends events in threads of the background: in batches that are full, or 50 milliseconds after
    the first event of one. It is in memory only: what is in it is lost with the process, so `flush`
    it before a function returns and `close` it before the process ends.
    """

    def __init__(
        self,
        transport: Transport,
        state: QueueState,
        on_outcome: Callable[[Outcome], None] | None,
    ) -> None:
        self._transport = transport
        self._state = state
        self._on_outcome = on_outcome
        self._change = threading.Condition()
        """Guards the state, and is notified when an event settles."""
        self._workers = 0
        self._is_gathering = False
        """A worker waits until there are events for a batch."""
        self._is_closing = False
        self._closed: CloseResult | None = None

    @property
    def size(self) -> int:
        """How many events wait or are in flight."""
        return self._state.size

    def add(self, event: EventSubmission) -> str:
        """Adds an event and returns its id. Raises a QueueFullError or a QueueClosedError."""
        with self._change:
            prepared = self._state.prepare(event)
            if not self._is_gathering:
                self._start_worker()
            self._state.add(prepared)
            if self._state.is_due(self._transport.has_batches):
                self._change.notify_all()
            return prepared.id

    def flush(self) -> FlushResult:
        """Waits for every event that was added before, in flight or not; returns the outcomes."""
        with self._change:
            last = self._state.added
            self._send_now()
            self._change.wait_for(lambda: self._state.is_settled(last))
            return self._state.take(last)

    def close(self, timeout: float | None = None) -> CloseResult:
        """
        Refuses new events and waits for those in the queue, at most `timeout` seconds. Then it
        starts no other request, does not wait for those in flight, and names in `left` what has no
        outcome. A second call returns what the first did.
        """
        with self._change:
            self._state.is_closed = True
            self._send_now()
            self._change.wait_for(lambda: not self._is_closing)
            if self._closed is not None:
                return self._closed
            self._is_closing = True
            try:
                self._change.wait_for(lambda: self._state.size == 0, timeout)
                self._closed = self._state.end()
                return self._closed
            finally:
                # Ctrl-C ends the wait, and another close may follow.
                self._is_closing = False
                self._change.notify_all()

    def _send_now(self) -> None:
        self._state.send_now()
        self._change.notify_all()

    def _start_worker(self) -> None:
        if self._workers < self._state.concurrency:
            # It starts when the lock is free, and ends when nothing waits.
            threading.Thread(target=self._work, name="signalbox-queue", daemon=True).start()
            self._workers += 1

    def _work(self) -> None:
        while entries := self._take():
            alone = self._send(entries)
            with self._change:
                self._state.end_request(alone)
                self._change.notify_all()

    def _take(self) -> list[Entry]:
        """The events of the next request. Waits for more while there are too few for a batch."""
        with self._change:
            while True:
                entries = self._state.start_next(self._transport.has_batches)
                if entries and self._state.has_waiting and not self._is_gathering:
                    self._start_worker()
                if entries:
                    return entries
                if self._is_gathering or not self._state.is_gathering:
                    self._workers -= 1
                    return []
                self._gather()

    def _gather(self) -> None:
        self._is_gathering = True
        try:
            if not self._change.wait_for(self._is_gathered, self._state.seconds_to_gather()):
                self._state.send_now()
        finally:
            self._is_gathering = False

    def _is_gathered(self) -> bool:
        return self._state.is_due(self._transport.has_batches) or not self._state.is_gathering

    def _send(self, entries: list[Entry]) -> list[Entry]:
        """Returns the events that can only be sent one by one."""
        try:
            if len(entries) > 1:
                return self._send_batch(entries)
            [entry] = entries
            try:
                created = self._transport.send_event(entry.event, {}, self._sleep)
                outcome = to_outcome(entry.event, created)
            except Exception as error:
                outcome = to_outcome(entry.event, error)
            self._settle(entry, outcome)
        except _Ended:
            pass
        return []

    def _send_batch(self, entries: list[Entry]) -> list[Entry]:
        def settle(at: int, settlement: Answered | Exception) -> None:
            self._settle(entries[at], to_outcome(entries[at].event, settlement))

        events = [entry.event for entry in entries]
        alone = self._transport.send_batch(events, settle, {}, self._sleep)
        return [entries[at] for at in alone]

    def _settle(self, entry: Entry, outcome: Outcome) -> None:
        with self._change:
            is_counted = self._state.settle(entry, outcome)
        if is_counted:
            report_outcome(self._on_outcome, outcome)
        with self._change:
            self._state.finish(entry)
            self._change.notify_all()

    def _sleep(self, seconds: float) -> None:
        """Waits for a retry, unless the queue ends."""
        with self._change:
            if self._change.wait_for(lambda: self._state.is_ended, seconds):
                raise _Ended


class _Ended(BaseException):
    """The queue ended during a delay. No `except Exception` on the way takes it for a failure."""
