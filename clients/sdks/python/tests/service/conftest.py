from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

import pytest

from signalbox import Signalbox


@pytest.fixture(autouse=True)
def require_service() -> None:
    if "SIGNALBOX_TEST_NOW" not in os.environ:
        pytest.skip("clients/sdks/python/python-service.test.ts starts a service and these tests")


@pytest.fixture
def now() -> datetime:
    """The time of the service, which has its own clock."""
    return datetime.fromisoformat(os.environ["SIGNALBOX_TEST_NOW"])


@pytest.fixture
def client() -> Iterator[Signalbox]:
    with Signalbox() as signalbox:
        yield signalbox
