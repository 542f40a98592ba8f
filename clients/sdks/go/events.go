package signalbox

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// EventService has the operations on events.
type EventService struct{ settings *settings }

// Create submits one event. Without an ID it gets one before the first attempt.
func (s EventService) Create(
	ctx context.Context, event EventSubmission, options ...CallOption,
) (*CreatedEvent, error) {
	prepared, err := prepareEvent(event)
	if err != nil {
		return nil, err
	}
	return sendEvent(ctx, s.settings, prepared, options...)
}

const createOperation = "events.create"

func sendEvent(
	ctx context.Context, s *settings, event preparedEvent, options ...CallOption,
) (*CreatedEvent, error) {
	request := apiRequest{
		operation: createOperation,
		method:    http.MethodPost,
		path:      "/events",
		body:      event.body,
	}
	// An ID of the caller may have characters that a header cannot hold.
	if event.isGenerated {
		request.idempotencyKey = event.id
	}
	created, err := send[CreatedEvent](ctx, s, request, options)
	if err != nil {
		return nil, err
	}
	if created.EventID == "" {
		created.EventID = event.id
	}
	s.hooks.warnOfDifference(ctx, createOperation, created.EventID, created.Notices)
	return created, nil
}

// Verify checks that the token can write events.
func (s EventService) Verify(
	ctx context.Context, options ...CallOption,
) (*NewVerification, error) {
	return send[NewVerification](ctx, s.settings, apiRequest{
		operation: "events.verify",
		method:    http.MethodPost,
		path:      "/verification-events",
	}, options)
}

// Space says whether the tracker secret or a publishable key sent an event.
type Space string

const (
	// SpaceSecret is the default.
	SpaceSecret      Space = "secret"
	SpacePublishable Space = "publishable"
)

// WithSpace reads an event of a space.
func WithSpace(space Space) GetOption {
	return getOption(func(get *getParameters) { get.space = space })
}

type getOption func(*getParameters)

func (o getOption) applyToGet(get *getParameters) { o(get) }

type getParameters struct {
	space   Space
	options []CallOption
}

// Get returns one event with its deliveries and why each is in its state.
func (s EventService) Get(
	ctx context.Context, eventID string, options ...GetOption,
) (*EventDetail, error) {
	id, err := escapeID(eventID)
	if err != nil {
		return nil, err
	}
	var get getParameters
	for _, option := range options {
		option.applyToGet(&get)
	}
	request := apiRequest{operation: "events.get", method: http.MethodGet, path: "/events/" + id}
	if get.space != "" {
		request.query = url.Values{"space": {string(get.space)}}
	}
	return send[EventDetail](ctx, s.settings, request, get.options)
}

// ListParameters choose a page. A zero is left out.
type ListParameters struct {
	// Page counts from 1.
	Page int
	// PerPage is at most 100; 25 by default.
	PerPage int
}

// List returns one page of events, newest first.
func (s EventService) List(
	ctx context.Context, parameters ListParameters, options ...CallOption,
) (*EventList, error) {
	query := url.Values{}
	if parameters.Page != 0 {
		query.Set("page", strconv.Itoa(parameters.Page))
	}
	if parameters.PerPage != 0 {
		query.Set("per_page", strconv.Itoa(parameters.PerPage))
	}
	return send[EventList](ctx, s.settings, apiRequest{
		operation: "events.list",
		method:    http.MethodGet,
		path:      "/dashboard/events",
		query:     query,
	}, options)
}

// All goes through the events of all pages, newest first, and asks for a page when its first event
// is needed. It ends after an error.
func (s EventService) All(
	ctx context.Context, parameters ListParameters, options ...CallOption,
) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		// The first request has the parameter only if the caller gave it.
		read, page := parameters, max(parameters.Page, 1)
		before := map[string]bool{}
		for {
			list, err := s.List(ctx, read, options...)
			if err != nil {
				yield(nil, err)
				return
			}
			found := list.Events.Data
			seen := make(map[string]bool, len(found))
			for at := range found {
				event := &found[at]
				seen[event.ID] = true
				// New events push others to the next page, where they would come again.
				if !before[event.ID] && !yield(event, nil) {
					return
				}
			}
			if len(found) == 0 || !hasNextPage(list.Events, page) {
				return
			}
			before = seen
			page++
			read.Page = page
		}
	}
}

// hasNextPage does not follow URLs of the answer: they could name another host.
func hasNextPage(events EventPage, page int) bool {
	if events.LastPage > 0 {
		return int64(page) < events.LastPage
	}
	return events.NextPageURL != nil
}

const (
	firstPollDelay = 500 * time.Millisecond
	pollDelayMax   = 5 * time.Second
	// DefaultWait is how long WaitForDelivery waits when it gets 0.
	DefaultWait = 60 * time.Second
)

// WaitForDelivery reads an event until no delivery is pending, for at most the timeout; 0 is
// DefaultWait. After it, the error is ErrTimeout. A status of a later version counts as final.
func (s EventService) WaitForDelivery(
	ctx context.Context, eventID string, timeout time.Duration, options ...GetOption,
) (*EventDetail, error) {
	if timeout < 0 {
		return nil, fmt.Errorf("%w: the timeout is negative", ErrInvalidArgument)
	}
	if timeout == 0 {
		timeout = DefaultWait
	}
	deadline := time.Now().Add(timeout)
	for delay := firstPollDelay; ; delay = min(delay*2, pollDelayMax) {
		detail, err := s.Get(ctx, eventID, options...)
		if err != nil {
			return nil, err
		}
		if !isPending(detail.Deliveries) {
			return detail, nil
		}
		remaining := time.Until(deadline)
		if remaining <= 0 {
			return nil, newTimeoutError(fmt.Sprintf("a delivery is still pending after %v", timeout))
		}
		if err := sleep(ctx, min(delay, remaining)); err != nil {
			return nil, fmt.Errorf("signalbox: events.waitForDelivery ended with its context: %w", err)
		}
	}
}

func isPending(deliveries []ExplainedDelivery) bool {
	for _, delivery := range deliveries {
		switch delivery.Status {
		case DeliveryStatusQueued, DeliveryStatusSent, DeliveryStatusRetrying:
			return true
		}
	}
	return false
}
