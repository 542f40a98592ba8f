"""
A shop with Django. The view waits for the service, with less patience than the client has by
default, and an order never fails because of it.
"""

from __future__ import annotations

import json
import logging
import os
from functools import cache

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from signalbox import Signalbox, SignalboxError, consent, hash

logger = logging.getLogger("shop")

if not settings.configured:
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])


TOKEN = os.environ.get("SIGNALBOX_TOKEN")
if not TOKEN:
    # Without its token the shop does not start: no event of it could be sent.
    raise RuntimeError("Set SIGNALBOX_TOKEN.")


@cache
def get_signalbox() -> Signalbox:
    """One for each process, made after the server forked it."""
    app_info = ("example-shop", "1.0.0")
    return Signalbox(token=TOKEN, timeout=2, total_timeout=5, app_info=app_info)


@csrf_exempt
@require_POST
def place_order(request: HttpRequest) -> JsonResponse:
    order = json.loads(request.body)
    event_id = None
    # An event without consent is not for an ad platform, so it is not sent at all.
    if order["has_consented"]:
        event_id = report_purchase(order)
    return JsonResponse({"id": order["id"], "event_id": event_id}, status=201)


def report_purchase(order: dict[str, str]) -> str | None:
    placed_at = order["placed_at"]
    try:
        created = get_signalbox().events.create(
            {
                "event_id": f"order-{order['id']}",
                "event_name": "Purchase",
                "event_time": placed_at,
                "consent_basis": "consent",
                "consent": consent.granted(captured_at=placed_at, method="checkout"),
                "user_data": {"em": hash.email(order["email"])},
                "value_data": {
                    "value": order["total"],
                    "currency": order["currency"],
                    "order_id": order["id"],
                },
            }
        )
    except SignalboxError:
        logger.exception("order %s is not reported", order["id"])
        return None
    return created["event_id"]


urlpatterns = [path("orders", place_order)]
