"""Builds what an event says about consent. Send `consent_basis: "consent"` with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from ._body import format_datetime, format_time
from ._errors import InvalidArgumentError
from .types import EventTime

Signal = bool | Literal["granted", "denied"]


def granted(
    *,
    captured_at: EventTime,
    method: str | None = None,
    version: str | None = None,
    source: str | None = None,
    policy_url: str | None = None,
    locale: str | None = None,
) -> dict[str, Any]:
    """
    The `consent` of an event whose person agreed to advertising: when, how (such as `banner` or
    `checkout`), and to which version of the text.
    """
    details = {
        "method": method,
        "version": version,
        "source": source,
        "policy_url": policy_url,
        "locale": locale,
    }
    given = {name: value for name, value in details.items() if value is not None}
    return {"advertising": "granted", "captured_at": _format_captured_at(captured_at), **given}


def mode(
    *,
    ad_storage: Signal | None = None,
    ad_user_data: Signal | None = None,
    ad_personalization: Signal | None = None,
) -> dict[str, Literal["granted", "denied"]]:
    """The `consent_mode` of an event. The service refuses an event with a denied signal."""
    signals = {
        "ad_storage": ad_storage,
        "ad_user_data": ad_user_data,
        "ad_personalization": ad_personalization,
    }
    return {
        name: "granted" if signal is True or signal == "granted" else "denied"
        for name, signal in signals.items()
        if signal is not None
    }


def _format_captured_at(time: EventTime) -> str:
    formatted = format_time(time, "captured_at")
    if isinstance(formatted, str):
        return formatted
    moment = _from_seconds(formatted)
    if moment is None:
        raise InvalidArgumentError("captured_at must be a datetime, text or Unix seconds.")
    return format_datetime(moment, "captured_at")


def _from_seconds(seconds: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
