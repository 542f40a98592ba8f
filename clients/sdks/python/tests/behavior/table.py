"""The table that the clients of all languages run. clients/sdks/README.md explains it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

_PATH = Path(__file__).parents[3] / "behavior.json"


def read_table() -> tuple[datetime, list[dict[str, Any]]]:
    """The time at which every case starts, and the cases with their fixtures in place."""
    table = json.loads(_PATH.read_text(encoding="utf-8"))
    defaults = table["defaults"]
    cases = []
    for case in table["cases"]:
        resolved = _resolve_fixtures(case, table["fixtures"])
        client = {**defaults["client"], **resolved.get("client", {})}
        given = {"random": defaults["random"], "environment": {}, "secrets": []}
        cases.append({**given, **resolved, "client": client})
    return datetime.fromisoformat(defaults["now"]), cases


def _resolve_fixtures(value: Any, fixtures: dict[str, Any]) -> Any:
    """A text that starts with @ stands for the fixture of that name, `$text` for many letters."""
    if isinstance(value, str) and value.startswith("@"):
        return _resolve_fixtures(fixtures[value[1:]], fixtures)
    if isinstance(value, list):
        return [_resolve_fixtures(one, fixtures) for one in value]
    if isinstance(value, dict) and "$text" in value:
        return "a" * value["$text"]
    if isinstance(value, dict):
        return {name: _resolve_fixtures(one, fixtures) for name, one in value.items()}
    return value
