package signalbox_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

// openService returns a client of a running service, whose clock stands still at now.
// go-service.test.ts starts it and delivers what is due.
func openService(t *testing.T) (client *signalbox.Client, now time.Time) {
	t.Helper()
	text := os.Getenv("SIGNALBOX_TEST_NOW")
	if text == "" {
		t.Skip("there is no service: SIGNALBOX_TEST_NOW is not set")
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t), now
}

func servicePurchase(t *testing.T, id string, now time.Time) signalbox.EventSubmission {
	t.Helper()
	consent, err := signalbox.ConsentGranted(signalbox.ConsentDetails{
		CapturedAt: signalbox.UnixTime(now.Unix() - 60),
		Method:     "checkout",
	})
	if err != nil {
		t.Fatal(err)
	}
	digest, ok := signalbox.HashEmail("ada@example.com")
	if !ok {
		t.Fatal("the address has no digest")
	}
	return signalbox.EventSubmission{
		EventID:      id,
		EventName:    "Purchase",
		EventTime:    signalbox.Time(now.Add(-time.Minute)),
		ConsentBasis: "consent",
		Consent:      consent,
		ConsentMode: signalbox.ConsentMode(signalbox.ConsentModeSignals{
			AdStorage: signalbox.Granted, AdUserData: signalbox.GrantedIf(true),
		}),
		UserData:  signalbox.FreeFormObject{"em": digest},
		ValueData: &signalbox.ValueData{Value: "19.90", Currency: "EUR"},
	}
}

// must returns the value of an operation.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// warnOfDifference repeats a stored event with another value, alone and in a batch.
func warnOfDifference(t *testing.T, stored string, now time.Time) {
	t.Helper()
	var warnings []string
	client := newClient(t, signalbox.WithHooks(signalbox.Hooks{
		OnWarning: func(_ context.Context, info signalbox.WarningInfo) {
			warnings = append(warnings, info.EventID+" "+info.Code)
		},
	}))
	different := servicePurchase(t, stored, now)
	different.ValueData.Value = "20.00"
	again := must(client.Events.Create(context.Background(), different))(t)
	if !again.Duplicate || len(again.Notices) != 1 {
		t.Errorf("%+v", again)
	}
	must(client.Events.CreateEvents(
		context.Background(), []signalbox.EventSubmission{different},
	))(t)
	warning := stored + " differs_from_stored"
	if !slices.Equal(warnings, []string{warning, warning}) {
		t.Error(warnings)
	}
}

