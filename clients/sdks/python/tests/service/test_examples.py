"""The examples, each with the test client of its framework, against a real service."""

from __future__ import annotations

import importlib
import sys
from datetime import datetime
from typing import Any

import pytest

from signalbox import NotFoundError, Signalbox


def create_order(order_id: str, now: datetime, **members: Any) -> dict[str, Any]:
    return {
        "id": order_id,
        "email": "ada@example.com",
        "total": "19.90",
        "currency": "EUR",
        "placed_at": now.isoformat(),
        "has_consented": True,
        **members,
    }


def test_fastapi(client: Signalbox, now: datetime) -> None:
    from fastapi.testclient import TestClient

    from examples.fastapi_app import app

    with TestClient(app) as shop:
        for order_id, has_consented in (("f-1", True), ("f-2", False)):
            order = create_order(order_id, now, has_consented=has_consented)
            assert shop.post("/orders", json=order).status_code == 201
    event = client.events.get("order-f-1")["event"]
    assert (event["value_amount"], event["order_id"]) == ("19.90", "f-1")
    with pytest.raises(NotFoundError):
        client.events.get("order-f-2")


def test_no_example_starts_without_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient

    from examples import cdnow
    from examples.fastapi_app import app

    for token in (None, ""):
        monkeypatch.delenv("SIGNALBOX_TOKEN", raising=False)
        if token is not None:
            monkeypatch.setenv("SIGNALBOX_TOKEN", token)
        with pytest.raises(RuntimeError, match="Set SIGNALBOX_TOKEN"), TestClient(app):
            pass
        with pytest.raises(SystemExit, match="Set SIGNALBOX_TOKEN"):
            cdnow.main()
        sys.modules.pop("examples.django_app", None)
        with pytest.raises(RuntimeError, match="Set SIGNALBOX_TOKEN"):
            importlib.import_module("examples.django_app")


def test_django(client: Signalbox, now: datetime) -> None:
    import django

    from examples import django_app

    django.setup()
    from django.test import Client

    shop = Client()
    order = create_order("d-1", now)
    answer = shop.post("/orders", order, content_type="application/json")
    assert (answer.status_code, answer.json()["event_id"]) == (201, "order-d-1")
    assert client.events.get("order-d-1")["event"]["value_amount"] == "19.90"

    # The order is placed although its amount cannot be reported.
    order = create_order("d-2", now, currency="NONE")
    answer = shop.post("/orders", order, content_type="application/json")
    assert (answer.status_code, answer.json()["event_id"]) == (201, None)
    django_app.get_signalbox().close()
