package signalbox_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

func TestWrongOptionsAreRefusedAndNotPrinted(t *testing.T) {
	t.Setenv("SIGNALBOX_TOKEN", "from_environment")
	t.Setenv("SIGNALBOX_BASE_URL", "http://127.0.0.1:1")
	for _, option := range []signalbox.ClientOption{
		signalbox.WithToken(""), signalbox.WithToken("two words"), signalbox.WithBaseURL(""),
		signalbox.WithBaseURL("https://ada:hunter2@events.example:x"),
		signalbox.WithBaseURL("https://events.example/#"), signalbox.WithTimeout(0),
		signalbox.WithTotalTimeout(-1), signalbox.WithAppInfo("my shop", "1"),
	} {
		_, err := signalbox.New(option)
		if !isInvalid(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	client := newClient(t)
	if _, err := client.Events.WaitForDelivery(context.Background(), "a", -1); !isInvalid(err) {
		t.Errorf("%v", err)
	}
	for _, option := range []signalbox.QueueOption{
		signalbox.WithCapacity(0), signalbox.WithConcurrency(0),
		signalbox.WithBatchSize(0), signalbox.WithBatchSize(201),
	} {
		if _, err := client.Queue(option); !isInvalid(err) {
			t.Errorf("%v", err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestDefaultTransportOfTheProgramIsUsed(t *testing.T) {
	original := http.DefaultTransport
	defer func() { http.DefaultTransport = original }()
	replaced := errors.New("the transport of the program")
	http.DefaultTransport = roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, replaced
	})
	client := newClient(t, signalbox.WithToken(token), signalbox.WithBaseURL("http://127.0.0.1:1"),
		signalbox.WithMaxRetries(0))
	if _, err := client.Events.Verify(context.Background()); !errors.Is(err, replaced) {
		t.Errorf("%v", err)
	}
}
