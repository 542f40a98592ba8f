from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

from ._errors import InvalidArgumentError

BODY_BYTES_MAX = 32 * 1_048_576
"""An answer is held in memory. The largest page of the API is far below this."""

_SECONDS_MAX = 99_999_999_999
"""Unix seconds have ten digits for the next 260 years."""


_INTEGER_MAX = 2**53 - 1
"""Readers of JSON hold a larger number as another one."""


def encode_body(body: Mapping[str, Any]) -> bytes:
    """JSON. A `Decimal` keeps its digits as text, and a `datetime` becomes ISO 8601."""
    try:
        text = json.dumps(to_plain(body), ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError, RecursionError):
        pass
    # Raised here, so that the error has no context: that would hold a part of the request.
    raise InvalidArgumentError(
        "The body cannot be JSON: it has a cycle, is nested too deep, or has a lone surrogate."
    )


def to_plain(value: Any) -> Any:
    """A copy of what JSON can hold. Raises an InvalidArgumentError for anything else."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _INTEGER_MAX else _refuse("a whole number above 2^53 - 1")
    if isinstance(value, float):
        return value if math.isfinite(value) else _refuse(str(value))
    if isinstance(value, Mapping):
        return {_to_name(name): to_plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(one) for one in value]
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, datetime):
        return _to_text(value)
    return _refuse(f"a {type(value).__name__}")


def _to_name(name: Any) -> str:
    return name if isinstance(name, str) else _refuse("a name that is no text")


def _to_text(time: datetime) -> str:
    return _refuse("a time without a zone") if time.utcoffset() is None else _format_utc(time)


def _refuse(kind: str) -> NoReturn:
    raise InvalidArgumentError(f"The body cannot be JSON: it has {kind}.")


def format_time(time: Any, name: str) -> Any:
    """Seconds and text as they are, a `datetime` as ISO 8601."""
    if isinstance(time, (int, float)) and abs(time) > _SECONDS_MAX:
        raise InvalidArgumentError(
            f"{name} is in milliseconds. Use a datetime with its zone, or Unix seconds."
        )
    return format_datetime(time, name) if isinstance(time, datetime) else time


def format_datetime(time: datetime, name: str) -> str:
    """UTC with milliseconds."""
    if time.utcoffset() is None:
        raise InvalidArgumentError(f"{name} has no time zone. Use datetime.now(UTC), for example.")
    return _format_utc(time)


def _format_utc(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_body(text: str) -> Any:
    """Parses a body in which amounts stay text. `None` when it is not JSON."""
    try:
        return json.loads(_quote_money(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_MONEY_MEMBER = "value_amount"
"""The member of the API that is money and, in other answers than ours, may be a number."""

_STRING_AND_NUMBER = re.compile(r'"((?:[^"\\]|\\.)*)"(?:(\s*:\s*)(-?\d[\d.eE+-]*))?', re.DOTALL)
"""A whole string, and the number that follows it if it is the name of a member."""


def _quote_money(text: str) -> str:
    """Makes text of amounts before a number of 64 bits could change their digits."""
    if _MONEY_MEMBER not in text:
        return text
    return _STRING_AND_NUMBER.sub(_quote_amount, text)


def _quote_amount(match: re.Match[str]) -> str:
    name, colon, number = match.groups()
    if name != _MONEY_MEMBER or number is None:
        return match[0]
    return f'"{name}"{colon}"{number}"'
