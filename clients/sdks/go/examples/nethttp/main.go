// Command nethttp takes orders at POST /orders and sends them as events in the background, so that
// a customer never waits for them. At a signal it finishes what it has.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

const closeTimeout = 10 * time.Second

func main() {
	// Without its token the shop does not start: no event of it could be sent.
	if os.Getenv("SIGNALBOX_TOKEN") == "" {
		log.Fatal("set SIGNALBOX_TOKEN")
	}
	client, err := signalbox.New(signalbox.WithAppInfo("shop", "1.0.0"))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	left, err := serve(ctx, client, listener)
	if err != nil {
		log.Fatal(err)
	}
	if len(left) > 0 {
		log.Printf("send these orders again: %v", left)
	}
}

// serve returns when the context ends, with the IDs of the events that have no outcome.
func serve(
	ctx context.Context, client *signalbox.Client, listener net.Listener,
) (left []string, err error) {
	queue, err := client.Queue(signalbox.WithOnOutcome(logFailure))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", takeOrder(queue))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = server.Shutdown(closing)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return nil, err
	}
	closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return queue.Close(closing).Left, nil
}

// order is what the shop's own checkout sends.
type order struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Total     string    `json:"total"`
	Currency  string    `json:"currency"`
	PlacedAt  time.Time `json:"placed_at"`
	MayTrack  bool      `json:"may_track"`
	AgreedAt  time.Time `json:"agreed_at"`
	ClickedAd string    `json:"fbc"`
}

const orderBytesMax = 64 << 10

func takeOrder(queue *signalbox.Queue) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var placed order
		body := http.MaxBytesReader(w, r.Body, orderBytesMax)
		if err := json.NewDecoder(body).Decode(&placed); err != nil || placed.ID == "" {
			http.Error(w, "This is no order.", http.StatusBadRequest)
			return
		}
		if !placed.MayTrack {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		event, err := toEvent(placed)
		if err == nil {
			// The ID of the order: a repeated request counts once.
			_, err = queue.Add(event)
		}
		if err != nil {
			log.Printf("order %s: %v", placed.ID, err)
			http.Error(w, "Try again later.", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func toEvent(placed order) (signalbox.EventSubmission, error) {
	consent, err := signalbox.ConsentGranted(signalbox.ConsentDetails{
		CapturedAt: signalbox.Time(placed.AgreedAt),
		Method:     "checkout",
	})
	if err != nil {
		return signalbox.EventSubmission{}, err
	}
	user := signalbox.FreeFormObject{}
	if digest, ok := signalbox.HashEmail(placed.Email); ok {
		user["em"] = digest
	}
	clicks := signalbox.FreeFormObject{}
	if placed.ClickedAd != "" {
		clicks["fbc"] = placed.ClickedAd
	}
	return signalbox.EventSubmission{
		EventID:      placed.ID,
		EventName:    "Purchase",
		EventTime:    signalbox.Time(placed.PlacedAt),
		ConsentBasis: "consent",
		Consent:      consent,
		UserData:     user,
		ClickIDs:     clicks,
		ValueData: &signalbox.ValueData{
			Value: placed.Total, Currency: placed.Currency, OrderID: placed.ID,
		},
	}, nil
}

func logFailure(outcome signalbox.Outcome) {
	if outcome.Err != nil {
		log.Printf("event %s: %v", outcome.EventID, outcome.Err)
	}
}
