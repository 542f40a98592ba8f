//go:build go1.25

package signalbox

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBehavior runs the table of cases that the clients of all languages run, with the clock of
// package synctest and without a change of the client's code.
func TestBehavior(t *testing.T) {
	cases, now := readTable(t)
	for _, one := range cases {
		t.Run(one["id"].(string), func(t *testing.T) {
			for _, name := range []string{"SIGNALBOX_TOKEN", "SIGNALBOX_BASE_URL"} {
				t.Setenv(name, part[string](part[object](one, "environment"), name))
			}
			// synctest fails the case when a goroutine is left.
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(now))
				runCase(t, one)
			})
		})
	}
}

type caseRun struct {
	t      *testing.T
	one    object
	script *scriptedTransport
	expect *expectations

	mutex sync.Mutex
	hooks []any
	// produced must not contain a secret.
	produced []any
	// results are those beside an error.
	results any
}

func runCase(t *testing.T, one object) {
	run := &caseRun{t: t, one: one, script: newScriptedTransport(t, one)}
	run.expect = &expectations{t, map[string]string{}}
	if has(one, "queue") {
		run.queue()
	} else {
		run.call()
	}
	// Requests that a queue ended are still on their way out.
	synctest.Wait()
	run.checkRequests()
	if has(one, "hooks") {
		run.expect.contains(run.hooks, one["hooks"], "hooks")
	}
	if run.script.inFlight != 0 {
		t.Errorf("%d answers were not closed", run.script.inFlight)
	}
	secrets := []string{part[string](one["client"], "token")}
	for _, secret := range part[[]any](one, "secrets") {
		secrets = append(secrets, secret.(string))
	}
	for _, value := range append(run.produced, run.hooks...) {
		assertPrintsNone(t, secrets, value)
	}
}

func (r *caseRun) newClient() (*Client, error) {
	given := part[object](r.one, "client")
	options := []ClientOption{
		WithHTTPClient(&http.Client{Transport: r.script}),
		WithHooks(r.recordHooks()),
		clientOption(func(s *settings) {
			s.random = func() float64 { return part[float64](r.one, "random") }
		}),
	}
	for _, option := range limitOptions(given) {
		options = append(options, option)
	}
	if token := given["token"]; token != nil {
		options = append(options, WithToken(token.(string)))
	}
	if baseURL := given["base_url"]; baseURL != nil {
		options = append(options, WithBaseURL(baseURL.(string)))
	}
	if app := part[object](given, "app_info"); app != nil {
		options = append(options, WithAppInfo(app["name"].(string), app["version"].(string)))
	}
	client, err := New(options...)
	r.produced = append(r.produced, client, options)
	return client, err
}

func limitOptions(given object) []CallOption {
	var options []CallOption
	if has(given, "max_retries") {
		options = append(options, WithMaxRetries(int(part[float64](given, "max_retries"))))
	}
	if has(given, "timeout_ms") {
		options = append(options, WithTimeout(milliseconds(given, "timeout_ms")))
	}
	if has(given, "total_timeout_ms") {
		options = append(options, WithTotalTimeout(milliseconds(given, "total_timeout_ms")))
	}
	return options
}

func (r *caseRun) call() {
	call := part[object](r.one, "call")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if has(r.one, "cancel_at_ms") {
		defer time.AfterFunc(milliseconds(r.one, "cancel_at_ms"), cancel).Stop()
	}
	called := &calledOperation{t: r.t, ctx: ctx, given: part[object](call, "arguments")}
	called.options = limitOptions(part[object](call, "options"))
	operation := call["operation"].(string)
	var err error
	if called.client, err = r.newClient(); err == nil {
		err = called.run(operation)
	}
	endedAt := float64(r.script.now().Milliseconds())
	r.produced = append(r.produced, err, called.value)
	if called.response != nil {
		r.produced = append(r.produced, called.response, *called.response)
	}
	result := part[object](r.one, "result")
	r.results = part[any](called.value, "results")
	expectedError := part[object](result, "error")
	r.checkError(err, expectedError)
	if has(result, "value") {
		r.expect.contains(convert[any](r.t, called.value), result["value"], "value")
	}
	if has(result, "items") {
		r.expect.contains(called.items, result["items"], "items")
	}
	for _, expected := range []object{result, expectedError} {
		if at, isGiven := expected["at_ms"]; isGiven && at != endedAt {
			r.t.Errorf("the call ended at %v and not at %v", endedAt, at)
		}
	}
	if after := part[object](r.one, "arguments_after"); after != nil {
		r.expect.equals(called.given, after, "arguments")
		r.expect.equals(convert[any](r.t, called.event), after["event"], "event")
	}
	r.checkFacts(called.response, result)
}

