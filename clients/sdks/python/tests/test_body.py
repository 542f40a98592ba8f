from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from signalbox import Hooks, InvalidArgumentError, Signalbox, WarningInfo

from .test_requests import PURCHASE, Recorder


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"secret", "it has a bytes"),
        (frozenset({"secret"}), "it has a frozenset"),
        ({7: "secret"}, "it has a name that is no text"),
        (Decimal("NaN"), "it has a Decimal"),
        (Decimal("-Infinity"), "it has a Decimal"),
        (bytearray(b"secret"), "it has a bytearray"),
        (complex(1, 1), "it has a complex"),
        (float("nan"), "it has nan"),
        (2**53, "it has a whole number above"),
        (-(2**53), "it has a whole number above"),
        ("\ud800", "a lone surrogate"),
        ((one for one in ["secret"]), "it has a generator"),
        (datetime(2026, 11, 23), "it has a time without a zone"),
    ],
)
def test_refuses_what_json_cannot_hold(value: Any, reason: str) -> None:
    recorder = Recorder()
    with pytest.raises(InvalidArgumentError, match=reason) as caught:
        recorder.client.events.create(PURCHASE | {"user_data": {"own": value}})
    assert "secret" not in repr((caught.value, caught.value.__cause__, caught.value.__context__))
    assert recorder.requests == []


def test_logs_a_difference_unless_a_hook_takes_it(caplog: pytest.LogCaptureFixture) -> None:
    notice = {"code": "differs_from_stored", "field": "event_id", "message": "Another event."}
    answer = {"event_id": "order-1", "duplicate": True, "notices": [notice]}

    def create(**options: Any) -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
        own = httpx.Client(transport=transport)
        client = Signalbox(token="t", base_url="https://a.example", http_client=own, **options)
        client.events.create(PURCHASE)

    create()
    [record] = [one for one in caplog.records if one.name == "signalbox"]
    assert (record.levelname, record.getMessage()) == ("WARNING", "order-1: Another event.")
    seen: list[WarningInfo] = []
    create(hooks=Hooks(on_warning=seen.append))
    assert [(one.event_id, one.code) for one in seen] == [("order-1", "differs_from_stored")]
    assert len([one for one in caplog.records if one.name == "signalbox"]) == 1
