from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from signalbox import hash

_PATH = Path(__file__).parents[2] / "hash-vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(_PATH.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "vector", VECTORS, ids=lambda vector: f"{vector['helper']} {vector['input']}"
)
def test_digests_are_those_of_the_service(vector: dict[str, Any]) -> None:
    helper = getattr(hash, vector["helper"])
    assert helper(vector["input"]) == vector["sha256"]


@pytest.mark.skipif("SIGNALBOX_HASH_VECTORS" not in os.environ, reason="python-sdk.test.ts")
def test_digests_are_those_of_the_client_for_typescript() -> None:
    text = Path(os.environ["SIGNALBOX_HASH_VECTORS"]).read_text(encoding="utf-8")
    digested = 0
    for vector in json.loads(text):
        digest = getattr(hash, vector["helper"])(vector["input"])
        if digest is None and any(unicodedata.category(one) == "Cn" for one in vector["input"]):
            # A newer Python knows the character.
            continue
        assert digest == vector["sha256"], vector
        digested += digest is not None
    assert digested > 9_000


def test_characters_that_this_python_does_not_know_are_left_to_the_service() -> None:
    assert hash.external_id("id-\u0378") is None
    assert hash.email("\ud800@example.com") is None
    assert hash.external_id("\ud800") is None
