"""Every operation against a real service, which delivers to the simulator of its platform."""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from datetime import datetime

import pytest

from signalbox import (
    APITimeoutError,
    AsyncSignalbox,
    AuthenticationError,
    NotFoundError,
    Signalbox,
    UnprocessableEntityError,
    consent,
    hash,
    last_response,
)
from signalbox.types import ConsentEvent

LEAD: ConsentEvent = {"event_name": "Lead", "consent_basis": "consent"}


def create_purchase(now: datetime) -> ConsentEvent:
    return {
        "event_id": f"order-{uuid.uuid4()}",
        "event_name": "Purchase",
        "event_time": now,
        "consent_basis": "consent",
        "consent": consent.granted(captured_at=now, method="checkout"),
        "user_data": {"em": hash.email(f"{uuid.uuid4()}@example.com")},
        "value_data": {"value": "19.90", "currency": "EUR"},
    }


def test_creates_reads_delivers_and_erases_an_event(client: Signalbox, now: datetime) -> None:
    purchase = create_purchase(now)
    created = client.events.create(purchase)
    assert created["duplicate"] is False
    assert created["notices"] == []
    facts = last_response(created)
    assert (facts.status, facts.attempts) == (202, 1)
    assert facts.request_id is not None
    assert facts.request_id.startswith("req_")
    assert client.events.create(purchase)["duplicate"] is True

    detail = client.events.wait_for_delivery(created["event_id"])
    assert detail["event"]["value_amount"] == "19.90"
    assert [delivery["status"] for delivery in detail["deliveries"]] == ["accepted"]

    erased = client.user_data.delete(identifier_hash=purchase["user_data"]["em"])
    assert erased["events_updated"] == 1


def test_warns_of_a_duplicate_that_differs(
    client: Signalbox, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    purchase = create_purchase(now)
    other = purchase | {"value_data": {"value": "20.00", "currency": "EUR"}}
    client.events.create(purchase)
    client.events.create(purchase)
    records = [one for one in caplog.records if one.name == "signalbox"]
    assert records == []
    again = client.events.create(other)
    assert again["duplicate"] is True
    assert [notice["code"] for notice in again["notices"]] == ["differs_from_stored"]
    client.events.create_events([other])
    records = [one for one in caplog.records if one.name == "signalbox"]
    assert len(records) == 2
    assert all(one.getMessage().startswith(purchase["event_id"]) for one in records)


def test_goes_through_the_pages(client: Signalbox) -> None:
    for _ in range(5):
        client.events.create(LEAD)
    page = client.events.list(per_page=2)
    assert len(page["events"]["data"]) == 2
    ids = [event["id"] for event in client.events.iterate(per_page=2)]
    assert len(set(ids)) == len(ids) == page["events"]["total"]


def test_calls_the_operations_on_destinations_and_reports(client: Signalbox) -> None:
    destination_id = os.environ["SIGNALBOX_TEST_DESTINATION"]
    with pytest.raises(UnprocessableEntityError, match=r"(?i)test mode"):
        client.destinations.send_test_purchase(destination_id)
    on = client.destinations.set_test_mode(
        destination_id, enabled=True, test_event_code="TEST00007"
    )
    assert on["test_mode"] is True
    sent = client.destinations.send_test_purchase(destination_id, value="2.50", currency="EUR")
    assert sent["status"] == "accepted"
    off = client.destinations.set_test_mode(destination_id, enabled=False, test_event_code=None)
    assert off["test_mode"] is False
    assert client.deliveries.replay(event_name="Purchase", limit=10)["queued"] == 0
    assert client.reports.reconciliation(date="2026-11-20")["date"] == "2026-11-20"
    assert client.reports.match_quality()["snapshots"] == []
    client.events.verify()


def test_tries_an_event_in_the_sandbox_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    base_url = os.environ["SIGNALBOX_BASE_URL"]
    monkeypatch.delenv("SIGNALBOX_TOKEN")
    with Signalbox(base_url=base_url) as client:
        assert client.sandbox.discover()["environment"] == "sandbox"
        assert client.sandbox.read_key()["production_access"] is False
        api_key = client.sandbox.create_key()["api_key"]
        validated = client.sandbox.validate({"event_name": "Purchase"}, api_key=api_key)
        assert validated["status"] == "validated"


def test_raises_the_errors_of_the_service(client: Signalbox) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        client.events.create(
            {"event_name": "Purchase", "consent_basis": "consent", "value_data": {"value": "1"}}
        )
    assert list(caught.value.errors) == ["value_data.currency"]
    with pytest.raises(NotFoundError):
        client.events.get("unknown/../é")
    with Signalbox(token="sbx_sk_unknown") as stranger, pytest.raises(AuthenticationError):
        stranger.events.verify()


def test_gives_up_while_a_delivery_is_pending(client: Signalbox, now: datetime) -> None:
    created = client.events.create(create_purchase(now))
    with pytest.raises(APITimeoutError):
        client.events.wait_for_delivery(created["event_id"], timeout=0)


def test_queues_events_in_threads(client: Signalbox) -> None:
    queue = client.queue(concurrency=4)
    ids = [queue.add(LEAD) for _ in range(50)]
    outcomes = queue.flush().outcomes
    assert [outcome.event_id for outcome in outcomes] == ids
    assert {outcome.status for outcome in outcomes} == {"accepted"}
    assert queue.close().left == []


def test_logs_do_not_have_the_token(client: Signalbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client.events.verify()
    assert "/verification-events" in caplog.text
    assert os.environ["SIGNALBOX_TOKEN"] not in caplog.text


def test_asyncio(now: datetime) -> None:
    async def story() -> None:
        async with AsyncSignalbox() as other:
            created = await other.events.create(create_purchase(now))
            detail = await other.events.wait_for_delivery(created["event_id"])
            assert [delivery["status"] for delivery in detail["deliveries"]] == ["accepted"]
            queue = other.queue()
            for _ in range(20):
                queue.add(LEAD)
            closed = await queue.close(timeout=20)
            assert {outcome.status for outcome in closed.outcomes} == {"accepted"}
            ids = [event["id"] async for event in other.events.iterate(per_page=10)]
            assert created["event_id"] in ids

    asyncio.run(story())
