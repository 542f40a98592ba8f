package signalbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// The limits of a request of the API.
const (
	batchEventsMax = 200
	batchBytesMax  = 1 << 20
	eventBytesMax  = 64 << 10
)

const batchOperation = "events.createEvents"

// settlement is the result of an event, or the error of its request.
type settlement struct {
	result EventResult
	// text is the result as it came.
	text     json.RawMessage
	answer   *answer
	attempts int
	err      error
}

func (s settlement) isStored() bool {
	return s.result.Status == http.StatusOK || s.result.Status == http.StatusAccepted
}

// created is what Create would have returned for the event.
func (s settlement) created() *CreatedEvent {
	created := &CreatedEvent{}
	decodeBody(s.text, created)
	created.EventID = s.result.EventID
	created.setResponse(newResponse(s.alone(), s.attempts))
	return created
}

// asError is the error that Create would have returned for the event.
func (s settlement) asError() *APIError {
	e := newAPIError(s.alone(), "")
	e.Attempts = s.attempts
	if s.result.Message != "" {
		e.Message = s.result.Message
	}
	return e
}

// alone is the answer that the event would have had by itself.
func (s settlement) alone() *answer {
	own := &answer{status: int(s.result.Status), header: s.answer.header.Clone(), body: s.text}
	own.header.Del("Retry-After")
	if s.result.RetryAfter != nil {
		own.header.Set("Retry-After", strconv.FormatInt(*s.result.RetryAfter, 10))
	}
	return own
}

// mayStoreLater says whether the event is sent again. As for a request, to wait longer than
// retryAfterMax is for the caller to decide.
func (s settlement) mayStoreLater() bool {
	if s.result.Status != http.StatusTooManyRequests &&
		s.result.Status != http.StatusServiceUnavailable {
		return false
	}
	return s.wait() <= retryAfterMax
}

func (s settlement) wait() time.Duration {
	if s.result.RetryAfter == nil {
		return 0
	}
	return time.Duration(*s.result.RetryAfter) * time.Second
}

// batch is events within the limits, in one request. Those that the service could not store at the
// time are sent again in the next attempt.
type batch struct {
	ctx      context.Context
	settings *settings
	events   []preparedEvent
	// settle is called once for each event, by its position, when nothing more can change.
	settle  func(at int, settled settlement)
	pending []int
	// last has the results of the events that are pending.
	last map[int]settlement
}

// sendBatch returns the positions of the events that it did not settle because they can only be
// sent one by one: the service is older than batches, or a proxy takes no body of this size.
func sendBatch(
	ctx context.Context, s *settings, events []preparedEvent,
	settle func(int, settlement), options ...CallOption,
) (alone []int) {
	b := &batch{ctx: ctx, settings: s, events: events, settle: settle}
	for at := range events {
		b.pending = append(b.pending, at)
	}
	_, err := send[EventBatchResult](ctx, s, apiRequest{
		operation: batchOperation,
		method:    http.MethodPost,
		path:      "/events/batch",
		json:      b.body,
		receive:   b.receive,
	}, options)
	if err == nil {
		return nil
	}
	return b.fail(err)
}

func (b *batch) body() []byte {
	body := []byte(`{"events":[`)
	for at, position := range b.pending {
		if at > 0 {
			body = append(body, ',')
		}
		body = append(body, b.events[position].body...)
	}
	return append(body, "]}"...)
}

// receive settles what is final. Its error, for which the request is sent again, is that of the
// event that must wait longest, so that one delay is enough for all of them.
func (b *batch) receive(read *answer, attempt int) error {
	settlements, isComplete := b.read(read, attempt)
	if !isComplete {
		e := newAPIError(read, "")
		e.Message = "the answer does not have a result for each event"
		return e
	}
	sent := b.pending
	b.pending, b.last = nil, map[int]settlement{}
	var longest *settlement
	for at, position := range sent {
		settled := settlements[at]
		if !settled.mayStoreLater() {
			continue
		}
		b.pending, b.last[position] = append(b.pending, position), settled
		if longest == nil || settled.wait() > longest.wait() {
			longest = &settled
		}
	}
	for at, position := range sent {
		if _, isPending := b.last[position]; !isPending {
			b.settings.hooks.warnOfDifference(b.ctx, batchOperation, settlements[at].result.EventID,
				settlements[at].result.Notices)
			b.settle(position, settlements[at])
		}
	}
	if longest == nil {
		return nil
	}
	return longest.asError()
}

// read returns false unless there is a result for each event.
func (b *batch) read(read *answer, attempt int) ([]settlement, bool) {
	var body struct{ Results []json.RawMessage }
	decodeBody(read.body, &body)
	if len(body.Results) != len(b.pending) {
		return nil, false
	}
	credential, _ := b.settings.credential()
	settlements := make([]settlement, len(body.Results))
	for at, text := range body.Results {
		settled := settlement{text: text, answer: read, attempts: attempt}
		decodeBody(text, &settled.result)
		if settled.result.Status == 0 {
			return nil, false
		}
		// Of refused events too: a caller that sends one again needs the ID that it had.
		if settled.result.EventID == "" {
			settled.result.EventID = b.events[b.pending[at]].id
		}
		settled.result.Message = redact(settled.result.Message, credential)
		settlements[at] = settled
	}
	return settlements, true
}

func (b *batch) fail(err error) (alone []int) {
	var apiError *APIError
	isAnswer := errors.As(err, &apiError) && len(b.last) == 0
	switch {
	case isAnswer && (apiError.Status == http.StatusNotFound ||
		apiError.Status == http.StatusMethodNotAllowed):
		b.settings.hasNoBatches.Store(true)
		return b.pending
	case isAnswer && apiError.Status == http.StatusRequestEntityTooLarge:
		return b.pending
	}
	for _, position := range b.pending {
		settled, isKnown := b.last[position]
		// A caller that ends the context hears of it.
		if !isKnown || b.ctx.Err() != nil {
			settled = settlement{err: err}
		}
		b.settle(position, settled)
	}
	return nil
}

// countBatch returns how many of the events at the front fit into a request: 0 when the first is
// too large for one.
func countBatch(events []preparedEvent, eventsMax int) (count int) {
	bytes := len(`{"events":[]}`)
	for _, event := range events {
		bytes += len(event.body) + 1
		if count >= eventsMax || len(event.body) > eventBytesMax || bytes > batchBytesMax {
			break
		}
		count++
	}
	return count
}
