from __future__ import annotations

from typing import Any

import pytest

from .behavior.run_case import CaseRun
from .behavior.table import read_table
from .behavior.worlds import LoopWorld, ThreadWorld
from .conftest import RanCases

STARTED_AT, CASES = read_table()
IDS = [case["id"] for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_client_of_threads(
    case: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ran_cases: RanCases,
) -> None:
    ran_cases["threads"].append(case["id"])
    CaseRun(case, ThreadWorld()).run(monkeypatch, STARTED_AT, caplog)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_client_of_asyncio(
    case: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ran_cases: RanCases,
) -> None:
    ran_cases["asyncio"].append(case["id"])
    CaseRun(case, LoopWorld()).run(monkeypatch, STARTED_AT, caplog)
