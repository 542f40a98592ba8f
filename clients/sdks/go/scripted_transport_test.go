//go:build go1.25

package signalbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const basePath = "/api/v1"

// scriptedTransport gives the answers of a case and records the requests.
type scriptedTransport struct {
	t         *testing.T
	startedAt time.Time

	mutex    sync.Mutex
	answers  []any
	byEvent  map[string][]any
	requests []object
	inFlight int
}

func newScriptedTransport(t *testing.T, one object) *scriptedTransport {
	s := &scriptedTransport{t: t, startedAt: time.Now(), byEvent: map[string][]any{}}
	s.answers = part[[]any](one, "answers")
	for id, answers := range part[object](one, "answers_by_event") {
		s.byEvent[id] = answers.([]any)
	}
	return s
}

func (s *scriptedTransport) now() time.Duration { return time.Since(s.startedAt) }

// sorted returns requests in the order of the clock and then of the events.
func sortedRequests(requests []object) []object {
	return slices.SortedStableFunc(slices.Values(requests), func(a, b object) int {
		return cmp.Or(
			cmp.Compare(part[float64](a, "at_ms"), part[float64](b, "at_ms")),
			strings.Compare(eventIDOf(a), eventIDOf(b)),
		)
	})
}

func eventIDOf(request object) string {
	if id, isGiven := part[object](request, "body")["event_id"].(string); isGiven {
		return id
	}
	if ids := part[[]any](request, "event_ids"); len(ids) > 0 {
		id, _ := ids[0].(string)
		return id
	}
	return ""
}

// addEventIDs adds those of the event or of the events of a body.
func addEventIDs(recorded object) {
	body := part[object](recorded, "body")
	if id, isGiven := body["event_id"]; isGiven {
		recorded["event_ids"] = []any{id}
	}
	if events, isBatch := body["events"].([]any); isBatch {
		ids := []any{}
		for _, event := range events {
			ids = append(ids, event.(object)["event_id"])
		}
		recorded["event_ids"], recorded["event_count"] = ids, float64(len(ids))
	}
}

func acceptEvents(recorded object) object {
	results := []any{}
	for _, id := range part[[]any](recorded, "event_ids") {
		results = append(results, object{"status": 202, "event_id": id, "duplicate": false})
	}
	return object{"results": results}
}

// RoundTrip ends when the context of the request does, as http.Transport.
func (s *scriptedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := s.record(request)
	if answer == nil {
		s.t.Errorf("%s %s has no answer", request.Method, request.URL)
		return nil, errors.New("no answer")
	}
	if err := s.wait(request, milliseconds(answer, "after_ms")); err != nil {
		return nil, err
	}
	if part[bool](answer, "connect_error") {
		return nil, errors.New(cmp.Or(part[string](answer, "detail"), "connection refused"))
	}
	response := &http.Response{
		StatusCode: int(part[float64](answer, "status")),
		Header:     http.Header{},
		Request:    request,
		Body:       &scriptedBody{script: s, request: request, answer: answer},
	}
	for name, value := range part[object](answer, "headers") {
		response.Header.Set(name, value.(string))
	}
	s.count(1)
	return response, nil
}

func (s *scriptedTransport) count(change int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inFlight += change
}

// record returns the answer, which is nil when there is none.
func (s *scriptedTransport) record(request *http.Request) object {
	recorded := object{
		"at_ms":   float64(s.now().Milliseconds()),
		"method":  request.Method,
		"origin":  request.URL.Scheme + "://" + request.URL.Host,
		"path":    strings.TrimPrefix(request.URL.EscapedPath(), basePath),
		"query":   object{},
		"headers": object{},
	}
	for name, values := range request.URL.Query() {
		recorded["query"].(object)[name] = strings.Join(values, ",")
	}
	for name, values := range request.Header {
		recorded["headers"].(object)[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if request.Body != nil {
		var body any
		if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
			s.t.Error("a body is not JSON:", err)
		}
		recorded["body"] = body
		addEventIDs(recorded)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, recorded)
	id := eventIDOf(recorded)
	if answers := s.byEvent[id]; len(answers) > 0 {
		s.byEvent[id] = answers[1:]
		return answers[0].(object)
	}
	if len(s.answers) == 0 {
		return nil
	}
	first := s.answers[0].(object)
	s.answers = s.answers[1:]
	if part[bool](first, "accepts") {
		return object{"status": first["status"], "body": acceptEvents(recorded)}
	}
	return first
}

func (s *scriptedTransport) wait(request *http.Request, delay time.Duration) error {
	if delay == 0 {
		return request.Context().Err()
	}
	return sleep(request.Context(), delay)
}

// scriptedBody gives its bytes after a delay, and then an error if the connection ends.
type scriptedBody struct {
	script  *scriptedTransport
	request *http.Request
	answer  object
	reader  io.Reader
}

func (b *scriptedBody) Read(to []byte) (int, error) {
	if b.reader == nil {
		if err := b.script.wait(b.request, milliseconds(b.answer, "body_after_ms")); err != nil {
			return 0, err
		}
		b.reader = bytes.NewReader(b.content())
	}
	read, err := b.reader.Read(to)
	if err == io.EOF && part[bool](b.answer, "body_error") {
		return read, io.ErrUnexpectedEOF
	}
	return read, err
}

func (b *scriptedBody) content() []byte {
	if count := part[float64](b.answer, "text_bytes"); count > 0 {
		return bytes.Repeat([]byte(" "), int(count))
	}
	if body, isJSON := b.answer["body"]; isJSON {
		text, err := json.Marshal(body)
		if err != nil {
			b.script.t.Error(err)
		}
		return text
	}
	return []byte(part[string](b.answer, "text"))
}

func (b *scriptedBody) Close() error {
	b.script.count(-1)
	return nil
}