func (r *caseRun) checkFacts(response *Response, result object) {
	expected := object{}
	for _, name := range []string{"request_id", "status", "attempts", "headers"} {
		if has(result, name) {
			expected[name] = result[name]
		}
	}
	if len(expected) == 0 {
		return
	}
	headers := object{}
	for name := range response.Header() {
		headers[strings.ToLower(name)] = response.Header().Get(name)
	}
	r.expect.contains(object{
		"request_id": response.RequestID,
		"status":     float64(response.Status),
		"attempts":   float64(response.Attempts),
		"headers":    headers,
	}, expected, "response")
}

func (r *caseRun) checkError(err error, expected object) {
	r.t.Helper()
	if expected == nil || err == nil {
		if expected != nil || err != nil {
			r.t.Errorf("the error is %v and not %v", err, expected)
		}
		return
	}
	var kind ErrorType
	if errors.Is(err, context.Canceled) {
		kind = "aborted"
	} else if !errors.As(err, &kind) {
		r.t.Fatalf("the error is %T", err)
	}
	if string(kind) != expected["type"] || kind != "aborted" && !errors.Is(err, kind) {
		r.t.Errorf("the error is %s and not %s", kind, expected["type"])
	}
	if text := part[string](expected, "message_contains"); !strings.Contains(err.Error(), text) {
		r.t.Errorf("the message is %s", err)
	}
	actual := factsOfError(r.t, err)
	if has(expected, "results") {
		r.expect.contains(convert[any](r.t, r.results), expected["results"], "results")
	}
	for name, value := range expected {
		if name != "type" && name != "message_contains" && name != "at_ms" && name != "results" {
			r.expect.contains(actual[name], value, "error."+name)
		}
	}
}

func factsOfError(t *testing.T, err error) object {
	var connectionError *ConnectionError
	if errors.As(err, &connectionError) {
		if !errors.Is(err, ErrConnection) || errors.Is(err, ErrTimeout) != connectionError.Timeout() {
			t.Error("a timeout is a kind of connection error")
		}
		return object{"attempts": float64(connectionError.Attempts)}
	}
	var apiError *APIError
	if !errors.As(err, &apiError) {
		return nil
	}
	facts := object{
		"status":     float64(apiError.Status),
		"message":    apiError.Message,
		"request_id": apiError.RequestID,
		"errors":     convert[any](t, apiError.FieldErrors()),
		"raw_body":   apiError.RawBody(),
		"body":       convert[any](t, apiError.Body()),
		"attempts":   float64(apiError.Attempts),
	}
	if after, isGiven := apiError.RetryAfter(); isGiven {
		facts["retry_after_seconds"] = after.Seconds()
	}
	return facts
}

func (r *caseRun) checkRequests() {
	expected := []object{}
	for _, call := range part[[]any](r.one, "calls") {
		expected = append(expected, call.(object))
	}
	made := r.script.requests
	if has(r.one, "queue") {
		made, expected = sortedRequests(made), sortedRequests(expected)
	}
	if len(made) != len(expected) {
		r.t.Fatalf("there are %d requests and not %d: %v", len(made), len(expected), made)
	}
	for at, request := range made {
		r.checkRequest(request, expected[at])
	}
}

func (r *caseRun) checkRequest(request, expected object) {
	place := request["method"].(string) + " " + request["path"].(string)
	for _, name := range []string{"event_ids", "event_count"} {
		if has(expected, name) {
			r.expect.contains(request[name], expected[name], place+" "+name)
		}
	}
	for _, name := range []string{"at_ms", "method", "path"} {
		r.expect.contains(request[name], expected[name], place+" "+name)
	}
	origin := "https://events.example"
	if has(expected, "origin") {
		origin = expected["origin"].(string)
	}
	r.expect.contains(request["origin"], origin, place+" origin")
	query := part[object](expected, "query")
	if query == nil {
		query = object{}
	}
	r.expect.equals(request["query"], query, place+" query")
	if body, isGiven := expected["body"]; isGiven {
		own, isSent := request["body"]
		if !isSent {
			own = missing{}
		}
		r.expect.equals(own, body, place+" body")
	}
	for name, value := range part[object](expected, "headers") {
		lower := object{strings.ToLower(name): value}
		r.expect.contains(request["headers"], lower, place+" headers")
	}
}
