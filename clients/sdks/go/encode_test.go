package signalbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

func TestDifferenceIsLoggedWithoutAHook(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	client := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"event_id":"order-1","duplicate":true,"notices":[
			{"code":"differs_from_stored","field":"event_id","message":"Another event is stored."}]}`)
	})
	created, err := client.Events.Create(context.Background(), purchase)
	if err != nil || !created.Duplicate {
		t.Fatal(created, err)
	}
	for _, text := range []string{"level=WARN", "Another event is stored.", "event_id=order-1"} {
		if !strings.Contains(logged.String(), text) {
			t.Errorf("%s is not in %s", text, logged.String())
		}
	}
}

type ownStruct struct {
	Name string `json:"name"`
}

// sentBody returns the body of an event with this custom property.
func sentBody(t *testing.T, property any) (string, error) {
	t.Helper()
	var sent struct {
		ValueData struct {
			CustomProperties map[string]json.RawMessage `json:"custom_properties"`
		} `json:"value_data"`
	}
	client := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		accept(w, r)
	})
	event := purchase
	event.ValueData = &signalbox.ValueData{
		CustomProperties: signalbox.FreeFormObject{"own": property},
	}
	_, err := client.Events.Create(context.Background(), event)
	return string(sent.ValueData.CustomProperties["own"]), err
}

func TestValuesOfFreeFormMembers(t *testing.T) {
	at := time.Date(2026, 11, 23, 11, 0, 0, 123_456_789, time.FixedZone("", 3_600))
	for _, one := range []struct {
		value any
		sent  string
	}{
		{at, `"2026-11-23T10:00:00.123Z"`},
		{&at, `"2026-11-23T10:00:00.123Z"`},
		{map[string]time.Time{"at": at}, `{"at":"2026-11-23T10:00:00.123Z"}`},
		{[]any{at, nil, 1.5, true, "a"}, `["2026-11-23T10:00:00.123Z",null,1.5,true,"a"]`},
		{[]string{}, `[]`},
		{map[string]any(nil), `null`},
		{(*time.Time)(nil), `null`},
		{json.Number("1.10"), `1.10`},
		{int64(1<<53 - 1), `9007199254740991`},
		{netip.MustParseAddr("192.0.2.1"), `"192.0.2.1"`},
		{ownStruct{"mug"}, `{"name":"mug"}`},
		{&ownStruct{"mug"}, `{"name":"mug"}`},
		{[]byte("a"), `"YQ=="`},
	} {
		if sent, err := sentBody(t, one.value); err != nil || sent != one.sent {
			t.Errorf("%T: %s and not %s, %v", one.value, sent, one.sent, err)
		}
	}
}

func TestValuesThatJSONCannotHold(t *testing.T) {
	list := []any{nil}
	list[0] = list
	for _, value := range []any{
		int64(1 << 53), uint64(1 << 63), json.Number("9007199254740993"), complex(1, 1),
		make(chan int), map[int]string{1: "a"}, list, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		struct{ F func() }{func() {}},
	} {
		sent, err := sentBody(t, value)
		if sent != "" || !errors.Is(err, signalbox.ErrInvalidArgument) {
			t.Errorf("%T: %s, %v", value, sent, err)
		}
	}
}

func TestQueueKeepsAnEventAsItWasAdded(t *testing.T) {
	release := make(chan struct{})
	bodies := make(chan string, 2)
	client := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		var body struct {
			UserData map[string]any `json:"user_data"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		bodies <- fmt.Sprint(body.UserData["em"])
		accept(w, r)
	})
	queue, err := client.Queue(signalbox.WithConcurrency(1), signalbox.WithBatchSize(1))
	if err != nil {
		t.Fatal(err)
	}
	user := signalbox.FreeFormObject{"em": "first"}
	for _, email := range []string{"first", "second"} {
		user["em"] = email
		event := signalbox.EventSubmission{EventName: "Lead", ConsentBasis: "consent", UserData: user}
		if _, err := queue.Add(event); err != nil {
			t.Fatal(err)
		}
	}
	user["em"] = "third"
	close(release)
	queue.Close(context.Background())
	if first, second := <-bodies, <-bodies; first != "first" || second != "second" {
		t.Errorf("%s, %s", first, second)
	}
}
