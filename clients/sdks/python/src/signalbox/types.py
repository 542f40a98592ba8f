"""The types of the API, as `TypedDict`s: requests are plain dictionaries, and so are answers."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ._types import *  # noqa: F403
from ._types import IngestionNotice, IngestionWarning


class CreatedEvent(TypedDict):
    """The answer to an event."""

    event_id: str
    duplicate: bool
    """The tracker already has an event with this id: nothing was counted twice."""
    warnings: NotRequired[list[IngestionWarning]]
    notices: NotRequired[list[IngestionNotice]]
    """Members that were accepted without their full effect."""
