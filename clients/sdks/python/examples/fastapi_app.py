"""
A shop with FastAPI. It answers without waiting for the service: a queue sends the purchases, and
the end of the process waits for them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI, Request
from pydantic import BaseModel

from signalbox import AsyncSignalbox, Outcome, QueueFullError, consent, hash

logger = logging.getLogger("shop")


class Order(BaseModel):
    id: str
    email: str
    total: str
    currency: str
    placed_at: datetime
    has_consented: bool


def report_failure(outcome: Outcome) -> None:
    if outcome.error is not None:
        logger.error("event %s was not accepted: %s", outcome.event_id, outcome.error)


def require_token() -> str:
    """Without its token the shop does not start: no event of it could be sent."""
    token = os.environ.get("SIGNALBOX_TOKEN")
    if not token:
        raise RuntimeError("Set SIGNALBOX_TOKEN.")
    return token


@asynccontextmanager
async def run_queue(app: FastAPI) -> AsyncIterator[None]:
    token = require_token()
    async with AsyncSignalbox(token=token, app_info=("example-shop", "1.0.0")) as signalbox:
        app.state.queue = signalbox.queue(on_outcome=report_failure)
        yield
        closed = await app.state.queue.close(timeout=10)
        if closed.left:
            logger.error("the outcome of these events is not known: %s", closed.left)


app = FastAPI(lifespan=run_queue)


@app.post("/orders", status_code=201)
async def place_order(order: Order, request: Request) -> dict[str, str]:
    # An event without consent is not for an ad platform, so it is not sent at all.
    if order.has_consented:
        try:
            request.app.state.queue.add(
                {
                    "event_id": f"order-{order.id}",
                    "event_name": "Purchase",
                    "event_time": order.placed_at,
                    "consent_basis": "consent",
                    "consent": consent.granted(captured_at=order.placed_at, method="checkout"),
                    "user_data": {"em": hash.email(order.email)},
                    "value_data": {
                        "value": order.total,
                        "currency": order.currency,
                        "order_id": order.id,
                    },
                }
            )
        except QueueFullError:
            logger.error("the queue is full: order %s is not reported", order.id)
    return {"id": order.id, "received_at": datetime.now(UTC).isoformat()}