func TestServiceEvents(t *testing.T) {
	client, now := openService(t)
	ctx := context.Background()
	created := must(client.Events.Create(ctx, servicePurchase(t, "", now)))(t)
	if created.Duplicate || !strings.HasPrefix(created.EventID, "evt_") || len(created.Notices) > 0 {
		t.Errorf("%+v", created)
	}
	response := created.LastResponse
	if response.Status != 202 || !strings.HasPrefix(response.RequestID, "req_") {
		t.Errorf("%+v", response)
	}
	again := must(client.Events.Create(ctx, servicePurchase(t, created.EventID, now)))(t)
	if !again.Duplicate || again.LastResponse.Status != 200 {
		t.Errorf("%+v", again)
	}
	warnOfDifference(t, created.EventID, now)
	detail := must(client.Events.WaitForDelivery(ctx, created.EventID, 0))(t)
	if amount := detail.Event.ValueAmount; amount == nil || *amount != "19.90" {
		t.Errorf("the amount is %v", amount)
	}
	if detail.Deliveries[0].Status != signalbox.DeliveryStatusAccepted {
		t.Errorf("%+v", detail.Deliveries)
	}
	queue := must(client.Queue(signalbox.WithConcurrency(2)))(t)
	for range 3 {
		must(queue.Add(servicePurchase(t, "", now)))(t)
	}
	flushed := must(queue.Flush(ctx))(t)
	for _, outcome := range flushed.Outcomes {
		if outcome.Status != signalbox.OutcomeAccepted {
			t.Errorf("%+v", outcome)
		}
	}
	ids := map[string]bool{}
	for event, err := range client.Events.All(ctx, signalbox.ListParameters{PerPage: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids[event.ID] = true
	}
	page := must(client.Events.List(ctx, signalbox.ListParameters{Page: 2, PerPage: 3}))(t)
	if len(ids) != 4 || page.Events.Total != 4 || len(page.Events.Data) != 1 {
		t.Errorf("%d events, %+v", len(ids), page.Events)
	}
	digest, _ := signalbox.HashEmail(" ADA@Example.com ")
	submission := signalbox.DeletionSubmission{IdentifierHash: digest, IdentifierType: "email"}
	if erased := must(client.UserData.Delete(ctx, submission))(t); erased.EventsUpdated != 4 {
		t.Errorf("%+v", erased)
	}
}

func TestServiceOperations(t *testing.T) {
	client, _ := openService(t)
	ctx := context.Background()
	destination := os.Getenv("SIGNALBOX_TEST_DESTINATION")
	first, second := must(client.Events.Verify(ctx))(t), must(client.Events.Verify(ctx))(t)
	if first.Duplicate || !second.Duplicate || first.EventID != second.EventID {
		t.Errorf("%+v %+v", first, second)
	}
	_, err := client.Destinations.SendTestPurchase(ctx, destination, nil)
	if !errors.Is(err, signalbox.ErrUnprocessableEntity) {
		t.Errorf("a test purchase without test mode: %v", err)
	}
	on := signalbox.TestModeSubmission{Enabled: true, TestEventCode: signalbox.Value("TEST00007")}
	if mode := must(client.Destinations.SetTestMode(ctx, destination, on))(t); !mode.TestMode ||
		mode.Destination.Config["test_event_code"] != "TEST00007" {
		t.Errorf("%+v", mode)
	}
	order := &signalbox.TestPurchaseSubmission{Value: "2.50", Currency: "EUR"}
	if sent := must(client.Destinations.SendTestPurchase(ctx, destination, order))(t); sent.Status !=
		"accepted" {
		t.Errorf("%+v", sent)
	}
	off := signalbox.TestModeSubmission{TestEventCode: signalbox.Null[string]()}
	if mode := must(client.Destinations.SetTestMode(ctx, destination, off))(t); mode.TestMode ||
		mode.Destination.Config["test_event_code"] != nil {
		t.Errorf("%+v", mode)
	}
	if reports := must(client.Reports.Reconciliation(ctx, "2026-11-20"))(t); reports.Date !=
		"2026-11-20" {
		t.Errorf("%+v", reports)
	}
	if report := must(client.Reports.MatchQuality(ctx))(t); report.Snapshots == nil {
		t.Errorf("%+v", report)
	}
}

func TestServiceSandbox(t *testing.T) {
	client, _ := openService(t)
	ctx := context.Background()
	if discovery := must(client.Sandbox.Discover(ctx))(t); discovery.Environment != "sandbox" {
		t.Errorf("%+v", discovery)
	}
	if key := must(client.Sandbox.ReadKey(ctx))(t); key.ProductionAccess {
		t.Error("the key has access to production")
	}
	key := must(client.Sandbox.CreateKey(ctx))(t)
	event := signalbox.SandboxEventSubmission{EventName: "Purchase"}
	if result := must(client.Sandbox.Validate(ctx, key.APIKey, event))(t); !result.Accepted {
		t.Errorf("%+v", result)
	}
}

func TestServiceErrors(t *testing.T) {
	client, now := openService(t)
	ctx := context.Background()
	event := servicePurchase(t, "", now)
	event.ValueData = &signalbox.ValueData{Value: "1"}
	_, err := client.Events.Create(ctx, event)
	var answer *signalbox.APIError
	if !errors.As(err, &answer) || answer.Type != signalbox.ErrUnprocessableEntity ||
		len(answer.FieldErrors()["value_data.currency"]) == 0 || answer.RequestID == "" {
		t.Errorf("%v", err)
	}
	// An ID with characters that a path must escape reaches the service as it is.
	strange := servicePurchase(t, "a/b c?#é%", now)
	must(client.Events.Create(ctx, strange))(t)
	if detail := must(client.Events.Get(ctx, "a/b c?#é%"))(t); detail.Event.ID != "a/b c?#é%" {
		t.Errorf("%+v", detail.Event)
	}
	_, err = client.Events.Get(ctx, "a/b c?#é%", signalbox.WithSpace(signalbox.SpacePublishable))
	if !errors.Is(err, signalbox.ErrNotFound) {
		t.Errorf("%v", err)
	}
	stranger := newClient(t, signalbox.WithToken("sbx_sk_unknown"))
	if _, err = stranger.Events.Verify(ctx); !errors.Is(err, signalbox.ErrAuthentication) {
		t.Errorf("%v", err)
	}
}

// TestServiceReplay needs a platform that refuses the first request.
func TestServiceReplay(t *testing.T) {
	client, now := openService(t)
	ctx := context.Background()
	created := must(client.Events.Create(ctx, servicePurchase(t, "order-1", now)))(t)
	failed := must(client.Events.WaitForDelivery(ctx, created.EventID, 0))(t).Deliveries[0]
	if failed.Status != signalbox.DeliveryStatusFailedPermanent {
		t.Fatalf("%+v", failed)
	}
	none := &signalbox.ReplaySubmission{DeliveryIDs: []int64{}}
	if replayed := must(client.Deliveries.Replay(ctx, none))(t); replayed.Queued != 0 {
		t.Errorf("a replay of no deliveries replayed %d", replayed.Queued)
	}
	one := &signalbox.ReplaySubmission{DeliveryIDs: []int64{failed.ID}}
	if replayed := must(client.Deliveries.Replay(ctx, one))(t); replayed.Queued != 1 {
		t.Errorf("%+v", replayed)
	}
	accepted := must(client.Events.WaitForDelivery(ctx, created.EventID, 0))(t).Deliveries[0]
	if accepted.Status != signalbox.DeliveryStatusAccepted {
		t.Errorf("%+v", accepted)
	}
	if replayed := must(client.Deliveries.Replay(ctx, nil))(t); replayed.Queued != 0 {
		t.Errorf("%+v", replayed)
	}
}
