from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import time
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, get_type_hints

import httpx
import pytest

from signalbox import (
    APITimeoutError,
    AsyncSignalbox,
    Hooks,
    InvalidArgumentError,
    Outcome,
    RequestInfo,
    ResponseInfo,
    Signalbox,
    consent,
    types,
)

PURCHASE: Any = {"event_name": "Purchase", "consent_basis": "consent"}


class Recorder:
    """A client that keeps its requests, and accepts everything."""

    def __init__(self, **options: Any) -> None:
        self.requests: list[httpx.Request] = []
        http_client = httpx.Client(
            transport=httpx.MockTransport(self._answer),
            headers={"X-Own": "1"},
            cookies={"own": "1"},
            auth=("user", "password"),
        )
        base_url = "https://events.example"
        self.client = Signalbox(
            token="sbx_sk_1", base_url=base_url, http_client=http_client, **options
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(202, json={"event_id": "a", "duplicate": False})

    def sent_body(self) -> Any:
        return json.loads(self.requests[-1].content)


def test_sends_amounts_and_times_of_python_as_text() -> None:
    recorder = Recorder()
    time_of_order = datetime(2026, 11, 23, 11, tzinfo=timezone(timedelta(hours=1)))
    event: Any = {
        **PURCHASE,
        "event_time": time_of_order,
        "value_data": {"value": Decimal("19.90"), "currency": "EUR", "content_name": "a, b: c"},
        "consent": {"advertising": "granted", "captured_at": time_of_order},
    }
    recorder.client.events.create(event)
    sent = recorder.sent_body()
    assert sent["event_time"] == "2026-11-23T10:00:00.000Z"
    assert sent["consent"]["captured_at"] == "2026-11-23T10:00:00.000Z"
    assert sent["value_data"] == {"value": "19.90", "currency": "EUR", "content_name": "a, b: c"}


def test_refuses_a_time_without_a_zone() -> None:
    recorder = Recorder()
    naive = datetime(2026, 11, 23)
    with pytest.raises(InvalidArgumentError, match="event_time has no time zone"):
        recorder.client.events.create(PURCHASE | {"event_time": naive})
    with pytest.raises(InvalidArgumentError, match="captured_at has no time zone"):
        consent.granted(captured_at=naive)
    with pytest.raises(InvalidArgumentError, match="date must be a date"):
        recorder.client.reports.reconciliation(date=datetime.now(UTC))
    assert recorder.requests == []


def test_refuses_an_id_that_no_url_can_hold() -> None:
    recorder = Recorder()
    with pytest.raises(InvalidArgumentError, match="too long"):
        recorder.client.events.get("x" * 70_000)
    assert recorder.requests == []


def test_sends_a_date() -> None:
    recorder = Recorder()
    recorder.client.reports.reconciliation(date=date(2026, 11, 22))
    assert recorder.requests[-1].url.query == b"date=2026-11-22"


def test_an_own_client_gives_its_connections_and_nothing_else() -> None:
    recorder = Recorder()
    recorder.client.events.verify()
    headers = recorder.requests[-1].headers
    assert headers["authorization"] == "Bearer sbx_sk_1"
    assert "x-own" not in headers
    assert "cookie" not in headers


def test_a_hook_adds_headers_but_replaces_none_of_ours() -> None:
    seen: list[ResponseInfo] = []

    def trace(info: RequestInfo) -> None:
        info.headers.update({"traceparent": "00-1", "authorization": "Bearer other"})
        info.state["span"] = "mine"

    recorder = Recorder(hooks=Hooks(on_request=trace, on_response=seen.append))
    recorder.client.events.verify()
    headers = recorder.requests[-1].headers
    assert headers["traceparent"] == "00-1"
    assert headers.get_list("authorization") == ["Bearer sbx_sk_1"]
    assert seen[0].state == {"span": "mine"}


def test_a_queued_event_is_what_it_was_when_it_was_added() -> None:
    recorder = Recorder()
    queue = recorder.client.queue()
    event: Any = {**PURCHASE, "value_data": {"value": "1.00"}}
    queue.add(event)
    event["value_data"]["value"] = "2.00"
    queue.flush()
    assert recorder.sent_body()["value_data"]["value"] == "1.00"


def test_a_flush_returns_after_its_outcomes_were_reported() -> None:
    reported: list[Outcome] = []

    def report_slowly(outcome: Outcome) -> None:
        time.sleep(0.01)
        reported.append(outcome)
        raise RuntimeError("of the program")

    queue = Recorder().client.queue(on_outcome=report_slowly)
    for _ in range(20):
        queue.add(PURCHASE)
    outcomes = queue.flush().outcomes
    assert len(outcomes) == len(reported) == 20


def test_a_closed_queue_ends_the_delay_before_a_retry() -> None:
    requests: list[httpx.Request] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(503, headers={"Retry-After": "1"})

    http_client = httpx.Client(transport=httpx.MockTransport(refuse))
    client = Signalbox(token="sbx_sk_1", base_url="https://a.example", http_client=http_client)
    queue = client.queue()
    event_id = queue.add(PURCHASE)
    before = threading.active_count()
    assert queue.close(timeout=0.2).left == [event_id]
    time.sleep(0.2)
    assert threading.active_count() < before, "the thread waits for a retry"
    assert len(requests) == 1


def test_both_clients_have_the_same_operations_with_the_members_of_the_contract() -> None:
    client = Recorder().client
    other = AsyncSignalbox(token="sbx_sk_1", base_url="https://events.example")
    for name, resource in vars(client).items():
        if name.startswith("_"):
            continue
        of_other = getattr(other, name)
        for method, function in inspect.getmembers(resource, inspect.ismethod):
            if method.startswith("_"):
                continue
            signature = inspect.signature(function).parameters
            assert inspect.signature(getattr(of_other, method)).parameters == signature, method
    bodies: dict[Any, Any] = {
        client.destinations.set_test_mode: types.TestModeSubmission,
        client.destinations.send_test_purchase: types.TestPurchaseSubmission,
        client.deliveries.replay: types.ReplaySubmission,
        client.user_data.delete: types.DeletionSubmission,
    }
    for operation, body in bodies.items():
        names = set(inspect.signature(operation).parameters) - {"destination_id", "options"}
        assert names == set(get_type_hints(body)), operation


def test_each_wait_of_an_attempt_has_what_those_before_have_left() -> None:
    waits: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        timeouts = request.extensions["timeout"]
        waits.append(timeouts.get("connect"))
        time.sleep(0.3)
        waits.append(timeouts.get("read"))
        return httpx.Response(202, json={"event_id": "a"})

    http_client = httpx.Client(transport=httpx.MockTransport(answer))
    options: Any = {"token": "sbx_sk_1", "base_url": "https://events.example"}
    Signalbox(http_client=http_client, **options).events.verify(timeout=1)
    connect, read = waits
    assert 0.9 < connect <= 1
    assert read <= connect - 0.3


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
SLOW_ANSWERS = {
    "headers byte by byte": [bytes([byte]) for byte in HEAD],
    "a body byte by byte": [HEAD, *[b" "] * 100],
    "half a body": [HEAD + b" " * 50],
    "nothing": [],
}


@pytest.fixture
def slow_server(request: pytest.FixtureRequest) -> str:
    """Answers a first request at once, and a second one a part each tenth of a second."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with closing(server), closing(server.accept()[0]) as connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.recv(65_536)
            try:
                for part in request.param:
                    connection.sendall(part)
                    time.sleep(0.1)
                connection.recv(1)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}"


slow_answers = pytest.mark.parametrize(
    "slow_server", SLOW_ANSWERS.values(), ids=SLOW_ANSWERS.keys(), indirect=True
)


@slow_answers
def test_a_timeout_is_for_the_whole_attempt(slow_server: str) -> None:
    with Signalbox(token="sbx_sk_1", base_url=slow_server, max_retries=0) as client:
        client.events.get("a")
        started_at = time.monotonic()
        with pytest.raises(APITimeoutError):
            client.events.get("a", timeout=0.5)
    assert 0.4 < time.monotonic() - started_at < 0.9


@slow_answers
def test_a_timeout_is_for_the_whole_attempt_with_asyncio(slow_server: str) -> None:
    async def get() -> None:
        async with AsyncSignalbox(token="sbx_sk_1", base_url=slow_server, max_retries=0) as client:
            await client.events.get("a")
            started_at = time.monotonic()
            with pytest.raises(APITimeoutError):
                await client.events.get("a", timeout=0.5)
            assert 0.4 < time.monotonic() - started_at < 0.9

    asyncio.run(get())
