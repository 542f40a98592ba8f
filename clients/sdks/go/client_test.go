package signalbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

const token = "sbx_sk_0000"

var purchase = signalbox.EventSubmission{
	EventID: "order-1", EventName: "Purchase", ConsentBasis: "consent",
}

// startServer answers with a function and returns a client of it, which never retries.
func startServer(
	t *testing.T, answer http.HandlerFunc, options ...signalbox.ClientOption,
) *signalbox.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	own := []signalbox.ClientOption{
		signalbox.WithToken(token), signalbox.WithBaseURL(server.URL), signalbox.WithMaxRetries(0),
	}
	return newClient(t, append(own, options...)...)
}

func newClient(t *testing.T, options ...signalbox.ClientOption) *signalbox.Client {
	t.Helper()
	client, err := signalbox.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func accept(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/batch") {
		var body struct{ Events []struct{} }
		_ = json.NewDecoder(r.Body).Decode(&body)
		results := strings.Repeat(`,{"status":202,"duplicate":false}`, len(body.Events))
		fmt.Fprintf(w, `{"results":[%s]}`, results[1:])
		return
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, `{"event_id":"order-1","duplicate":false}`)
}

func TestRedirectsTakeNoTokenElsewhere(t *testing.T) {
	var followed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		followed.Add(1)
	}))
	defer other.Close()
	own := &http.Client{}
	client := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}, signalbox.WithHTTPClient(own))
	_, err := client.Events.Create(context.Background(), purchase)
	if !errors.Is(err, signalbox.ErrRedirect) || followed.Load() != 0 {
		t.Errorf("%v, followed %d times", err, followed.Load())
	}
	if own.CheckRedirect != nil {
		t.Error("the client of the caller is changed")
	}
}

func TestConnectionErrorKeepsItsCauseAndNoURL(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	client := newClient(t, signalbox.WithToken(token), signalbox.WithBaseURL("http://"+address),
		signalbox.WithMaxRetries(0))
	_, err = client.Events.Get(context.Background(), "ada@example.com")
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, signalbox.ErrConnection) {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "events") || strings.Contains(err.Error(), "ada") {
		t.Errorf("the message has the URL: %v", err)
	}
}

func TestContextOfTheCallerIsNoTimeoutOfTheClient(t *testing.T) {
	release := make(chan struct{})
	client := startServer(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Events.Create(ctx, purchase)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, signalbox.ErrTimeout) {
		t.Errorf("%v", err)
	}
	_, err = client.Events.Create(context.Background(), purchase,
		signalbox.WithTimeout(20*time.Millisecond))
	var timeout net.Error
	if !errors.Is(err, signalbox.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if errors.As(err, &timeout) {
		t.Errorf("a net.Error that was not redacted: %v", timeout)
	}
}

func TestTimeoutOfAnOwnHTTPClientIsATimeout(t *testing.T) {
	release := make(chan struct{})
	client := startServer(t, func(http.ResponseWriter, *http.Request) { <-release },
		signalbox.WithHTTPClient(&http.Client{Timeout: 20 * time.Millisecond}))
	defer close(release)
	if _, err := client.Events.Verify(context.Background()); !errors.Is(err, signalbox.ErrTimeout) {
		t.Errorf("%v", err)
	}
}

func TestHooksAddHeadersButReplaceNone(t *testing.T) {
	headers := make(chan http.Header, 1)
	type key struct{}
	var ended any
	hooks := signalbox.Hooks{
		OnRequest: func(ctx context.Context, info *signalbox.RequestInfo) context.Context {
			info.Header.Set("Traceparent", "00-1-1-01")
			info.Header.Set("Authorization", "Bearer other")
			return context.WithValue(ctx, key{}, "span")
		},
		OnResponse: func(ctx context.Context, _ signalbox.ResponseInfo) { ended = ctx.Value(key{}) },
	}
	client := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		accept(w, r)
	}, signalbox.WithHooks(hooks))
	if _, err := client.Events.Create(context.Background(), purchase); err != nil {
		t.Fatal(err)
	}
	got := <-headers
	if got.Get("Traceparent") != "00-1-1-01" || got.Get("Authorization") != "Bearer "+token {
		t.Errorf("%v", got)
	}
	if ended != "span" {
		t.Errorf("OnResponse got the context %v", ended)
	}
}

