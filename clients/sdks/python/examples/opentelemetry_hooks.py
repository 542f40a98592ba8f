"""Each attempt of a call as a span of OpenTelemetry, and its context in the request."""

from __future__ import annotations

from opentelemetry.propagate import inject
from opentelemetry.trace import SpanKind, StatusCode, Tracer, set_span_in_context

from signalbox import Hooks, RequestInfo, ResponseInfo


def tracing_hooks(tracer: Tracer) -> Hooks:
    def start_span(request: RequestInfo) -> None:
        attributes: dict[str, str | int] = {
            "http.request.method": request.method,
            "url.path": request.path,
            "http.request.resend_count": request.attempt - 1,
        }
        span = tracer.start_span(request.operation, kind=SpanKind.CLIENT, attributes=attributes)
        inject(request.headers, context=set_span_in_context(span))
        request.state["span"] = span

    def end_span(response: ResponseInfo) -> None:
        span = response.state["span"]
        if response.status is not None:
            span.set_attribute("http.response.status_code", response.status)
        if response.request_id is not None:
            span.set_attribute("signalbox.request_id", response.request_id)
        if response.status is None or response.status >= 400:
            span.set_status(StatusCode.ERROR)
        span.end()

    return Hooks(on_request=start_span, on_response=end_span)
