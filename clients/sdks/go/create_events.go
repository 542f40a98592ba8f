package signalbox

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// CreateEvents submits many events, 200 in a request and in their order, and returns their results
// by position. Its error is what is wrong with a request; what is wrong with an event is its
// result. Beside an error are the results of the events before those of the failed request.
func (s EventService) CreateEvents(
	ctx context.Context, events []EventSubmission, options ...CallOption,
) ([]EventResult, error) {
	if _, err := s.settings.limitsOf(options); err != nil {
		return nil, err
	}
	results := make([]EventResult, len(events))
	waiting, positions := prepareEvents(events, results)
	for len(waiting) > 0 {
		count := 0
		if !s.settings.hasNoBatches.Load() {
			count = countBatch(waiting, batchEventsMax)
		}
		sent := waiting[:max(count, 1)]
		var failure error
		settle := func(at int, settled settlement) {
			if settled.err != nil && failure == nil {
				failure = settled.err
			}
			results[positions[at]] = settled.result
		}
		alone := []int{0}
		if count > 0 {
			alone = sendBatch(ctx, s.settings, sent, settle, options...)
		}
		for _, at := range alone {
			if failure == nil {
				settle(at, sendAlone(ctx, s.settings, sent[at], options))
			}
		}
		if failure != nil {
			return results[:positions[0]], failure
		}
		waiting, positions = waiting[len(sent):], positions[len(sent):]
	}
	return results, nil
}

// prepareEvents returns what can be sent, and its positions. The results of the others say why:
// an event that cannot be JSON is refused like an invalid one.
func prepareEvents(
	events []EventSubmission, results []EventResult,
) (prepared []preparedEvent, positions []int) {
	for at, event := range events {
		one, err := prepareEvent(event)
		if err != nil {
			results[at] = EventResult{
				Status:  http.StatusUnprocessableEntity,
				EventID: event.EventID,
				Message: err.Error(),
			}
			continue
		}
		prepared, positions = append(prepared, one), append(positions, at)
	}
	return prepared, positions
}

// sendAlone sends an event with Create. It returns the result that the event would have had in a
// batch.
func sendAlone(
	ctx context.Context, s *settings, event preparedEvent, options []CallOption,
) settlement {
	created, err := sendEvent(ctx, s, event, options...)
	var apiError *APIError
	switch {
	case err == nil:
		return settlement{result: EventResult{
			Status:    int64(created.LastResponse.Status),
			EventID:   created.EventID,
			Duplicate: &created.Duplicate,
			Warnings:  created.Warnings,
			Notices:   created.Notices,
		}}
	case errors.As(err, &apiError):
		return settlement{result: toResult(event, apiError), err: errorOfRequest(apiError)}
	}
	return settlement{err: err}
}

func toResult(event preparedEvent, e *APIError) EventResult {
	result := EventResult{Status: int64(e.Status), EventID: event.id, Message: e.Message}
	if fields := e.FieldErrors(); len(fields) > 0 {
		result.Errors = fields
	}
	if after, isGiven := e.RetryAfter(); isGiven {
		result.RetryAfter = Ptr(int64(after / time.Second))
	}
	return result
}

// errorOfRequest returns nil for an error that is about the event.
func errorOfRequest(e *APIError) error {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusServiceUnavailable:
		return nil
	}
	return e
}
