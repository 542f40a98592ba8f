from __future__ import annotations

import copy
import pickle
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from signalbox import (
    APIConnectionError,
    AsyncSignalbox,
    InvalidArgumentError,
    RateLimitError,
    Signalbox,
    last_response,
)

BASE_URL = "https://events.example"
PURCHASE: Any = {"event_name": "Purchase", "consent_basis": "consent"}


def create_client(handler: Any, **options: Any) -> Signalbox:
    http_client = httpx.Client(transport=httpx.MockTransport(handler))
    return Signalbox(token="sbx_sk_1", base_url=BASE_URL, http_client=http_client, **options)


def test_an_error_survives_a_pickle() -> None:
    answer = httpx.Response(429, headers={"Retry-After": "61"}, json={"message": "Slow down."})
    with pytest.raises(RateLimitError) as caught:
        create_client(lambda _request: answer).events.create(PURCHASE)
    for error in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert isinstance(error, RateLimitError)
        assert (str(error), error.status, error.retry_after) == ("Slow down.", 429, 61)


@pytest.mark.parametrize("zone", ["GMT", "+0000", "-0000"])
def test_reads_the_date_of_retry_after_as_utc(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    at = datetime.now(UTC) + timedelta(seconds=100)
    headers = {"Retry-After": f"{at:%a, %d %b %Y %H:%M:%S} {zone}"}
    client = create_client(lambda _request: httpx.Response(429, headers=headers))
    with pytest.raises(RateLimitError) as caught:
        client.events.verify()
    assert caught.value.retry_after in range(90, 101)
    monkeypatch.undo()
    time.tzset()


def test_keeps_the_cause_of_a_connection_error() -> None:
    def refuse(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused")

    with pytest.raises(APIConnectionError) as caught:
        create_client(refuse, max_retries=0).events.verify()
    assert str(caught.value.__cause__) == "ConnectError: [Errno 111] Connection refused"


def test_what_a_hook_or_a_program_raises_passes_unchanged() -> None:
    class TimeLimitError(Exception):
        """As the SoftTimeLimitExceeded of Celery."""

    def cancel(_request: httpx.Request) -> httpx.Response:
        raise TimeLimitError

    with pytest.raises(TimeLimitError):
        create_client(cancel).events.verify()


@pytest.mark.parametrize(
    "value",
    [float("nan"), "\ud800", {1, 2}, b"bytes", {(1, 2): 3}],
    ids=["nan", "surrogate", "set", "bytes", "key"],
)
def test_refuses_what_json_cannot_hold_without_repeating_it(value: Any) -> None:
    client = create_client(lambda _request: httpx.Response(500))
    event = PURCHASE | {"user_data": {"em": "ada@example.com", "x": value}}
    with pytest.raises(InvalidArgumentError) as caught:
        client.events.create(event)
    assert caught.value.__context__ is None
    assert "ada" not in repr(caught.value)


def test_the_clients_refuse_the_http_client_of_the_other() -> None:
    wrong: Any = httpx.AsyncClient()
    with pytest.raises(InvalidArgumentError, match=r"must be an httpx\.Client\."):
        Signalbox(base_url=BASE_URL, http_client=wrong)
    other: Any = httpx.Client()
    with pytest.raises(InvalidArgumentError, match=r"must be an httpx\.AsyncClient\."):
        AsyncSignalbox(base_url=BASE_URL, http_client=other)


def test_refuses_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "emscripten")
    with pytest.raises(InvalidArgumentError, match="browser"):
        Signalbox(token="sbx_sk_1", base_url=BASE_URL)


def test_last_response_refuses_a_copy_of_a_result() -> None:
    client = create_client(lambda _request: httpx.Response(202, json={"event_id": "a"}))
    created = client.events.create(PURCHASE)
    assert last_response(created).status == 202
    with pytest.raises(TypeError, match="a copy of it has no response"):
        last_response(dict(created))
