from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from signalbox import (
    APIConnectionError,
    APIError,
    CloseResult,
    Hooks,
    Outcome,
    SignalboxError,
    consent,
    last_response,
)

from .expectations import MISSING, Expectations, assert_prints_none
from .scripted_transport import Script, to_milliseconds
from .worlds import World


class CaseRun:
    """Runs one case of the table against the client of a world."""

    def __init__(self, case: dict[str, Any], world: World) -> None:
        self._case = case
        self._world = world
        self._script = Script(case, world.now)
        self._expect = Expectations()
        self._hooks: list[dict[str, Any]] = []
        self._produced: list[Any] = []
        """Everything that must not contain a secret."""

    def run(
        self, patch: pytest.MonkeyPatch, started_at: datetime, logs: pytest.LogCaptureFixture
    ) -> None:
        for name in ("SIGNALBOX_TOKEN", "SIGNALBOX_BASE_URL"):
            patch.delenv(name, raising=False)
        for name, value in self._case["environment"].items():
            patch.setenv(name, value)
        with logs.at_level("DEBUG"), patch.context() as clock:
            self._world.install(clock, started_at.timestamp(), self._case["random"])
            story = self._run_queue() if "queue" in self._case else self._run_call()
            self._world.run(story)
        self._check_requests()
        if "hooks" in self._case:
            self._expect.contains(self._hooks, self._case["hooks"], "hooks")
        token = self._case["client"]["token"]
        secrets = [secret for secret in (token, *self._case["secrets"]) if secret]
        for value in [*self._produced, *self._hooks, logs.text]:
            assert_prints_none(secrets, value)

    def _create_client(self) -> Any:
        given = self._case["client"]
        app_info = given.get("app_info")
        options = {
            "token": given["token"],
            "base_url": given["base_url"],
            **_to_options(given),
            "app_info": app_info and (app_info["name"], app_info["version"]),
            "hooks": Hooks(
                on_request=self._record("request"),
                on_response=self._record("response"),
                on_retry=self._record("retry"),
                on_warning=self._record("warning"),
            ),
        }
        client = self._world.create_client(self._script, options)
        self._produced.append(client)
        return client

    def _record(self, hook: str) -> Callable[[Any], None]:
        def record(info: Any) -> None:
            self._produced.append(info)
            members = dict(vars(info))
            if "delay" in members:
                members["delay_ms"] = to_milliseconds(members["delay"])
            self._hooks.append({"hook": hook, **members})

        return record

    async def _run_call(self) -> None:
        case = self._case
        call = case["call"]
        arguments = _to_native(call["arguments"])
        if "cancel_at_ms" in case:
            self._world.cancel_at(case["cancel_at_ms"] / 1_000)
        items: list[str] = []
        value: Any = None
        error: BaseException | None = None
        try:
            client = self._create_client()
            options = _to_options(call.get("options", {}))
            value = await _call_operation(client, call["operation"], arguments, options, items)
        except (SignalboxError, KeyboardInterrupt, asyncio.CancelledError) as caught:
            error = caught
            self._produced.append(error)
        result = case["result"]
        self._check_error(error, result.get("error"))
        if "value" in result:
            self._expect.contains(value, result["value"], "value")
        if "items" in result:
            assert items == result["items"]
        self._check_time(result)
        if "arguments_after" in case:
            assert arguments == case["arguments_after"]
        self._check_facts(value, result)

    def _check_time(self, result: dict[str, Any]) -> None:
        at_ms = result.get("at_ms", (result.get("error") or {}).get("at_ms"))
        if at_ms is not None:
            assert to_milliseconds(self._world.now()) == at_ms

    def _check_facts(self, value: Any, result: dict[str, Any]) -> None:
        names = ("request_id", "status", "attempts", "headers")
        expected = {name: result[name] for name in names if name in result}
        if expected:
            facts = last_response(value)
            actual = {**vars(facts), "headers": dict(facts.headers)}
            self._expect.contains(actual, expected, "response")

    def _check_error(self, error: BaseException | None, expected: dict[str, Any] | None) -> None:
        if expected is None:
            if error is not None:
                raise error
            return
        assert error is not None, f"there is no error of type {expected['type']}"
        is_canceled = isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))
        actual_type = "aborted" if is_canceled else getattr(error, "type", None)
        assert actual_type == expected["type"], repr(error)
        assert expected.get("message_contains", "") in str(error)
        if isinstance(error, (APIError, APIConnectionError)):
            renamed = {"retry_after_seconds": "retry_after"}
            ignored = ("type", "message_contains", "at_ms")
            for name in expected.keys() - ignored:
                value = getattr(error, renamed.get(name, name), MISSING)
                actual = str(error) if name == "message" else value
                self._expect.contains(actual, expected[name], f"error.{name}")

    async def _run_queue(self) -> None:
        reported: list[dict[str, Any]] = []

        def on_outcome(outcome: Outcome) -> None:
            at_ms = to_milliseconds(self._world.now())
            reported.append({**vars(outcome), "at_ms": at_ms})

        queue = self._create_client().queue(on_outcome=on_outcome, **self._case["queue"])
        self._produced.append(queue)
        for step in self._case["steps"]:
            if "at_ms" in step:
                await self._world.move_to(step["at_ms"] / 1_000)
            if step["do"] == "add":
                self._add_event(queue, step)
                continue
            deadline = _to_seconds(step.get("deadline_ms"))
            is_flush = step["do"] == "flush"
            result = await _settle(queue.flush() if is_flush else queue.close(deadline))
            self._produced.append(result)
            self._check_queue_result(result, step["result"])
        if "reported" in self._case:
            self._expect.contains(reported, self._case["reported"], "reported")

    def _add_event(self, queue: Any, step: dict[str, Any]) -> None:
        event_id = MISSING
        error = None
        try:
            event_id = queue.add(_to_native(step["event"]))
        except SignalboxError as caught:
            error = caught
            self._produced.append(error)
        self._check_error(error, step.get("error"))
        if "id" in step:
            self._expect.contains(event_id, step["id"], "id")

    def _check_queue_result(self, result: Any, expected: dict[str, Any]) -> None:
        self._check_time(expected)
        if "omitted" in expected:
            assert result.omitted == expected["omitted"]
        if "left" in expected:
            assert isinstance(result, CloseResult)
            assert result.left == expected["left"]
        if "outcomes" not in expected:
            return
        assert len(result.outcomes) == len(expected["outcomes"]), result.outcomes
        for actual, outcome in zip(result.outcomes, expected["outcomes"], strict=True):
            members = {name: value for name, value in outcome.items() if name != "error"}
            self._expect.contains(vars(actual), members, f"outcome {actual}")
            self._check_error(actual.error, outcome.get("error"))

    def _check_requests(self) -> None:
        requests = self._script.requests
        expected_calls = self._case["calls"]
        if "queue" in self._case:
            requests = sorted(requests, key=_order_of)
            expected_calls = sorted(expected_calls, key=_order_of)
        assert len(requests) == len(expected_calls), requests
        for at, (request, call) in enumerate(zip(requests, expected_calls, strict=True)):
            place = f"request {at}"
            expected = {"origin": "https://events.example", "query": {}, **call}
            headers = expected.pop("headers", {})
            body = expected.pop("body", None)
            assert request["query"] == expected.pop("query")
            self._expect.contains(request, expected, place)
            if body is not None:
                self._expect.equals(request.get("body", MISSING), body, f"{place} body")
            for name, value in headers.items():
                actual = request["headers"].get(name.lower(), MISSING)
                self._expect.contains(actual, value, f"{place} {name}")


