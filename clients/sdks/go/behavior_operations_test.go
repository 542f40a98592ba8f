//go:build go1.25

package signalbox

import (
	"context"
	"sync"
	"testing"
	"time"
)

// calledOperation is a call of a case and its result.
type calledOperation struct {
	t       *testing.T
	ctx     context.Context
	client  *Client
	given   object
	options []CallOption

	event    *EventSubmission
	value    any
	response *Response
	items    []any
}

type operation func(*calledOperation) error

var operations = map[string]operation{
	"events.create": func(c *calledOperation) error {
		event := toEvent(c.t, c.given["event"])
		c.event = &event
		created, err := c.client.Events.Create(c.ctx, event, c.options...)
		return c.keep(created, err, func() *Response { return created.LastResponse })
	},
	"events.create_events": func(c *calledOperation) error {
		events := []EventSubmission{}
		for range max(1, int(part[float64](c.given, "repeat"))) {
			for _, event := range part[[]any](c.given, "events") {
				events = append(events, toEvent(c.t, event))
			}
		}
		results, err := c.client.Events.CreateEvents(c.ctx, events, c.options...)
		c.value = object{"results": results}
		return err
	},
	"events.get": func(c *calledOperation) error {
		detail, err := c.client.Events.Get(c.ctx, c.text("event"), c.getOptions()...)
		return c.keep(detail, err, func() *Response { return detail.LastResponse })
	},
	"events.list": func(c *calledOperation) error {
		list, err := c.client.Events.List(c.ctx, c.listParameters(), c.options...)
		return c.keep(list, err, func() *Response { return list.LastResponse })
	},
	"events.iterate": func(c *calledOperation) error {
		for event, err := range c.client.Events.All(c.ctx, c.listParameters(), c.options...) {
			if err != nil {
				return err
			}
			c.items = append(c.items, event.ID)
			if float64(len(c.items)) == part[float64](c.given, "take") {
				break
			}
		}
		if c.items == nil {
			c.items = []any{}
		}
		return nil
	},
	"events.wait_for_delivery": func(c *calledOperation) error {
		timeout := milliseconds(c.given, "timeout_ms")
		detail, err := c.client.Events.WaitForDelivery(c.ctx, c.text("event"), timeout, c.getOptions()...)
		return c.keep(detail, err, func() *Response { return detail.LastResponse })
	},
	"events.verify": func(c *calledOperation) error {
		verified, err := c.client.Events.Verify(c.ctx, c.options...)
		return c.keep(verified, err, func() *Response { return verified.LastResponse })
	},
	"destinations.set_test_mode": func(c *calledOperation) error {
		testMode := convert[TestModeSubmission](c.t, c.given["test_mode"])
		given := part[object](c.given, "test_mode")
		if code, isGiven := given["test_event_code"]; isGiven && code == nil {
			testMode.TestEventCode = Null[string]()
		}
		mode, err := c.client.Destinations.SetTestMode(
			c.ctx, c.text("destination"), testMode, c.options...)
		return c.keep(mode, err, func() *Response { return mode.LastResponse })
	},
	"destinations.send_test_purchase": func(c *calledOperation) error {
		purchase := convert[*TestPurchaseSubmission](c.t, c.given["test_purchase"])
		sent, err := c.client.Destinations.SendTestPurchase(
			c.ctx, c.text("destination"), purchase, c.options...)
		return c.keep(sent, err, func() *Response { return sent.LastResponse })
	},
	"deliveries.replay": func(c *calledOperation) error {
		filters := convert[*ReplaySubmission](c.t, c.given["replay"])
		replayed, err := c.client.Deliveries.Replay(c.ctx, filters, c.options...)
		return c.keep(replayed, err, func() *Response { return replayed.LastResponse })
	},
	"reports.reconciliation": func(c *calledOperation) error {
		reports, err := c.client.Reports.Reconciliation(c.ctx, c.text("date"), c.options...)
		return c.keep(reports, err, func() *Response { return reports.LastResponse })
	},
	"reports.match_quality": func(c *calledOperation) error {
		report, err := c.client.Reports.MatchQuality(c.ctx, c.options...)
		return c.keep(report, err, func() *Response { return report.LastResponse })
	},
	"user_data.delete": func(c *calledOperation) error {
		submission := convert[DeletionSubmission](c.t, c.given)
		deleted, err := c.client.UserData.Delete(c.ctx, submission, c.options...)
		return c.keep(deleted, err, func() *Response { return deleted.LastResponse })
	},
	"sandbox.discover": func(c *calledOperation) error {
		discovery, err := c.client.Sandbox.Discover(c.ctx, c.options...)
		return c.keep(discovery, err, func() *Response { return discovery.LastResponse })
	},
	"sandbox.create_key": func(c *calledOperation) error {
		key, err := c.client.Sandbox.CreateKey(c.ctx, c.options...)
		return c.keep(key, err, func() *Response { return key.LastResponse })
	},
	"sandbox.read_key": func(c *calledOperation) error {
		key, err := c.client.Sandbox.ReadKey(c.ctx, c.options...)
		return c.keep(key, err, func() *Response { return key.LastResponse })
	},
	"sandbox.validate": func(c *calledOperation) error {
		event := convert[SandboxEventSubmission](c.t, c.given["event"])
		event.UserData, _ = toNative(event.UserData).(object)
		result, err := c.client.Sandbox.Validate(c.ctx, c.text("api_key"), event, c.options...)
		return c.keep(result, err, func() *Response { return result.LastResponse })
	},
	"consent.granted": func(c *calledOperation) error {
		consent, err := ConsentGranted(ConsentDetails{
			CapturedAt: toTime(c.t, c.given["captured_at"]),
			Method:     c.text("method"),
			Version:    c.text("version"),
		})
		c.value = consent
		return err
	},
	"consent.mode": func(c *calledOperation) error {
		c.value = ConsentMode(ConsentModeSignals{
			AdStorage:         toSignal(c.given["ad_storage"]),
			AdUserData:        toSignal(c.given["ad_user_data"]),
			AdPersonalization: toSignal(c.given["ad_personalization"]),
		})
		return nil
	},
	// runCase searches the printed forms of every client.
	"client.print": func(c *calledOperation) error {
		c.value = object{}
		return nil
	},
}

