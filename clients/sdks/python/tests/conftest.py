from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

RanCases = dict[str, list[str]]


@pytest.fixture(scope="session")
def ran_cases() -> Iterator[RanCases]:
    """The ids of the cases that each client ran, for the test that compares the languages."""
    ran: RanCases = {"threads": [], "asyncio": []}
    yield ran
    path = os.environ.get("SIGNALBOX_RAN_CASES")
    if path:
        Path(path).write_text(json.dumps(ran), encoding="utf-8")
