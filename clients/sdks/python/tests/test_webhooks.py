from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signalbox import InvalidArgumentError, webhooks

_PATH = Path(__file__).parents[2] / "webhook-vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(_PATH.read_text(encoding="utf-8"))


def _verify(vector: dict[str, Any], body: bytes | str) -> dict[str, Any]:
    return webhooks.verify(body, vector["headers"], vector["secrets"], now=vector["now"])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["title"])
def test_vectors_of_every_language(vector: dict[str, Any]) -> None:
    for body in [vector["body"], vector["body"].encode()]:
        if vector["verified"]:
            assert _verify(vector, body) == json.loads(vector["body"])
        else:
            with pytest.raises(webhooks.WebhookVerificationError):
                _verify(vector, body)


def test_the_published_signature_of_standard_webhooks() -> None:
    with pytest.raises(webhooks.WebhookVerificationError, match="the body is no message"):
        _verify(VECTORS[0], VECTORS[0]["body"])


@pytest.mark.parametrize("secret", ["", "the-secret", "whsec_", "whsec_!!!!!!!!!!!!!!!!!!!!"])
def test_a_secret_of_another_form_is_refused(secret: str) -> None:
    with pytest.raises(InvalidArgumentError):
        _verify({**VECTORS[1], "secrets": [secret]}, VECTORS[1]["body"])
