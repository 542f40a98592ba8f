package signalbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ErrorType is where an error came from. Every error of this package except that of a context wraps
// one, so that errors.Is(err, signalbox.ErrNotFound) tells them apart.
type ErrorType string

const (
	// ErrBadRequest is status 400.
	ErrBadRequest ErrorType = "bad_request"
	// ErrAuthentication is status 401: the token is missing, mistyped or revoked.
	ErrAuthentication ErrorType = "authentication"
	// ErrPermissionDenied is status 403.
	ErrPermissionDenied ErrorType = "permission_denied"
	// ErrNotFound is status 404: nothing of this tracker has the ID.
	ErrNotFound ErrorType = "not_found"
	// ErrConflict is status 409.
	ErrConflict ErrorType = "conflict"
	// ErrPayloadTooLarge is status 413: the body is larger than 64 KiB.
	ErrPayloadTooLarge ErrorType = "payload_too_large"
	// ErrUnsupportedMediaType is status 415.
	ErrUnsupportedMediaType ErrorType = "unsupported_media_type"
	// ErrUnprocessableEntity is status 422: FieldErrors names every invalid field.
	ErrUnprocessableEntity ErrorType = "unprocessable_entity"
	// ErrRateLimit is status 429.
	ErrRateLimit ErrorType = "rate_limit"
	// ErrInternalServer is a status from 500 to 599.
	ErrInternalServer ErrorType = "internal_server"
	// ErrAPI is any other status of 400 or more.
	ErrAPI ErrorType = "api"
	// ErrRedirect is status 3xx: redirects would send the token elsewhere.
	ErrRedirect ErrorType = "redirect"
	// ErrInvalidResponse is a success whose body is not a JSON object, such as the page of a proxy.
	ErrInvalidResponse ErrorType = "invalid_response"
	// ErrConnection says that there was no answer, or that it broke off.
	ErrConnection ErrorType = "connection"
	// ErrTimeout says that an attempt or the call took too long. It is ErrConnection too.
	ErrTimeout ErrorType = "timeout"
	// ErrInvalidArgument is refused before any request.
	ErrInvalidArgument ErrorType = "invalid_argument"
	// ErrQueueFull says that the queue has no room: keep the event, or flush and add it again.
	ErrQueueFull ErrorType = "queue_full"
	// ErrQueueClosed says that the queue was closed. The event was not added.
	ErrQueueClosed ErrorType = "queue_closed"
)

func (t ErrorType) Error() string { return "signalbox: " + string(t) }

