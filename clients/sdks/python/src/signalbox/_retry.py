from __future__ import annotations

import random

from ._errors import APIConnectionError, APIError

_RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504, *range(520, 528)})
"""520 to 527 are those of Cloudflare, which could not reach the service behind it."""
_FIRST_DELAY_SECONDS = 0.5
_DELAY_SECONDS_MAX = 8.0
RETRY_AFTER_SECONDS_MAX = 60


def plan_retry(error: APIError | APIConnectionError, attempt: int) -> float | None:
    """
    Seconds before the next attempt, or `None` when there must be none. `attempt` counts from 1.

    Exponential with jitter, so that clients that failed together do not return together. The
    service knows better: Retry-After replaces the delay, and one above a minute is for the caller
    to decide.
    """
    seconds = None
    if isinstance(error, APIError):
        if not _is_retried(error):
            return None
        seconds = error.retry_after
    if seconds is not None and seconds > RETRY_AFTER_SECONDS_MAX:
        return None
    if seconds is not None and seconds > 0:
        return float(seconds)
    # An exponent of 10 is far above the longest delay; a large one would overflow.
    delay = min(_FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10), _DELAY_SECONDS_MAX)
    return delay * (1 - random.random() / 4)


def _is_retried(error: APIError) -> bool:
    hint = error.headers.get("x-should-retry", "").lower()
    if hint == "false":
        return False
    return error.status in _RETRIED_STATUSES or (hint == "true" and error.status >= 500)
