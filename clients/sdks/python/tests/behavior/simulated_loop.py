from __future__ import annotations

import asyncio
import random
import selectors
import time
from typing import Any

import pytest


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop with its own time, which moves to the next timer when nothing else can run."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the start."""
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now

    def install(self, patch: pytest.MonkeyPatch, started_at: float, jitter: float) -> None:
        patch.setattr(time, "monotonic", lambda: self.now)
        patch.setattr(time, "time", lambda: started_at + self.now)
        patch.setattr(random, "random", lambda: jitter)

    def advance(self) -> None:
        """Moves the time to the next timer."""
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        times = [timer.when() for timer in timers if not timer.cancelled()]
        assert times, "nothing is left to wait for"
        self.now = max(self.now, min(times))

    def assert_nothing_left(self) -> None:
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        assert all(timer.cancelled() for timer in timers), "timers are left"
        assert not asyncio.all_tasks(self), "tasks are left"


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout > 0:
            self._loop.advance()
        return super().select(0)
