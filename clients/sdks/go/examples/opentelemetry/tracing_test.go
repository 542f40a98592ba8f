package tracing

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

func TestAttemptsAreSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	var parents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents = append(parents, r.Header.Get("Traceparent"))
		w.Header().Set("Request-Id", fmt.Sprintf("req_%d", len(parents)))
		if len(parents) == 1 {
			http.Error(w, `{"message":"Try again."}`, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"event_id":"a","duplicate":false}`)
	}))
	defer server.Close()
	client, err := signalbox.New(signalbox.WithToken("sbx_sk_0"), signalbox.WithBaseURL(server.URL),
		signalbox.WithHooks(Hooks()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := provider.Tracer("shop").Start(context.Background(), "checkout")
	event := signalbox.EventSubmission{EventName: "Purchase", ConsentBasis: "consent"}
	if _, err := client.Events.Create(ctx, event); err != nil {
		t.Fatal(err)
	}
	root.End()
	spans := recorder.Ended()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	for at, span := range spans[:2] {
		isChild := span.Parent().SpanID() == root.SpanContext().SpanID()
		if span.Name() != "events.create" || !isChild {
			t.Errorf("%s, child %t", span.Name(), isChild)
		}
		if !strings.Contains(parents[at], span.SpanContext().SpanID().String()) {
			t.Errorf("traceparent is %s", parents[at])
		}
	}
	if spans[0].Status().Code != codes.Error || spans[1].Status().Code != codes.Unset {
		t.Errorf("%v %v", spans[0].Status(), spans[1].Status())
	}
	if events := spans[2].Events(); len(events) != 1 || events[0].Name != "signalbox.retry" {
		t.Errorf("%v", events)
	}
}
