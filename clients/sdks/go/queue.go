package signalbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// OutcomeStatus says whether an event was accepted.
type OutcomeStatus string

const (
	OutcomeAccepted  OutcomeStatus = "accepted"
	OutcomeDuplicate OutcomeStatus = "duplicate"
	OutcomeFailed    OutcomeStatus = "failed"
)

// Outcome is the result of sending one event of a queue.
type Outcome struct {
	EventID string
	Status  OutcomeStatus
	// Created is the answer, nil if the event failed.
	Created *CreatedEvent
	// Err is why the event failed, nil if it did not.
	Err error
}

// FlushResult has the outcomes that no call returned before.
type FlushResult struct {
	// Outcomes are in the order of adding.
	Outcomes []Outcome
	// Omitted counts older outcomes that were not kept: the queue keeps as many as its capacity.
	Omitted int
}

// CloseResult is what is known of a queue at its end.
type CloseResult struct {
	FlushResult
	// Left has the IDs of events whose outcome is not known. They may have been accepted: send them
	// again.
	Left []string
}

// QueueOption configures a queue.
type QueueOption func(*Queue)

// WithCapacity sets how many events may wait or be in flight: 1,000 by default.
func WithCapacity(count int) QueueOption { return func(q *Queue) { q.capacity = count } }

// WithConcurrency sets how many requests are made at the same time: 8 by default.
func WithConcurrency(count int) QueueOption { return func(q *Queue) { q.concurrency = count } }

// WithBatchSize sets how many events a request has at most: 100 by default, at most 200, 1 for single
// events.
func WithBatchSize(count int) QueueOption { return func(q *Queue) { q.batchSize = count } }

// WithOnOutcome calls a function with each outcome when it is known, from several goroutines. An
// event is in flight until the function returns, so it must not call Flush or Close.
func WithOnOutcome(report func(Outcome)) QueueOption { return func(q *Queue) { q.report = report } }

// queueWait is how long an event waits at most for others to be sent with.
const queueWait = 50 * time.Millisecond

// Queue sends events in the background: in batches that are full, or 50 milliseconds after the first
// event of one. It is in memory only: what is in it is lost with the process, so Flush it before a
// function returns and Close it before the process ends. It is safe for concurrent use.
type Queue struct {
	settings    *settings
	capacity    int
	concurrency int
	batchSize   int
	report      func(Outcome)
	ctx         context.Context
	cancel      context.CancelFunc

	mutex sync.Mutex
	added int
	// waiting and inFlight are in the order of adding.
	waiting  []*queueEntry
	inFlight []*queueEntry
	// settled are entries with an outcome that no call returned, in the order of settling.
	settled []*queueEntry
	// requests counts those in flight.
	requests int
	// due: events up to this sequence number wait for no others.
	due       int
	timer     *time.Timer
	omitted   int
	isClosing bool
	isEnded   bool
	result    CloseResult
	// changed is closed when an event settles, and then replaced.
	changed chan struct{}
}

type queueEntry struct {
	event    preparedEvent
	sequence int
	// isAlone says that a proxy refused it together with others.
	isAlone bool
	outcome *Outcome
}

// Queue returns a queue that sends with this client. Its error is ErrInvalidArgument.
func (c *Client) Queue(options ...QueueOption) (*Queue, error) {
	q := &Queue{
		settings:    c.settings,
		capacity:    1_000,
		concurrency: 8,
		batchSize:   100,
		report:      func(Outcome) {},
		changed:     make(chan struct{}),
	}
	for _, option := range options {
		option(q)
	}
	if q.capacity < 1 || q.concurrency < 1 || q.batchSize < 1 || q.batchSize > batchEventsMax {
		return nil, fmt.Errorf("%w: capacity, concurrency and batch size count from 1, "+
			"and a batch has at most %d events", ErrInvalidArgument, batchEventsMax)
	}
	q.batchSize = min(q.batchSize, q.capacity)
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q, nil
}

// Size is how many events wait or are in flight.
func (q *Queue) Size() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.waiting) + len(q.inFlight)
}

// Add adds an event and returns its ID. It does not wait. Its error is ErrInvalidArgument,
// ErrQueueFull or ErrQueueClosed; the event was not added then.
func (q *Queue) Add(event EventSubmission) (eventID string, err error) {
	prepared, err := prepareEvent(event)
	if err != nil {
		return "", err
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.isClosing {
		return "", ErrQueueClosed
	}
	if len(q.waiting)+len(q.inFlight) >= q.capacity {
		return "", fmt.Errorf("%w: %d events wait or are in flight", ErrQueueFull, q.capacity)
	}
	q.added++
	q.waiting = append(q.waiting, &queueEntry{event: prepared, sequence: q.added})
	q.start()
	return prepared.id, nil
}

// Flush waits for every event that was added before, in flight or not, and returns the outcomes.
// Its error is that of the context, which does not end the requests.
func (q *Queue) Flush(ctx context.Context) (FlushResult, error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	last := q.added
	q.sendNow()
	for q.hasPending(last) {
		if err := q.waitForChange(ctx); err != nil {
			return FlushResult{}, fmt.Errorf("signalbox: flush ended with its context: %w", err)
		}
	}
	return q.take(last), nil
}

// Close refuses new events and waits for those in the queue, at most until the context ends. Then
// it ends the requests in flight and names in Left what has no outcome. A second call returns
// what the first did.
func (q *Queue) Close(ctx context.Context) CloseResult {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.isClosing = true
	q.sendNow()
	for !q.isEnded && len(q.waiting)+len(q.inFlight) > 0 && q.waitForChange(ctx) == nil {
		continue
	}
	if !q.isEnded {
		q.end()
	}
	return q.result
}

// end stops what is in flight. The caller holds the mutex.
func (q *Queue) end() {
	q.isEnded = true
	q.cancel()
	q.stopTimer()
	left := []string{}
	for _, entry := range slices.Concat(q.inFlight, q.waiting) {
		if entry.outcome == nil {
			left = append(left, entry.event.id)
		}
	}
	q.waiting, q.inFlight = nil, nil
	q.result = CloseResult{FlushResult: q.take(q.added), Left: left}
	q.notify()
}

// waitForChange releases the mutex meanwhile.
func (q *Queue) waitForChange(ctx context.Context) error {
	changed := q.changed
	q.mutex.Unlock()
	defer q.mutex.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *Queue) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *Queue) hasPending(last int) bool {
	isBefore := func(entry *queueEntry) bool { return entry.sequence <= last }
	return slices.ContainsFunc(q.waiting, isBefore) || slices.ContainsFunc(q.inFlight, isBefore)
}

// take returns the settled outcomes up to a sequence number. The caller holds the mutex.
func (q *Queue) take(last int) FlushResult {
	taken := []*queueEntry{}
	q.settled = slices.DeleteFunc(q.settled, func(entry *queueEntry) bool {
		isTaken := entry.sequence <= last
		if isTaken {
			taken = append(taken, entry)
		}
		return isTaken
	})
	slices.SortFunc(taken, func(a, b *queueEntry) int { return cmp.Compare(a.sequence, b.sequence) })
	result := FlushResult{Outcomes: make([]Outcome, len(taken)), Omitted: q.omitted}
	for at, entry := range taken {
		result.Outcomes[at] = *entry.outcome
	}
	q.omitted = 0
	return result
}
