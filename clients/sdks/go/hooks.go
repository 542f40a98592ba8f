package signalbox

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// RequestInfo is what hooks learn about an attempt. It has no credential and no body.
type RequestInfo struct {
	// Operation is such as "events.create".
	Operation string
	Method    string
	// Path is below the base URL, without the query.
	Path string
	// Attempt counts from 1.
	Attempt int
	// Header has the headers to add to this attempt, such as traceparent. It is empty at first.
	Header http.Header
}

// ResponseInfo is what hooks learn about the end of an attempt.
type ResponseInfo struct {
	RequestInfo
	// Status is 0 when no answer came.
	Status    int
	RequestID string
	// Duration is how long the attempt took, body included.
	Duration time.Duration
}

// RetryInfo is what hooks learn before the delay of a retry.
type RetryInfo struct {
	RequestInfo
	Delay time.Duration
}

// WarningInfo is what a success says that a program may not expect.
type WarningInfo struct {
	// Operation is such as "events.create".
	Operation string
	EventID   string
	// Code is that of the notice: "differs_from_stored".
	Code    string
	Message string
}

// Hooks are called around each attempt, in the goroutine of the call.
type Hooks struct {
	// OnRequest is called before an attempt. The context that it returns is that of the attempt and
	// of its OnResponse; return ctx unless it carries something, such as a span.
	OnRequest  func(ctx context.Context, request *RequestInfo) context.Context
	OnResponse func(ctx context.Context, response ResponseInfo)
	OnRetry    func(ctx context.Context, retry RetryInfo)
	// OnWarning is called when a duplicate differs from what is stored under its ID. Without it, the
	// default logger of log/slog gets the warning.
	OnWarning func(ctx context.Context, warning WarningInfo)
}

func (h Hooks) request(ctx context.Context, info *RequestInfo) context.Context {
	if h.OnRequest == nil {
		return ctx
	}
	if own := h.OnRequest(ctx, info); own != nil {
		return own
	}
	return ctx
}

func (h Hooks) response(ctx context.Context, info ResponseInfo) {
	if h.OnResponse != nil {
		h.OnResponse(ctx, info)
	}
}

func (h Hooks) retry(ctx context.Context, info RetryInfo) {
	if h.OnRetry != nil {
		h.OnRetry(ctx, info)
	}
}

const differsFromStored = "differs_from_stored"

// warnOfDifference warns that another event is stored under the ID, so that this one does not
// count. It is no error: a program that repeats an event with a new time gets it too.
func (h Hooks) warnOfDifference(
	ctx context.Context, operation, eventID string, notices []IngestionNotice,
) {
	for _, notice := range notices {
		if notice.Code != differsFromStored {
			continue
		}
		if h.OnWarning == nil {
			slog.WarnContext(ctx, "signalbox: "+notice.Message, "event_id", eventID)
			return
		}
		h.OnWarning(ctx, WarningInfo{
			Operation: operation,
			EventID:   eventID,
			Code:      notice.Code,
			Message:   notice.Message,
		})
		return
	}
}
