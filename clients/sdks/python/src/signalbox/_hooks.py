from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class RequestInfo:
    """What hooks learn about an attempt. It contains no credential and no body."""

    operation: str
    """Such as `events.create`."""
    method: str
    path: str
    """Below the base URL, without the query."""
    attempt: int
    """From 1."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Headers to add to this attempt, such as `traceparent`; empty at first."""
    state: dict[str, Any] = field(default_factory=dict, repr=False)
    """Yours: what a hook puts here, the later hooks of this attempt find."""


@dataclass(kw_only=True)
class ResponseInfo(RequestInfo):
    status: int | None
    """`None` when no answer came."""
    request_id: str | None
    duration: float
    """Seconds that the attempt took, body included."""


@dataclass(kw_only=True)
class RetryInfo(RequestInfo):
    delay: float
    """Seconds before the next attempt."""


@dataclass(kw_only=True)
class WarningInfo:
    """What a success says that a program may not expect."""

    operation: str
    """Such as `events.create`."""
    event_id: str
    code: str
    """That of the notice: `differs_from_stored`."""
    message: str


@dataclass(kw_only=True, frozen=True)
class Hooks:
    """Called around each attempt, in its thread or task. What a hook raises, the call raises."""

    on_request: Callable[[RequestInfo], None] | None = None
    on_response: Callable[[ResponseInfo], None] | None = None
    on_retry: Callable[[RetryInfo], None] | None = None
    on_warning: Callable[[WarningInfo], None] | None = None
    """A duplicate differs from what is stored under its id. Logged as `signalbox` by default."""
