// Package tracing makes a span of OpenTelemetry of each attempt of a call.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

// Hooks make a span of each attempt, below the span of the context, and send traceparent. Pass them
// to the client: signalbox.New(signalbox.WithHooks(tracing.Hooks())).
func Hooks() signalbox.Hooks {
	tracer := otel.Tracer("github.com/signalbox-events/signalbox/clients/sdks/go")
	return signalbox.Hooks{
		OnRequest: func(ctx context.Context, request *signalbox.RequestInfo) context.Context {
			attributes := []attribute.KeyValue{
				attribute.String("http.request.method", request.Method),
				// The path has IDs of events: the name of the span groups better.
				attribute.String("url.path", request.Path),
			}
			if request.Attempt > 1 {
				resends := attribute.Int("http.request.resend_count", request.Attempt-1)
				attributes = append(attributes, resends)
			}
			ctx, _ = tracer.Start(ctx, request.Operation,
				trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
			carrier := propagation.HeaderCarrier(request.Header)
			otel.GetTextMapPropagator().Inject(ctx, carrier)
			return ctx
		},
		OnResponse: func(ctx context.Context, response signalbox.ResponseInfo) {
			span := trace.SpanFromContext(ctx)
			if response.Status != 0 {
				span.SetAttributes(attribute.Int("http.response.status_code", response.Status))
			}
			if response.RequestID != "" {
				span.SetAttributes(attribute.String("signalbox.request_id", response.RequestID))
			}
			if response.Status == 0 || response.Status >= 400 {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		},
		OnRetry: func(ctx context.Context, retry signalbox.RetryInfo) {
			delay := attribute.Int64("delay_ms", retry.Delay.Milliseconds())
			trace.SpanFromContext(ctx).AddEvent("signalbox.retry", trace.WithAttributes(delay))
		},
	}
}
