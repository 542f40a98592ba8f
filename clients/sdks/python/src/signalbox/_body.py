from __future__ import annotations

import json
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


def encode_body(body: Mapping[str, Any]) -> bytes:
    """JSON. A `Decimal` keeps its digits as text, and a `datetime` becomes ISO 8601."""
    try:
        text = json.dumps(
            body,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            default=_encode_native,
        )
        return text.encode()
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError, RecursionError):
        pass
    # Raised here, so that the error has no context: that would hold a part of the request.
    raise InvalidArgumentError(
        "The body cannot be JSON: NaN, infinity, cycles, lone surrogates and keys other than text "
        "are not."
    )


def _encode_native(value: object) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, datetime):
        return format_datetime(value, "A time")
    raise InvalidArgumentError(f"The body cannot be JSON: it has a {type(value).__name__}.")


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
