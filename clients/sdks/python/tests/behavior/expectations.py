from __future__ import annotations

import re
import traceback
from typing import Any

from signalbox._errors import Answer

MISSING = type("Missing", (), {"__repr__": lambda _self: "MISSING"})()
_SPECIAL = ("$matches", "$between", "$absent", "$same")


class Expectations:
    """Compares what happened with what a case expects. `$same` binds a text within one case."""

    def __init__(self) -> None:
        self._bound: dict[str, str] = {}

    def contains(self, actual: Any, expected: Any, place: str) -> None:
        """Objects may have more members than expected."""
        if self._matches(actual, expected, place):
            return
        if isinstance(expected, list):
            assert len(actual) == len(expected), f"{place} is {actual}"
            for at, one in enumerate(expected):
                self.contains(actual[at], one, f"{place}[{at}]")
        elif isinstance(expected, dict):
            assert isinstance(actual, dict), f"{place} is {actual}"
            for name, value in expected.items():
                self.contains(actual.get(name, MISSING), value, f"{place}.{name}")
        else:
            assert actual == expected, f"{place} is {actual!r}, not {expected!r}"

    def equals(self, actual: Any, expected: Any, place: str) -> None:
        """Objects have exactly the members that are expected."""
        self.contains(actual, expected, place)
        if not isinstance(expected, dict) or _is_special(expected):
            return
        assert sorted(actual) == sorted(expected), place
        for name, value in expected.items():
            self.equals(actual[name], value, f"{place}.{name}")

    def _matches(self, actual: Any, expected: Any, place: str) -> bool:
        """Whether the expectation is one with a special meaning, which is then checked."""
        if not _is_special(expected):
            return False
        if "$absent" in expected:
            assert actual is MISSING, f"{place} is {actual!r}"
        if "$matches" in expected:
            assert re.search(expected["$matches"], str(actual)), f"{place} is {actual!r}"
        if "$between" in expected:
            low, high = expected["$between"]
            assert low <= actual <= high, f"{place} is {actual!r}"
        if "$same" in expected:
            assert isinstance(actual, str), f"{place} is {actual!r}"
            assert self._bound.setdefault(expected["$same"], actual) == actual, place
        return True


def _is_special(value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in _SPECIAL)


def assert_prints_none(secrets: list[str], value: Any) -> None:
    """Fails when any form in which a value is printed contains a secret."""
    forms = [repr(value), str(value), f"{value}", *_variables(value)]
    if isinstance(value, BaseException):
        forms += traceback.format_exception(value)
        forms += [repr(value.args), repr(value.__cause__), repr(value.__context__)]
        forms += _locals_of_package(value)
    for secret in secrets:
        for form in forms:
            assert secret not in form, f"a printed form has {secret}: {form}"


def _variables(value: Any, depth: int = 6) -> list[str]:
    """What a debugger shows of the objects of the package, each with its variables."""
    # An answer keeps what came, for those who ask for it.
    if depth == 0 or isinstance(value, Answer) or not _is_of_package(value):
        return [repr(value)]
    forms = [repr(value)]
    for variable in getattr(value, "__dict__", {}).values():
        forms += _variables(variable, depth - 1)
    return forms


def _is_of_package(value: Any) -> bool:
    return type(value).__module__.startswith("signalbox")


def _locals_of_package(error: BaseException) -> list[str]:
    """What tools that report errors with the variables of each frame send, except arguments."""
    frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
    return [
        repr(value)
        for frame in frames
        if "/src/signalbox/" in frame.f_code.co_filename
        for name, value in frame.f_locals.items()
        if name not in frame.f_code.co_varnames[: _argument_count(frame.f_code)]
    ]


def _argument_count(code: Any) -> int:
    count: int = code.co_argcount + code.co_kwonlyargcount
    return count
