"""The requests of the operations, which both clients send."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import quote

from ._call import Request, Result
from ._errors import InvalidArgumentError
from ._events import PreparedEvent
from ._hooks import Hooks, WarningInfo
from ._settings import Secret
from .types import (
    CreatedEvent,
    DeletionResult,
    EmqReport,
    EventDetail,
    EventList,
    EventResult,
    NewVerification,
    ReconciliationReports,
    ReplayResult,
    SandboxDiscovery,
    SandboxEventResult,
    SandboxKey,
    TestMode,
    TestPurchase,
)

_logger = logging.getLogger("signalbox")


class NotGiven(Enum):
    """Stands for an argument that was left out, where `None` means something else."""

    NOT_GIVEN = "not given"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN


def create_event(event: PreparedEvent) -> Request[CreatedEvent]:
    # An id of the caller may have characters that a header cannot hold.
    headers = {"Idempotency-Key": event.id} if event.is_generated else {}
    return Request(
        operation="events.create",
        method="POST",
        path="/events",
        content=lambda: event.content,
        headers=headers,
    )


def complete_created(created: CreatedEvent, event: PreparedEvent, hooks: Hooks) -> CreatedEvent:
    """An answer without an id gets the one that was sent. Warns of one that says a difference."""
    if isinstance(created, Result) and created.get("event_id") is None:
        created["event_id"] = event.id
    report_warning(hooks, find_difference(created, "events.create"))
    return created


def report_warning(hooks: Hooks, warning: WarningInfo | None) -> None:
    if warning is not None and hooks.on_warning:
        hooks.on_warning(warning)
    elif warning is not None:
        _logger.warning("%s: %s", warning.event_id, warning.message)


def find_difference(created: CreatedEvent | EventResult, operation: str) -> WarningInfo | None:
    """
    Another event is stored under the id, so that this one does not count. It is no error: a program
    that repeats an event with a new time gets it too.
    """
    notices = created.get("notices")
    for notice in notices if isinstance(notices, list) else []:
        if isinstance(notice, Mapping) and notice.get("code") == "differs_from_stored":
            return WarningInfo(
                operation=operation,
                event_id=created["event_id"],
                code="differs_from_stored",
                message=str(notice.get("message")),
            )
    return None


def verify() -> Request[NewVerification]:
    return Request(operation="events.verify", method="POST", path="/verification-events")


def get_event(event_id: str, space: str | None) -> Request[EventDetail]:
    return Request(
        operation="events.get",
        method="GET",
        path=f"/events/{_encode_id(event_id)}",
        query={"space": space},
    )


def list_events(page: int | None, per_page: int | None) -> Request[EventList]:
    return Request(
        operation="events.list",
        method="GET",
        path="/dashboard/events",
        query={"page": page, "per_page": per_page},
    )


def set_test_mode(
    destination_id: str, enabled: bool, test_event_code: str | NotGiven | None
) -> Request[TestMode]:
    code = {} if test_event_code is NOT_GIVEN else {"test_event_code": test_event_code}
    return Request(
        operation="destinations.set_test_mode",
        method="PATCH",
        path=f"/destinations/{_encode_id(destination_id)}/test-mode",
        body={"enabled": enabled, **code},
    )


def send_test_purchase(destination_id: str, body: Mapping[str, Any]) -> Request[TestPurchase]:
    return Request(
        operation="destinations.send_test_purchase",
        method="POST",
        path=f"/destinations/{_encode_id(destination_id)}/test-purchase",
        body=_given(body),
        is_retried=False,
    )


def replay(body: Mapping[str, Any]) -> Request[ReplayResult]:
    return Request(
        operation="deliveries.replay",
        method="POST",
        path="/deliveries/replay",
        body=_given(body),
        is_retried=False,
    )


def reconciliation(date: str | datetime.date | None) -> Request[ReconciliationReports]:
    return Request(
        operation="reports.reconciliation",
        method="GET",
        path="/reports/reconciliation",
        query={"date": _format_date(date)},
    )


def match_quality() -> Request[EmqReport]:
    return Request(operation="reports.match_quality", method="GET", path="/reports/emq")


def delete_user_data(body: Mapping[str, Any]) -> Request[DeletionResult]:
    return Request(
        operation="user_data.delete", method="DELETE", path="/user-data", body=_given(body)
    )


def discover() -> Request[SandboxDiscovery]:
    return Request(
        operation="sandbox.discover", method="GET", path="/sandbox", has_credential=False
    )


def create_key() -> Request[SandboxKey]:
    return Request(
        operation="sandbox.create_key", method="POST", path="/sandbox/keys", has_credential=False
    )


def read_key() -> Request[SandboxKey]:
    return Request(
        operation="sandbox.read_key", method="GET", path="/sandbox/keys", has_credential=False
    )


def validate(event: Mapping[str, Any], api_key: str) -> Request[SandboxEventResult]:
    return Request(
        operation="sandbox.validate",
        method="POST",
        path="/sandbox/keyed-events",
        body=event,
        api_key=Secret(api_key),
    )


def _given(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Without the members that were left out; `None` when there are no others."""
    return {name: value for name, value in body.items() if value is not None} or None


def _encode_id(text: str) -> str:
    """`.` and `..` would name another path, even when they are encoded."""
    if isinstance(text, str) and text not in ("", ".", ".."):
        return quote(text, safe="", errors="replace")
    raise InvalidArgumentError('An id must be text other than "", "." and "..".')


def _format_date(date: str | datetime.date | None) -> str | None:
    """A time would have two days, one of its zone and one of UTC."""
    if isinstance(date, datetime.datetime):
        raise InvalidArgumentError("date must be a date, or text such as 2026-11-23.")
    return date.isoformat() if isinstance(date, datetime.date) else date
