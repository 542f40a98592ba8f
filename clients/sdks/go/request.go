package signalbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// apiRequest is a request of the API, before it is sent.
type apiRequest struct {
	// operation is such as "events.create".
	operation string
	method    string
	// path is below the base URL; IDs are encoded.
	path  string
	query url.Values
	// body is nil when there is none.
	body any
	// json returns a body that is JSON already, in place of body. It is read before each attempt.
	json func() []byte
	// receive takes the answer of an attempt. Its error is a failure like any other. Of such a
	// request, rate limits are waited for until the call ends: many events share one limit.
	receive func(read *answer, attempt int) error
	// idempotencyKey is empty when there is none.
	idempotencyKey string
	// credential is nil for the token of the client.
	credential func() (string, error)
	// neverRetried says that repeating the request does harm.
	neverRetried bool
}

// noCredential is for the operations that take none.
func noCredential() (string, error) { return "", nil }

// resultOf is a pointer to a result with the facts of its answer.
type resultOf[T any] interface {
	*T
	setResponse(*Response)
}

// send sends a request, again if it fails and repeating it is harmless.
func send[T any, P resultOf[T]](
	ctx context.Context, s *settings, request apiRequest, options []CallOption,
) (*T, error) {
	limits, err := s.limitsOf(options)
	if err != nil {
		return nil, err
	}
	prepared, err := prepare(s, request)
	if err != nil {
		return nil, err
	}
	answer, attempts, err := prepared.sendRepeatedly(ctx, limits)
	if err != nil {
		return nil, err
	}
	result := new(T)
	decodeBody(answer.body, result)
	P(result).setResponse(newResponse(answer, attempts))
	return result, nil
}

// preparedRequest is everything that is the same at each attempt.
type preparedRequest struct {
	apiRequest
	settings   *settings
	url        string
	bodyBytes  []byte
	credential func() string
}

func prepare(s *settings, request apiRequest) (*preparedRequest, error) {
	readCredential := request.credential
	if readCredential == nil {
		readCredential = s.credential
	}
	credential, err := readCredential()
	if err != nil {
		return nil, err
	}
	prepared := &preparedRequest{apiRequest: request, settings: s, url: s.baseURL + request.path}
	prepared.credential = func() string { return credential }
	if len(request.query) > 0 {
		prepared.url += "?" + request.query.Encode()
	}
	if request.body == nil {
		return prepared, nil
	}
	prepared.bodyBytes, err = encodeBody(request.body)
	return prepared, err
}

func (p *preparedRequest) sendRepeatedly(
	ctx context.Context, limits limits,
) (answer *answer, attempt int, err error) {
	deadline := time.Now().Add(limits.totalTimeout)
	waits := 0
	for attempt = 1; ; attempt++ {
		if ctx.Err() != nil {
			return nil, attempt, p.canceled(ctx)
		}
		info := RequestInfo{
			Operation: p.operation,
			Method:    p.method,
			Path:      p.path,
			Attempt:   attempt,
			Header:    http.Header{},
		}
		if p.json != nil {
			p.bodyBytes = p.json()
		}
		answer, err = p.sendOnce(ctx, &info, min(limits.timeout, time.Until(deadline)))
		if err == nil && p.receive != nil {
			err = p.receive(answer, attempt)
		}
		if p.receive != nil && errors.Is(err, ErrRateLimit) && limits.maxRetries > 0 {
			waits++
		}
		if err == nil {
			return answer, attempt, nil
		}
		setAttempts(err, attempt)
		if p.neverRetried || attempt-waits > limits.maxRetries {
			return nil, attempt, err
		}
		delay, isPlanned := planRetry(err, attempt, p.settings.random)
		if !isPlanned || delay >= time.Until(deadline) {
			return nil, attempt, err
		}
		p.settings.hooks.retry(ctx, RetryInfo{info, delay})
		if sleep(ctx, delay) != nil {
			return nil, attempt, p.canceled(ctx)
		}
	}
}

// sendOnce makes one request. Its error is an *APIError, a *ConnectionError, or that of the
// context.
func (p *preparedRequest) sendOnce(
	ctx context.Context, info *RequestInfo, timeout time.Duration,
) (read *answer, err error) {
	startedAt := time.Now()
	hookContext := p.settings.hooks.request(ctx, info)
	status, requestID := 0, ""
	defer func() {
		p.settings.hooks.response(hookContext, ResponseInfo{
			RequestInfo: *info,
			Status:      status,
			RequestID:   requestID,
			Duration:    time.Since(startedAt),
		})
	}()
	attemptContext, cancel := context.WithTimeout(hookContext, timeout)
	defer cancel()
	request, err := p.newRequest(attemptContext, info.Header)
	if err != nil {
		return nil, err
	}
	response, err := p.settings.http.Do(request)
	if err == nil {
		defer response.Body.Close()
		status, requestID = response.StatusCode, readRequestID(response.Header)
		if read, err = readAnswer(response); err == nil {
			return read, p.checkAnswer(read)
		}
	}
	switch {
	case hookContext.Err() != nil:
		return nil, p.canceled(hookContext)
	case attemptContext.Err() != nil || isTimeout(err):
		return nil, newTimeoutError(fmt.Sprintf("no complete answer came within %v", timeout))
	}
	return nil, newConnectionError(redactError(err, p.credential()))
}

func (p *preparedRequest) newRequest(
	ctx context.Context, header http.Header,
) (*http.Request, error) {
	var body io.Reader
	if p.bodyBytes != nil {
		body = bytes.NewReader(p.bodyBytes)
	}
	request, err := http.NewRequestWithContext(ctx, p.method, p.url, body)
	if err != nil {
		return nil, fmt.Errorf("%w: the URL cannot be requested", ErrInvalidArgument)
	}
	for name, values := range header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", p.settings.userAgent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if p.idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", p.idempotencyKey)
	}
	if credential := p.credential(); credential != "" {
		request.Header.Set("Authorization", "Bearer "+credential)
	}
	return request, nil
}

// checkAnswer returns an *APIError unless the answer is a success with a JSON object.
func (p *preparedRequest) checkAnswer(read *answer) error {
	if read.status >= 200 && read.status < 300 && isObject(read.body) {
		return nil
	}
	return newAPIError(read, p.credential())
}

func (p *preparedRequest) canceled(ctx context.Context) error {
	return fmt.Errorf("signalbox: %s ended with its context: %w", p.operation, ctx.Err())
}
