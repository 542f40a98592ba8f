from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox import _thread_queue


class SimulatedThreads:
    """
    Simulated time for a client that uses the threads and timers of its language. One thread runs at
    a time, and the time moves to the next timer only when each of them waits.
    """

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the start."""
        self._current = _Fiber()
        self._main = self._current
        self._ready: deque[_Fiber] = deque()
        self._timers: list[tuple[float, int, _Fiber, int]] = []
        self._sequence = itertools.count()
        self._alive = 0
        self._is_ending = False

    def install(self, patch: pytest.MonkeyPatch, started_at: float, jitter: float) -> None:
        patch.setattr(time, "monotonic", lambda: self.now)
        patch.setattr(time, "time", lambda: started_at + self.now)
        patch.setattr(time, "sleep", self.sleep)
        patch.setattr(random, "random", lambda: jitter)
        threads = SimpleNamespace(
            Thread=lambda **options: _Thread(self, **options), Condition=lambda: _Condition(self)
        )
        # Only there: logging and the real threads below need the others.
        patch.setattr(_thread_queue, "threading", threads)

    def sleep(self, seconds: float) -> None:
        self.park(self.now + seconds)

    def interrupt_main(self, at: float) -> None:
        """What Ctrl-C does: at that time the main thread gets a KeyboardInterrupt."""
        heapq.heappush(self._timers, (at, next(self._sequence), self._main, -1))

    def finish(self) -> None:
        """Lets the other threads run to their end."""
        self._is_ending = True
        if self._alive > 0:
            self.park(None)
        assert self._alive == 0, "threads are left"

    def park(self, until: float | None) -> bool:
        """Runs other threads until this one is woken, or until a time. Whether it was woken."""
        fiber = self._current
        fiber.generation += 1
        fiber.is_parked = True
        if until is not None:
            timer = (until, next(self._sequence), fiber, fiber.generation)
            heapq.heappush(self._timers, timer)
        self._run_next()
        fiber.baton.acquire()
        if fiber.failure is not None:
            failure, fiber.failure = fiber.failure, None
            raise failure
        return fiber.was_woken

    def wake(self, fiber: _Fiber) -> None:
        if fiber.is_parked:
            self._resume_later(fiber, was_woken=True)

    def current(self) -> _Fiber:
        return self._current

    def start(self, work: Callable[[], None]) -> None:
        fiber = _Fiber()
        self._alive += 1
        self._ready.append(fiber)

        def run() -> None:
            fiber.baton.acquire()
            try:
                work()
            finally:
                self._alive -= 1
                self._run_next()

        threading.Thread(target=run, daemon=True).start()

    def _resume_later(self, fiber: _Fiber, *, was_woken: bool) -> None:
        fiber.is_parked = False
        fiber.was_woken = was_woken
        self._ready.append(fiber)

    def _run_next(self) -> None:
        while not self._ready and self._timers:
            at, _sequence, fiber, generation = heapq.heappop(self._timers)
            is_interrupt = generation == -1
            if not fiber.is_parked or not (is_interrupt or generation == fiber.generation):
                continue
            self.now = max(self.now, at)
            fiber.failure = KeyboardInterrupt() if is_interrupt else None
            self._resume_later(fiber, was_woken=False)
        if not self._ready:
            if not self._is_ending:
                self._main.failure = AssertionError("nothing is left to wait for")
            self._resume_later(self._main, was_woken=False)
        self._current = self._ready.popleft()
        self._current.baton.release()


class _Fiber:
    """A thread that runs only while it has the baton."""

    def __init__(self) -> None:
        self.baton = threading.Lock()
        self.baton.acquire()
        self.generation = 0
        self.is_parked = False
        self.was_woken = False
        self.failure: BaseException | None = None


class _Thread:
    def __init__(
        self, threads: SimulatedThreads, *, target: Callable[[], None], **_options: Any
    ) -> None:
        self._threads = threads
        self._target = target

    def start(self) -> None:
        self._threads.start(self._target)


class _Condition:
    """As threading.Condition; its lock needs no waiting, because threads take turns."""

    def __init__(self, threads: SimulatedThreads) -> None:
        self._threads = threads
        self._owner: _Fiber | None = None
        self._waiting: list[_Fiber] = []

    def __enter__(self) -> bool:
        assert self._owner is None, "a thread waits for something else while it has the lock"
        self._owner = self._threads.current()
        return True

    def __exit__(self, *_error: object) -> None:
        self._owner = None

    def wait(self, timeout: float | None = None) -> bool:
        me = self._threads.current()
        assert self._owner is me
        self._waiting.append(me)
        self._owner = None
        try:
            return self._threads.park(None if timeout is None else self._threads.now + timeout)
        finally:
            self._owner = me
            if me in self._waiting:
                self._waiting.remove(me)

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        until = None if timeout is None else self._threads.now + timeout
        while not predicate():
            remaining = None if until is None else until - self._threads.now
            if remaining is not None and remaining <= 0:
                return False
            self.wait(remaining)
        return True

    def notify_all(self) -> None:
        assert self._owner is self._threads.current()
        waiting, self._waiting = self._waiting, []
        for fiber in waiting:
            self._threads.wake(fiber)