func TestFreeFormNumbersAndUnknownMembersKeepTheirDigits(t *testing.T) {
	body := `{"event":{"id":"a","value_data":{"n":12345678901234567890.10}},"new":1}`
	client := startServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	detail, err := client.Events.Get(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if number := detail.Event.ValueData["n"]; number != json.Number("12345678901234567890.10") {
		t.Errorf("%#v", number)
	}
	if detail.LastResponse.RawBody() != body {
		t.Error("the raw body is lost")
	}
}

func TestListsThatAreEmptyAreSent(t *testing.T) {
	for _, one := range []struct {
		value any
		text  string
	}{
		{signalbox.ReplaySubmission{}, `{}`},
		{signalbox.ReplaySubmission{DeliveryIDs: []int64{}}, `{"delivery_ids":[]}`},
		{&signalbox.ReplaySubmission{DeliveryIDs: []int64{7}}, `{"delivery_ids":[7]}`},
		{signalbox.EventSubmission{DataProcessingOptions: []string{}},
			`{"event_name":"","consent_basis":"","data_processing_options":[]}`},
		{signalbox.ValueData{NumItems: signalbox.Ptr[int64](0)}, `{"num_items":0}`},
		{signalbox.TestModeSubmission{TestEventCode: signalbox.Null[string]()},
			`{"enabled":false,"test_event_code":null}`},
		{signalbox.TestModeSubmission{TestEventCode: signalbox.Value("T")},
			`{"enabled":false,"test_event_code":"T"}`},
	} {
		if text, err := json.Marshal(one.value); err != nil || string(text) != one.text {
			t.Errorf("%s %v, not %s", text, err, one.text)
		}
	}
}

func TestTimesThatCannotBeSentAreRefused(t *testing.T) {
	client := startServer(t, accept)
	for _, wrong := range []*signalbox.EventTime{
		{}, signalbox.Time(time.Time{}), signalbox.UnixTime(time.Now().UnixMilli()),
		signalbox.Time(time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		event := purchase
		event.EventTime = wrong
		if _, err := client.Events.Create(context.Background(), event); !isInvalid(err) {
			t.Errorf("%v: %v", wrong, err)
		}
		sandbox := signalbox.SandboxEventSubmission{EventName: "Purchase", EventTime: wrong}
		if _, err := client.Sandbox.Validate(context.Background(), "key", sandbox); !isInvalid(err) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	event := purchase
	event.UserData = signalbox.FreeFormObject{"em": func() {}}
	if _, err := client.Events.Create(context.Background(), event); !isInvalid(err) {
		t.Errorf("%v", err)
	}
}

func isInvalid(err error) bool { return errors.Is(err, signalbox.ErrInvalidArgument) }

func TestQueueOfManyGoroutines(t *testing.T) {
	for _, size := range []int{1, 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { addFromManyGoroutines(t, size) })
	}
}

func addFromManyGoroutines(t *testing.T, size int) {
	var requests atomic.Int32
	client := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		accept(w, r)
	})
	var reported atomic.Int32
	report := signalbox.WithOnOutcome(func(signalbox.Outcome) { reported.Add(1) })
	queue, err := client.Queue(report, signalbox.WithBatchSize(size))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 25 {
				event := signalbox.EventSubmission{EventName: "Lead", ConsentBasis: "consent"}
				if _, err := queue.Add(event); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	flushed, err := queue.Flush(context.Background())
	if err != nil || len(flushed.Outcomes) != 200 || reported.Load() != 200 || queue.Size() != 0 {
		t.Errorf("%v, %d outcomes, %d reported", err, len(flushed.Outcomes), reported.Load())
	}
	if closed := queue.Close(context.Background()); len(closed.Left) != 0 || requests.Load() < 200/int32(size) {
		t.Errorf("left %v, %d requests", closed.Left, requests.Load())
	}
}

func TestQueueWhoseContextsEnd(t *testing.T) {
	release := make(chan struct{})
	client := startServer(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	queue, err := client.Queue()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Add(purchase); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := queue.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	first := make(chan signalbox.CloseResult)
	go func() { first <- queue.Close(context.Background()) }()
	// The context of any Close ends the queue.
	second := queue.Close(ended)
	if got := <-first; fmt.Sprint(got.Left, second.Left) != "[order-1] [order-1]" {
		t.Errorf("%v %v", got, second)
	}
	if _, err := queue.Add(purchase); !errors.Is(err, signalbox.ErrQueueClosed) {
		t.Errorf("%v", err)
	}
}
