from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from ._events import PreparedEvent
from ._queue import CloseResult, Entry, FlushResult, Outcome, QueueState, report_outcome, to_outcome
from ._settings import CallOptions
from .types import CreatedEvent, EventSubmission


class SendEvent(Protocol):
    def __call__(
        self, event: PreparedEvent, options: CallOptions, sleep: Callable[[float], None]
    ) -> CreatedEvent: ...


class EventQueue:
    """
    Sends events in threads of the background. It is in memory only: what is in it is lost with the
    process, so `flush` it before a function returns and `close` it before the process ends.
    """

    def __init__(
        self, send: SendEvent, state: QueueState, on_outcome: Callable[[Outcome], None] | None
    ) -> None:
        self._send = send
        self._state = state
        self._on_outcome = on_outcome
        self._change = threading.Condition()
        """Guards the state, and is notified when an event settles."""
        self._workers = 0
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
            if self._workers < self._state.concurrency:
                # It starts when the lock is free, and ends when nothing waits.
                threading.Thread(target=self._work, name="signalbox-queue", daemon=True).start()
                self._workers += 1
            self._state.add(prepared)
            return prepared.id

    def flush(self) -> FlushResult:
        """Waits for every event that was added before, in flight or not; returns the outcomes."""
        with self._change:
            last = self._state.added
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

    def _work(self) -> None:
        while (entry := self._start_next()) is not None:
            outcome = self._send_entry(entry)
            if outcome is not None:
                self._settle(entry, outcome)

    def _start_next(self) -> Entry | None:
        with self._change:
            entry = self._state.start_next()
            self._workers -= entry is None
            return entry

    def _send_entry(self, entry: Entry) -> Outcome | None:
        try:
            return to_outcome(entry.event, self._send(entry.event, {}, self._sleep))
        except _Ended:
            return None
        except Exception as error:
            return Outcome(entry.event.id, "failed", error=error)

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
