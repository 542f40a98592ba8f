from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

import httpx

_BASE_PATH = "/api/v1"


class Script:
    """The answers of a case, and the requests that were made."""

    def __init__(self, case: dict[str, Any], now: Callable[[], float]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._now = now
        self._answers = deque(case.get("answers", []))
        by_event = case.get("answers_by_event", {})
        self._by_event = {name: deque(answers) for name, answers in by_event.items()}

    def receive(self, request: httpx.Request) -> dict[str, Any]:
        """Records a request, with the members of the table, and returns its answer."""
        path, _, query = request.url.raw_path.decode().partition("?")
        assert path.startswith(_BASE_PATH), path
        recorded: dict[str, Any] = {
            "at_ms": to_milliseconds(self._now()),
            "method": request.method,
            "origin": f"{request.url.scheme}://{request.url.netloc.decode()}",
            "path": path.removeprefix(_BASE_PATH),
            "query": dict(parse_qsl(query)),
            "headers": dict(request.headers),
        }
        if request.content:
            recorded["body"] = json.loads(request.content)
        body = recorded.get("body", {})
        if "event_id" in body:
            recorded["event_ids"] = [body["event_id"]]
        if "events" in body:
            recorded["event_ids"] = [event["event_id"] for event in body["events"]]
            recorded["event_count"] = len(body["events"])
        self.requests.append(recorded)
        event_id = next(iter(recorded.get("event_ids", [])), None)
        answers = self._by_event.get(event_id, self._answers)
        assert answers, f"{request.method} {path} has no answer"
        answer: dict[str, Any] = answers.popleft()
        if answer.get("accepts"):
            accepted = [_accept(event_id) for event_id in recorded["event_ids"]]
            return {**answer, "body": {"results": accepted}}
        return answer


def _accept(event_id: str) -> dict[str, Any]:
    return {"status": 202, "event_id": event_id, "duplicate": False}


def to_milliseconds(seconds: float) -> float:
    """Without what binary fractions add."""
    return round(seconds * 1_000, 6)


class ScriptedTransport(httpx.BaseTransport):
    """Waits as connections do: at most the timeout that the request has when a wait starts."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._script.receive(request)
        _wait(request, answer.get("after_ms"))
        _raise_connect_error(answer)
        return _respond(answer, _Body(request, answer))


class _Body(httpx.SyncByteStream):
    def __init__(self, request: httpx.Request, answer: dict[str, Any]) -> None:
        self._request = request
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        _wait(self._request, self._answer.get("body_after_ms"))
        yield _content(self._answer)
        _raise_body_error(self._answer)


def _wait(request: httpx.Request, milliseconds: float | None) -> None:
    if milliseconds is None:
        return
    timeout = request.extensions["timeout"].get("read")
    time.sleep(min(milliseconds / 1_000, timeout))
    if milliseconds / 1_000 > timeout:
        raise httpx.ReadTimeout("timed out")


class AsyncScriptedTransport(httpx.AsyncBaseTransport):
    def __init__(self, script: Script) -> None:
        self._script = script

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._script.receive(request)
        if "after_ms" in answer:
            await asyncio.sleep(answer["after_ms"] / 1_000)
        _raise_connect_error(answer)
        return _respond(answer, _AsyncBody(answer))


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if "body_after_ms" in self._answer:
            await asyncio.sleep(self._answer["body_after_ms"] / 1_000)
        yield _content(self._answer)
        _raise_body_error(self._answer)


def _respond(answer: dict[str, Any], stream: Any) -> httpx.Response:
    return httpx.Response(answer["status"], headers=answer.get("headers", {}), stream=stream)


def _content(answer: dict[str, Any]) -> bytes:
    if "text_bytes" in answer:
        return b" " * int(answer["text_bytes"])
    if "text" in answer:
        return str(answer["text"]).encode()
    return json.dumps(answer["body"]).encode() if "body" in answer else b""


def _raise_connect_error(answer: dict[str, Any]) -> None:
    if answer.get("connect_error"):
        raise httpx.ConnectError(answer.get("detail", "[Errno 111] Connection refused"))


def _raise_body_error(answer: dict[str, Any]) -> None:
    if answer.get("body_error"):
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message")
