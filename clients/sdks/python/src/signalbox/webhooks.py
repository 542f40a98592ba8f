"""Verifies messages of a webhook destination by the conventions of Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import InvalidArgumentError, SignalboxError

_PREFIX = "whsec_"
_SECRET = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


class WebhookVerificationError(SignalboxError):
    """The message is not genuine, or too old to tell. Answer 401, and use nothing of it."""

    type = "webhook_verification"


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> dict[str, Any]:
    """
    Returns the message. Raises `WebhookVerificationError` unless one of the signatures is of one of
    the secrets and the time is within `tolerance` seconds of the clock. `body` is the body as it
    arrived. `webhook-id` is the same for every attempt of a message.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id = given.get("webhook-id", "")
    timestamp = given.get("webhook-timestamp", "")
    if message_id == "" or not _SECONDS.fullmatch(timestamp):
        raise _refuse("a header is missing or invalid")
    clock = time.time() if now is None else now
    if not abs(clock - int(timestamp)) <= tolerance:
        raise _refuse("its time is too far from the clock")
    data = body.encode() if isinstance(body, str) else body
    content = f"{message_id}.{timestamp}.".encode() + data
    signatures = given.get("webhook-signature", "").encode().split(b" ")
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [_sign(one, content) for one in secrets]
    matches = [hmac.compare_digest(one, other) for one in expected for other in signatures]
    if not any(matches):
        raise _refuse("no signature matches")
    return _parse(data)


def _refuse(reason: str) -> WebhookVerificationError:
    return WebhookVerificationError(f"The webhook is not verified: {reason}.")


def _sign(secret: str, content: bytes) -> bytes:
    encoded = secret[len(_PREFIX) :] if secret.startswith(_PREFIX) else ""
    message = "The signing secret must be whsec_ and base64."
    if not _SECRET.fullmatch(encoded):
        raise InvalidArgumentError(message)
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise InvalidArgumentError(message) from None
    return b"v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())


def _parse(data: bytes) -> dict[str, Any]:
    try:
        message = json.loads(data.decode())
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise _refuse("the body is no message")
    return message