func (c *calledOperation) run(name string) error {
	call, isKnown := operations[name]
	if !isKnown {
		c.t.Fatal("there is no operation", name)
	}
	return call(c)
}

func (c *calledOperation) keep(value any, err error, response func() *Response) error {
	if err == nil {
		c.value, c.response = value, response()
	}
	return err
}

func (c *calledOperation) text(name string) string { return part[string](c.given, name) }

func (c *calledOperation) listParameters() ListParameters {
	return ListParameters{
		Page:    int(part[float64](c.given, "page")),
		PerPage: int(part[float64](c.given, "per_page")),
	}
}

func (c *calledOperation) getOptions() []GetOption {
	options := []GetOption{}
	if has(c.given, "space") {
		options = append(options, WithSpace(Space(c.text("space"))))
	}
	for _, option := range c.options {
		options = append(options, option)
	}
	return options
}

// toEvent reads a time of {"$time": text} as a native time.
func toEvent(t *testing.T, given any) EventSubmission {
	members := object{}
	for name, value := range given.(object) {
		members[name] = value
	}
	delete(members, "event_time")
	event := convert[EventSubmission](t, members)
	setNativeValues(&event)
	event.EventTime = toTime(t, given.(object)["event_time"])
	return event
}

func toTime(t *testing.T, given any) *EventTime {
	if native := part[string](given, "$time"); native != "" {
		parsed, err := time.Parse(time.RFC3339Nano, native)
		if err != nil {
			t.Fatal(err)
		}
		return Time(parsed)
	}
	return convert[*EventTime](t, given)
}

func (r *caseRun) queue() {
	client, err := r.newClient()
	if err != nil {
		r.t.Fatal(err)
	}
	var mutex sync.Mutex
	var reported []any
	options := []QueueOption{WithOnOutcome(func(outcome Outcome) {
		mutex.Lock()
		defer mutex.Unlock()
		at := float64(r.script.now().Milliseconds())
		status := string(outcome.Status)
		reported = append(reported, object{"event_id": outcome.EventID, "status": status, "at_ms": at})
		r.produced = append(r.produced, outcome)
	})}
	given := part[object](r.one, "queue")
	if has(given, "capacity") {
		options = append(options, WithCapacity(int(part[float64](given, "capacity"))))
	}
	if has(given, "concurrency") {
		options = append(options, WithConcurrency(int(part[float64](given, "concurrency"))))
	}
	if has(given, "batch_size") {
		options = append(options, WithBatchSize(int(part[float64](given, "batch_size"))))
	}
	queue, err := client.Queue(options...)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, step := range part[[]any](r.one, "steps") {
		r.queueStep(queue, step.(object))
	}
	r.produced = append(r.produced, queue)
	if has(r.one, "reported") {
		r.expect.contains(reported, r.one["reported"], "reported")
	}
}

func (r *caseRun) queueStep(queue *Queue, step object) {
	if has(step, "at_ms") {
		time.Sleep(milliseconds(step, "at_ms") - r.script.now())
	}
	var flushed FlushResult
	switch step["do"] {
	case "add":
		id, err := queue.Add(toEvent(r.t, step["event"]))
		r.checkError(err, part[object](step, "error"))
		if has(step, "id") {
			r.expect.contains(id, step["id"], "id")
		}
		return
	case "flush":
		var err error
		if flushed, err = queue.Flush(context.Background()); err != nil {
			r.t.Error(err)
		}
	case "close":
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if has(step, "deadline_ms") {
			ctx, cancel = context.WithTimeout(ctx, milliseconds(step, "deadline_ms"))
		}
		closed := queue.Close(ctx)
		cancel()
		flushed = closed.FlushResult
		if expected := part[object](step, "result"); has(expected, "left") {
			r.expect.contains(convert[any](r.t, closed.Left), expected["left"], "left")
		}
	}
	r.produced = append(r.produced, flushed)
	r.checkFlushed(flushed, part[object](step, "result"))
}

func (r *caseRun) checkFlushed(flushed FlushResult, expected object) {
	if at := expected["at_ms"]; at != nil && at != float64(r.script.now().Milliseconds()) {
		r.t.Errorf("the step ended at %v and not at %v", r.script.now(), at)
	}
	if omitted := expected["omitted"]; omitted != nil && omitted != float64(flushed.Omitted) {
		r.t.Errorf("%d outcomes are omitted and not %v", flushed.Omitted, omitted)
	}
	if !has(expected, "outcomes") {
		return
	}
	outcomes := part[[]any](expected, "outcomes")
	if len(outcomes) != len(flushed.Outcomes) {
		r.t.Fatalf("there are %d outcomes and not %d", len(flushed.Outcomes), len(outcomes))
	}
	for at, outcome := range flushed.Outcomes {
		expected := outcomes[at].(object)
		r.expect.contains(outcome.EventID, expected["event_id"], "event_id")
		r.expect.contains(string(outcome.Status), expected["status"], "status")
		r.checkError(outcome.Err, part[object](expected, "error"))
	}
}
