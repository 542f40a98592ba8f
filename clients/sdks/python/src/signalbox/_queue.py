"""What a queue holds, without threads and tasks: both queues share it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ._batch import BATCH_EVENTS_MAX, Answered, count_batch
from ._errors import InvalidArgumentError, QueueClosedError, QueueFullError
from ._events import PreparedEvent, prepare_event
from .types import CreatedEvent

WAIT_SECONDS = 0.05
"""How long an event waits at most for others to be sent with."""

_logger = logging.getLogger("signalbox")


@dataclass(frozen=True)
class Outcome:
    """The result of sending one event of a queue."""

    event_id: str
    status: Literal["accepted", "duplicate", "failed"]
    result: CreatedEvent | None = None
    """Unless it failed."""
    error: Exception | None = None
    """If it failed."""


@dataclass(frozen=True)
class FlushResult:
    outcomes: list[Outcome]
    """In the order of adding; each outcome is returned once."""
    omitted: int
    """Older outcomes that were not kept: the queue keeps as many as its capacity."""


@dataclass(frozen=True)
class CloseResult(FlushResult):
    left: list[str]
    """Ids of events whose outcome is not known. They may have been accepted: send them again."""


@dataclass(frozen=True)
class Entry:
    sequence: int
    event: PreparedEvent
    added_at: float


class QueueState:
    def __init__(self, capacity: int, concurrency: int, batch_size: int) -> None:
        _require_count("capacity", capacity)
        _require_count("concurrency", concurrency)
        _require_count("batch_size", batch_size)
        if batch_size > BATCH_EVENTS_MAX:
            raise InvalidArgumentError(f"batch_size must be at most {BATCH_EVENTS_MAX}.")
        self.concurrency = concurrency
        self.is_closed = False
        self.is_ended = False
        """Its deadline has passed: nothing more is sent or kept."""
        self.added = 0
        self._capacity = capacity
        self._batch_size = min(batch_size, capacity)
        self._due = 0
        """Events up to this sequence number wait for no others."""
        self._requests = 0
        self._alone: set[int] = set()
        """What a proxy refused together, by sequence number."""
        self._waiting: deque[Entry] = deque()
        self._in_flight: dict[int, Entry] = {}
        self._reporting: dict[int, Entry] = {}
        # A dict walks over what was deleted before its first entry.
        self._settled: OrderedDict[int, Outcome] = OrderedDict()
        self._omitted = 0

    @property
    def size(self) -> int:
        """How many events wait, are in flight, or are being reported to `on_outcome`."""
        return len(self._waiting) + len(self._in_flight) + len(self._reporting)

    def prepare(self, event: Mapping[str, object]) -> PreparedEvent:
        """The event to add. Raises the error of an event or of a queue that does not take it."""
        if self.is_closed:
            raise QueueClosedError("The queue is closed.")
        prepared = prepare_event(event)
        if self.size >= self._capacity:
            raise QueueFullError(
                f"The queue has no room: {self._capacity} events wait or are in flight."
            )
        return prepared

    def add(self, event: PreparedEvent) -> None:
        self.added += 1
        self._waiting.append(Entry(self.added, event, time.monotonic()))

    def send_now(self) -> None:
        """What waits now waits for no other events."""
        self._due = self.added

    @property
    def is_gathering(self) -> bool:
        """Whether events wait for others to be sent with."""
        return not self.is_ended and bool(self._waiting) and self._waiting[0].sequence > self._due

    def seconds_to_gather(self) -> float:
        """Until the first event that waits has waited long enough."""
        return max(0.0, self._waiting[0].added_at + WAIT_SECONDS - time.monotonic())

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def is_due(self, has_batches: bool) -> bool:
        is_full = len(self._waiting) >= (self._batch_size if has_batches else 1)
        return bool(self._waiting) and (is_full or self._waiting[0].sequence <= self._due)

    def start_next(self, has_batches: bool) -> list[Entry]:
        """The events of the next request; none when nothing is due or enough are in flight."""
        if self.is_ended or self._requests >= self.concurrency or not self.is_due(has_batches):
            return []
        size = self._batch_size if has_batches else 1
        front: list[Entry] = []
        for entry in islice(self._waiting, size):
            if entry.sequence in self._alone:
                break
            front.append(entry)
        count = count_batch((entry.event for entry in front), size)
        entries = [self._waiting.popleft() for _ in range(count or 1)]
        for entry in entries:
            self._alone.discard(entry.sequence)
            self._in_flight[entry.sequence] = entry
        self._requests += 1
        return entries

    def end_request(self, alone: Iterable[Entry] = ()) -> None:
        """Puts events back to the front, each to be sent by itself."""
        self._requests -= 1
        if self.is_ended:
            return
        entries = list(alone)
        for entry in entries:
            self._alone.add(entry.sequence)
            del self._in_flight[entry.sequence]
        self._waiting.extendleft(reversed(entries))

    def settle(self, entry: Entry, outcome: Outcome) -> bool:
        """
        Whether the outcome counts: after the deadline its event was named as left. If it does,
        report it and then call `finish`, so that a flush returns after its events are reported.
        """
        if self.is_ended:
            return False
        self._reporting[entry.sequence] = self._in_flight.pop(entry.sequence)
        self._settled[entry.sequence] = outcome
        if len(self._settled) > self._capacity:
            self._settled.popitem(last=False)
            self._omitted += 1
        return True

    def finish(self, entry: Entry) -> None:
        self._reporting.pop(entry.sequence, None)

    def is_settled(self, last: int) -> bool:
        """Whether every event up to a sequence number is settled and reported."""
        # Asked after each event. What waits is in order: its first entry stands for all of it.
        if self._waiting and self._waiting[0].sequence <= last:
            return False
        return all(sequence > last for sequence in (*self._in_flight, *self._reporting))

    def take(self, last: int) -> FlushResult:
        """The settled outcomes up to a sequence number, which no flush took."""
        sequences = sorted(sequence for sequence in self._settled if sequence <= last)
        outcomes = [self._settled.pop(sequence) for sequence in sequences]
        omitted, self._omitted = self._omitted, 0
        return FlushResult(outcomes, omitted)

    def end(self) -> CloseResult:
        """Forgets what is pending, and names it."""
        left = [entry.event.id for entry in self._pending()]
        self.is_ended = True
        self._waiting.clear()
        self._in_flight.clear()
        self._reporting.clear()
        taken = self.take(self.added)
        return CloseResult(taken.outcomes, taken.omitted, left)

    def _pending(self) -> list[Entry]:
        return [*sorted(self._in_flight.values(), key=lambda entry: entry.sequence), *self._waiting]


def to_outcome(event: PreparedEvent, created: CreatedEvent | Answered | Exception) -> Outcome:
    if isinstance(created, Answered):
        created = created.to_created() if created.is_stored else created.to_error()
    if isinstance(created, Exception):
        return Outcome(event.id, "failed", error=created)
    status: Literal["accepted", "duplicate"] = (
        "duplicate" if created.get("duplicate") is True else "accepted"
    )
    return Outcome(event.id, status, result=created)


def report_outcome(on_outcome: Callable[[Outcome], None] | None, outcome: Outcome) -> None:
    """An error of the program must not end what sends the other events."""
    if on_outcome is None:
        return
    try:
        on_outcome(outcome)
    except Exception:
        _logger.exception("on_outcome of a queue raised an error")


def _require_count(name: str, count: int) -> None:
    if not isinstance(count, int) or count < 1:
        raise InvalidArgumentError(f"{name} must be a whole number from 1.")