// APIError is an answer that is not a success. Its headers and its body are behind methods, so that
// no log prints them.
type APIError struct {
	Type   ErrorType
	Status int
	// RequestID is what to quote when you contact support. It is empty when the answer has none.
	RequestID string
	Message   string
	// Attempts is how many requests were made.
	Attempts int

	answer     func() *answer
	retryAfter *time.Duration
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("signalbox: %s (%d): %s", e.Type, e.Status, e.Message)
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap returns the type.
func (e *APIError) Unwrap() error { return e.Type }

// Header returns the headers of the answer.
func (e *APIError) Header() http.Header { return e.answer().header }

// RawBody returns the body as it came.
func (e *APIError) RawBody() string { return string(e.answer().body) }

// Body returns the body as JSON, with numbers as json.Number. It is nil when it is not JSON.
func (e *APIError) Body() any {
	var value any
	if json.Valid(e.answer().body) {
		decodeBody(e.answer().body, &value)
	}
	return value
}

// FieldErrors returns the dotted path of a field -> what is wrong with it. It is empty unless the
// service names fields.
func (e *APIError) FieldErrors() map[string][]string {
	var body struct{ Errors map[string]json.RawMessage }
	decodeBody(e.answer().body, &body)
	found := map[string][]string{}
	for path, text := range body.Errors {
		var sentences []string
		if json.Unmarshal(text, &sentences) == nil && sentences != nil {
			found[path] = sentences
		}
	}
	return found
}

// RetryAfter returns how long the service asked to wait, and false when it did not say.
func (e *APIError) RetryAfter() (time.Duration, bool) {
	if e.retryAfter == nil {
		return 0, false
	}
	return *e.retryAfter, true
}

// ConnectionError says that there was no answer, or that it broke off. The request may have been
// processed.
type ConnectionError struct {
	// Type is ErrConnection or ErrTimeout.
	Type    ErrorType
	Message string
	// Attempts is how many requests were made.
	Attempts int

	cause error
}

func (e *ConnectionError) Error() string {
	text := fmt.Sprintf("signalbox: %s: %s", e.Type, e.Message)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Timeout says whether an attempt or the call took too long, as net.Error does.
func (e *ConnectionError) Timeout() bool { return e.Type == ErrTimeout }

// Unwrap returns the type, ErrConnection and the cause, whose text has no credential.
func (e *ConnectionError) Unwrap() []error {
	wrapped := []error{e.Type, ErrConnection}
	if e.cause != nil {
		wrapped = append(wrapped, e.cause)
	}
	return wrapped
}

func newTimeoutError(message string) error {
	return &ConnectionError{Type: ErrTimeout, Message: message, Attempts: 1}
}

func newConnectionError(cause error) error {
	message := "the request failed before an answer was complete"
	return &ConnectionError{Type: ErrConnection, Message: message, Attempts: 1, cause: cause}
}

var typesByStatus = map[int]ErrorType{
	400: ErrBadRequest,
	401: ErrAuthentication,
	403: ErrPermissionDenied,
	404: ErrNotFound,
	409: ErrConflict,
	413: ErrPayloadTooLarge,
	415: ErrUnsupportedMediaType,
	422: ErrUnprocessableEntity,
	429: ErrRateLimit,
}

func newAPIError(read *answer, credential string) *APIError {
	e := &APIError{
		Status:     read.status,
		RequestID:  readRequestID(read.header),
		Attempts:   1,
		answer:     func() *answer { return read },
		retryAfter: parseRetryAfter(read.header.Get("Retry-After"), time.Now()),
	}
	e.Type = typeOfStatus(read.status)
	e.Message = redact(describeAnswer(e), credential)
	e.RequestID = redact(e.RequestID, credential)
	return e
}

func typeOfStatus(status int) ErrorType {
	switch {
	case status < 300:
		return ErrInvalidResponse
	case status < 400:
		return ErrRedirect
	case status >= 500 && status < 600:
		return ErrInternalServer
	}
	if known, isKnown := typesByStatus[status]; isKnown {
		return known
	}
	return ErrAPI
}

func describeAnswer(e *APIError) string {
	switch e.Type {
	case ErrInvalidResponse:
		return "the answer is not a JSON object"
	case ErrRedirect:
		return "the answer is a redirect, which is not followed"
	}
	var body struct{ Message string }
	decodeBody(e.answer().body, &body)
	if body.Message == "" {
		return http.StatusText(e.Status)
	}
	return body.Message
}

// parseRetryAfter reads seconds or an HTTP date. It returns nil when the text is neither.
func parseRetryAfter(text string, now time.Time) *time.Duration {
	text = strings.TrimSpace(text)
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	var after time.Duration
	if text != "" && strings.TrimLeftFunc(text, isDigit) == "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			// More digits than any delay has.
			seconds = 1 << 31
		}
		after = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		// Rounded up, so that the service does not refuse again.
		after = (date.Sub(now) + time.Second - 1).Truncate(time.Second)
	} else {
		return nil
	}
	return &after
}

func setAttempts(err error, attempts int) {
	var apiError *APIError
	var connectionError *ConnectionError
	if errors.As(err, &apiError) {
		apiError.Attempts = attempts
	} else if errors.As(err, &connectionError) {
		connectionError.Attempts = attempts
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// redactedError has the text of an error without the credential. The error itself is in a function,
// which no printed form follows; errors.Is finds what it wraps, such as syscall.ECONNREFUSED.
type redactedError struct {
	text string
	err  func() error
}

func (e redactedError) Error() string        { return e.text }
func (e redactedError) Is(target error) bool { return errors.Is(e.err(), target) }

// redactError leaves out the URL, which may have an ID of a person.
func redactError(err error, credential string) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	return redactedError{redact(err.Error(), credential), func() error { return err }}
}
