package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

// TestOrders runs against a service, which go-service.test.ts starts.
func TestOrders(t *testing.T) {
	now := os.Getenv("SIGNALBOX_TEST_NOW")
	if now == "" {
		t.Skip("there is no service: SIGNALBOX_TEST_NOW is not set")
	}
	client, err := signalbox.New()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan []string)
	go func() {
		left, err := serve(ctx, client, listener)
		if err != nil {
			t.Error(err)
		}
		ended <- left
	}()
	send := func(body string) int {
		url := fmt.Sprintf("http://%s/orders", listener.Addr())
		response, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	order := func(id string, mayTrack bool) string {
		return fmt.Sprintf(`{"id":%q,"email":"ada@example.com","total":"19.90","currency":"EUR",
			"placed_at":%q,"agreed_at":%q,"may_track":%t}`, id, now, now, mayTrack)
	}
	for _, one := range []struct {
		body   string
		status int
	}{
		{order("1001", true), http.StatusAccepted},
		{order("1001", true), http.StatusAccepted},
		{order("1002", false), http.StatusNoContent},
		{`{}`, http.StatusBadRequest},
	} {
		if status := send(one.body); status != one.status {
			t.Errorf("%s: %d", one.body, status)
		}
	}
	stop()
	if left := <-ended; len(left) > 0 {
		t.Errorf("left %v", left)
	}
	list, err := client.Events.List(context.Background(), signalbox.ListParameters{})
	if err != nil {
		t.Fatal(err)
	}
	found := list.Events.Data
	if len(found) != 1 || found[0].ID != "1001" || *found[0].ValueAmount != "19.90" {
		t.Errorf("%+v", found)
	}
}
