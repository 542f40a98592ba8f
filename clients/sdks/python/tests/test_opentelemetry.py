from __future__ import annotations

import httpx
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from examples.opentelemetry_hooks import tracing_hooks
from signalbox import Signalbox


def test_each_attempt_is_a_span_whose_context_is_sent() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        body = {"event_id": "signal-verification", "duplicate": False}
        return httpx.Response(503 if len(sent) == 1 else 202, json=body)

    client = Signalbox(
        token="sbx_sk_1",
        base_url="https://events.example",
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
        hooks=tracing_hooks(provider.get_tracer("shop")),
    )
    with provider.get_tracer("shop").start_as_current_span("checkout") as checkout:
        client.events.verify()

    failed, accepted, _checkout = exporter.get_finished_spans()
    assert [span.name for span in (failed, accepted)] == ["events.verify", "events.verify"]
    assert failed.attributes is not None
    assert accepted.attributes is not None
    assert failed.attributes["http.response.status_code"] == 503
    assert not failed.status.is_ok
    assert accepted.status.is_ok is not False
    assert accepted.attributes["http.request.resend_count"] == 1
    for span, request in zip((failed, accepted), sent, strict=True):
        assert span.parent is not None
        assert span.context is not None
        assert span.parent.span_id == checkout.get_span_context().span_id
        assert format(span.context.span_id, "016x") in request.headers["traceparent"]