def _order_of(request: dict[str, Any]) -> tuple[float, str]:
    ids = request.get("event_ids") or [""]
    return request["at_ms"], str((request.get("body") or {}).get("event_id", ids[0]))


async def _call_operation(
    client: Any, operation: str, given: dict[str, Any], options: dict[str, Any], items: list[str]
) -> Any:
    match operation:
        case "client.print":
            return {}
        case "consent.granted":
            return consent.granted(**given)
        case "consent.mode":
            return consent.mode(**given)
        case "events.create_events":
            events = given["events"] * given.get("repeat", 1)
            return {"results": await _settle(client.events.create_events(events, **options))}
        case "events.iterate":
            take = given.pop("take", None)
            await _take_ids(client.events.iterate(**given, **options), items, take)
            return None
        case "events.wait_for_delivery":
            if "timeout_ms" in given:
                given["timeout"] = given.pop("timeout_ms") / 1_000
            return await _settle(client.events.wait_for_delivery(given.pop("event"), **given))
        case "sandbox.validate":
            api_key = given["api_key"]
            return await _settle(client.sandbox.validate(given["event"], api_key=api_key))
    resource, _, method = operation.partition(".")
    function = getattr(getattr(client, resource), method)
    # What names the subject comes first; the members of a body are keyword arguments.
    first = [given.pop(name) for name in ("event", "destination") if name in given]
    body = given.pop("test_mode", given.pop("test_purchase", given.pop("replay", {})))
    if operation == "events.create":
        given["event"] = first[0]
    rest = {} if operation == "events.create" else given
    return await _settle(function(*first, **rest, **body, **options))


async def _take_ids(events: Any, items: list[str], take: int | None) -> None:
    if hasattr(events, "__aiter__"):
        async for event in events:
            items.append(event["id"])
            if len(items) == take:
                break
        return
    for event in events:
        items.append(event["id"])
        if len(items) == take:
            break


async def _settle(value: Awaitable[Any] | Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _to_options(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "max_retries": given.get("max_retries"),
        "timeout": _to_seconds(given.get("timeout_ms")),
        "total_timeout": _to_seconds(given.get("total_timeout_ms")),
    }


def _to_seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000


def _create_cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


_NATIVE_VALUES: dict[str, Callable[[], Any]] = {
    "cycle": _create_cycle,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "large_integer": lambda: 2**64,
    "set": lambda: {"a"},
    "function": lambda: _create_cycle,
    "invalid_time": lambda: datetime(2026, 11, 23),
}


def _to_native(value: Any) -> Any:
    """`{"$time": text}` is a native time, `{"$native": kind}` a value that JSON does not have."""
    if isinstance(value, list):
        return [_to_native(one) for one in value]
    if isinstance(value, dict):
        if "$time" in value:
            return datetime.fromisoformat(value["$time"])
        if "$native" in value:
            return _NATIVE_VALUES[value["$native"]]()
        return {name: _to_native(one) for name, one in value.items()}
    return value
