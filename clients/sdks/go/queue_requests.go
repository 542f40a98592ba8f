package signalbox

import (
	"slices"
	"time"
)

// sendNow lets what waits wait for no other events. The caller holds the mutex.
func (q *Queue) sendNow() {
	q.due = q.added
	q.start()
}

// start sends what is due while requests may start, and waits for what is not. The caller holds the
// mutex.
func (q *Queue) start() {
	if q.isEnded {
		return
	}
	for len(q.waiting) > 0 && q.requests < q.concurrency {
		size := q.batchSize
		if q.settings.hasNoBatches.Load() {
			size = 1
		}
		if len(q.waiting) < size && q.isGathering() {
			break
		}
		entries := q.takeEntries(size)
		q.inFlight = append(q.inFlight, entries...)
		q.requests++
		go q.run(entries)
	}
	if !q.isGathering() {
		q.stopTimer()
	} else if q.timer == nil {
		q.timer = time.AfterFunc(queueWait, q.endWait)
	}
}

func (q *Queue) isGathering() bool { return len(q.waiting) > 0 && q.waiting[0].sequence > q.due }

func (q *Queue) endWait() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.timer = nil
	q.sendNow()
}

func (q *Queue) stopTimer() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}

// takeEntries removes the events at the front that fit into a request. An event that needs its own
// is alone.
func (q *Queue) takeEntries(size int) []*queueEntry {
	front := []preparedEvent{}
	for _, entry := range q.waiting[:min(size, len(q.waiting))] {
		if entry.isAlone {
			break
		}
		front = append(front, entry.event)
	}
	count := max(countBatch(front, size), 1)
	entries := slices.Clone(q.waiting[:count])
	clear(q.waiting[:count])
	q.waiting = q.waiting[count:]
	return entries
}

// run sends the events of one request. An event is in flight until its outcome was reported.
func (q *Queue) run(entries []*queueEntry) {
	alone := []*queueEntry{}
	if len(entries) == 1 {
		q.settle(entries[0], q.sendEntry(entries[0]))
	} else {
		alone = q.sendEntries(entries)
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.requests--
	if q.isEnded {
		return
	}
	// They go back to the front, each to be sent by itself.
	for _, entry := range alone {
		entry.isAlone = true
	}
	q.inFlight = without(q.inFlight, alone)
	q.waiting = slices.Concat(alone, q.waiting)
	q.start()
	q.notify()
}

func (q *Queue) settle(entry *queueEntry, outcome Outcome) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.isEnded {
		return
	}
	entry.outcome = &outcome
	q.settled = append(q.settled, entry)
	if len(q.settled) > q.capacity {
		q.settled = q.settled[1:]
		q.omitted++
	}
	q.mutex.Unlock()
	q.report(outcome)
	q.mutex.Lock()
	q.inFlight = without(q.inFlight, []*queueEntry{entry})
	if !q.isEnded {
		q.notify()
	}
}

func without(entries, removed []*queueEntry) []*queueEntry {
	return slices.DeleteFunc(entries, func(one *queueEntry) bool {
		return slices.Contains(removed, one)
	})
}

func (q *Queue) sendEntry(entry *queueEntry) Outcome {
	created, err := sendEvent(q.ctx, q.settings, entry.event)
	return newOutcome(entry, created, err)
}

// sendEntries returns the events that can only be sent one by one.
func (q *Queue) sendEntries(entries []*queueEntry) (alone []*queueEntry) {
	events := make([]preparedEvent, len(entries))
	for at, entry := range entries {
		events[at] = entry.event
	}
	positions := sendBatch(q.ctx, q.settings, events, func(at int, settled settlement) {
		switch {
		case settled.err != nil:
			q.settle(entries[at], newOutcome(entries[at], nil, settled.err))
		case settled.isStored():
			q.settle(entries[at], newOutcome(entries[at], settled.created(), nil))
		default:
			q.settle(entries[at], newOutcome(entries[at], nil, settled.asError()))
		}
	})
	for _, at := range positions {
		alone = append(alone, entries[at])
	}
	return alone
}

func newOutcome(entry *queueEntry, created *CreatedEvent, err error) Outcome {
	outcome := Outcome{EventID: entry.event.id, Created: created, Err: err}
	switch {
	case err != nil:
		outcome.Status = OutcomeFailed
	case created.Duplicate:
		outcome.Status = OutcomeDuplicate
	default:
		outcome.Status = OutcomeAccepted
	}
	return outcome
}
