from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import httpx

from ._errors import InvalidArgumentError
from ._hooks import Hooks
from ._version import __version__


class CallOptions(TypedDict, total=False):
    """The keyword arguments that every call takes; those of the client otherwise."""

    max_retries: int | None
    """How often a failed request is repeated; 2 by default, 0 never."""
    timeout: float | None
    """Seconds for one attempt, its body included; 10 by default."""
    total_timeout: float | None
    """Seconds for the call with its retries and delays; 30 by default."""


class AppInfo(NamedTuple):
    """Your program, at the end of User-Agent."""

    name: str
    version: str


class Secret:
    """A credential that no log, repr or traceback prints."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        # A header cannot hold other characters, and a line break would add a header.
        if not isinstance(text, str) or not re.fullmatch(r"[!-~]+", text):
            raise InvalidArgumentError("The token must be text of visible ASCII characters.")
        if sys.platform == "emscripten":
            raise InvalidArgumentError(
                "This is a browser. Anyone could read the token: send events from a server, "
                "or with the tag."
            )
        self._text = text

    def __repr__(self) -> str:
        return "Secret([redacted])"

    def reveal(self) -> str:
        return self._text

    def redact(self, text: str) -> str:
        """A proxy or a library may repeat what was sent."""
        return text.replace(self._text, "[redacted]")


@dataclass(frozen=True)
class Limits:
    max_retries: int = 2
    timeout: float = 10.0
    total_timeout: float = 30.0

    def merge(self, options: CallOptions) -> Limits:
        """The limits of a call: its own, else these."""
        given = {name: value for name, value in options.items() if value is not None}
        limits = replace(self, **given)  # type: ignore[arg-type]
        if not isinstance(limits.max_retries, int) or limits.max_retries < 0:
            raise InvalidArgumentError("max_retries must be a whole number from 0.")
        if not (limits.timeout > 0 and limits.total_timeout > 0):
            raise InvalidArgumentError("Timeouts must be seconds above 0.")
        return limits


@dataclass(frozen=True)
class Settings:
    base_url: str
    user_agent: str
    hooks: Hooks
    limits: Limits
    token: Secret | None

    def require_token(self) -> Secret:
        if self.token is None:
            raise InvalidArgumentError("There is no token: set SIGNALBOX_TOKEN or token.")
        return self.token


def resolve_settings(
    *,
    token: str | None,
    base_url: str | None,
    hooks: Hooks | None,
    app_info: tuple[str, str] | None,
    options: CallOptions,
) -> Settings:
    """Raises an InvalidArgumentError that names the argument or the variable."""
    # An empty variable counts as not set.
    token = token if token is not None else os.environ.get("SIGNALBOX_TOKEN") or None
    base_url = base_url if base_url is not None else os.environ.get("SIGNALBOX_BASE_URL") or None
    if base_url is None:
        raise InvalidArgumentError("There is no base URL: set SIGNALBOX_BASE_URL or base_url.")
    return Settings(
        base_url=_normalize_base_url(base_url),
        user_agent=_format_user_agent(app_info),
        hooks=hooks or Hooks(),
        limits=Limits().merge(options),
        token=None if token is None else Secret(token),
    )


def _normalize_base_url(text: str) -> str:
    url = _parse_url(text)
    is_base = url is not None and url.scheme in ("http", "https") and url.host != ""
    if url is None or not is_base or url.userinfo or url.query or url.fragment:
        raise InvalidArgumentError(
            "The base URL must be an http or https URL without credentials, query and fragment."
        )
    path = url.raw_path.decode().partition("?")[0].rstrip("/")
    return f"{url.scheme}://{url.netloc.decode()}{path or '/api/v1'}"


def _parse_url(text: str) -> httpx.URL | None:
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, TypeError):
        return None


_WORD = r"[\w.!#$%&'*+^`|~-]+"


def _format_user_agent(app_info: tuple[str, str] | None) -> str:
    runtime = f"{platform.python_implementation().lower()}/{platform.python_version()}"
    own = f"signalbox-python/{__version__} {runtime}"
    if app_info is None:
        return own
    app = "/".join(app_info)
    if not re.fullmatch(f"{_WORD}/{_WORD}", app, re.ASCII):
        raise InvalidArgumentError("The name and version of app_info must be words.")
    return f"{own} {app}"
