// Package signalbox is a client of the Signalbox API. It uses the standard library only and sends
// no telemetry.
//
//	client, err := signalbox.New() // reads SIGNALBOX_TOKEN and SIGNALBOX_BASE_URL
//	created, err := client.Events.Create(ctx, signalbox.EventSubmission{
//		EventName:    "Purchase",
//		ConsentBasis: "consent",
//	})
package signalbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Version is the version of this module and of the API that it is written for.
const Version = "0.5.0"

// Client calls the Signalbox API. Make one and keep it: it is safe for concurrent use.
type Client struct {
	Events       EventService
	Destinations DestinationService
	Deliveries   DeliveryService
	Reports      ReportService
	UserData     UserDataService
	// Sandbox needs no token and stores nothing.
	Sandbox SandboxService

	settings *settings
}

// New returns a client. Its error is ErrInvalidArgument and names the option or the variable that
// is wrong.
func New(options ...ClientOption) (*Client, error) {
	resolved, err := resolveSettings(options)
	if err != nil {
		return nil, err
	}
	return &Client{
		Events:       EventService{resolved},
		Destinations: DestinationService{resolved},
		Deliveries:   DeliveryService{resolved},
		Reports:      ReportService{resolved},
		UserData:     UserDataService{resolved},
		Sandbox:      SandboxService{resolved},
		settings:     resolved,
	}, nil
}

// DestinationService has the operations on destinations.
type DestinationService struct{ settings *settings }

// SetTestMode turns test mode on or off.
func (s DestinationService) SetTestMode(
	ctx context.Context, destinationID string, testMode TestModeSubmission, options ...CallOption,
) (*TestMode, error) {
	id, err := escapeID(destinationID)
	if err != nil {
		return nil, err
	}
	return send[TestMode](ctx, s.settings, apiRequest{
		operation: "destinations.setTestMode",
		method:    http.MethodPatch,
		path:      "/destinations/" + id + "/test-mode",
		body:      testMode,
	}, options)
}

// SendTestPurchase sends a purchase to the platform while test mode is on. It is never retried. The
// purchase can be nil.
func (s DestinationService) SendTestPurchase(
	ctx context.Context, destinationID string, purchase *TestPurchaseSubmission, options ...CallOption,
) (*TestPurchase, error) {
	id, err := escapeID(destinationID)
	if err != nil {
		return nil, err
	}
	request := apiRequest{
		operation:    "destinations.sendTestPurchase",
		method:       http.MethodPost,
		path:         "/destinations/" + id + "/test-purchase",
		neverRetried: true,
	}
	if purchase != nil {
		request.body = purchase
	}
	return send[TestPurchase](ctx, s.settings, request, options)
}

// DeliveryService has the operations on deliveries.
type DeliveryService struct{ settings *settings }

// Replay queues failed deliveries again: all of them when filters is nil. It is never retried.
func (s DeliveryService) Replay(
	ctx context.Context, filters *ReplaySubmission, options ...CallOption,
) (*ReplayResult, error) {
	request := apiRequest{
		operation:    "deliveries.replay",
		method:       http.MethodPost,
		path:         "/deliveries/replay",
		neverRetried: true,
	}
	if filters != nil {
		request.body = filters
	}
	return send[ReplayResult](ctx, s.settings, request, options)
}

// ReportService has the reports.
type ReportService struct{ settings *settings }

// Reconciliation returns what the platform counted beside what was accepted, for one day such as
// "2026-11-23", or for the default of the service when date is empty.
func (s ReportService) Reconciliation(
	ctx context.Context, date string, options ...CallOption,
) (*ReconciliationReports, error) {
	request := apiRequest{
		operation: "reports.reconciliation",
		method:    http.MethodGet,
		path:      "/reports/reconciliation",
	}
	if date != "" {
		request.query = url.Values{"date": {date}}
	}
	return send[ReconciliationReports](ctx, s.settings, request, options)
}

// MatchQuality returns the platform's scores of event match quality.
func (s ReportService) MatchQuality(
	ctx context.Context, options ...CallOption,
) (*EmqReport, error) {
	return send[EmqReport](ctx, s.settings, apiRequest{
		operation: "reports.matchQuality",
		method:    http.MethodGet,
		path:      "/reports/emq",
	}, options)
}

// UserDataService has the operations on what is stored of people.
type UserDataService struct{ settings *settings }

// Delete deletes what is stored of a person, by the digest of an identifier (see HashEmail).
func (s UserDataService) Delete(
	ctx context.Context, submission DeletionSubmission, options ...CallOption,
) (*DeletionResult, error) {
	return send[DeletionResult](ctx, s.settings, apiRequest{
		operation: "userData.delete",
		method:    http.MethodDelete,
		path:      "/user-data",
		body:      submission,
	}, options)
}

// SandboxService has the operations of the sandbox. None of them sends the token.
type SandboxService struct{ settings *settings }

// Discover describes the sandbox, with a key that is ready to be used.
func (s SandboxService) Discover(
	ctx context.Context, options ...CallOption,
) (*SandboxDiscovery, error) {
	return send[SandboxDiscovery](ctx, s.settings, apiRequest{
		operation:  "sandbox.discover",
		method:     http.MethodGet,
		path:       "/sandbox",
		credential: noCredential,
	}, options)
}

// CreateKey returns a new key.
func (s SandboxService) CreateKey(ctx context.Context, options ...CallOption) (*SandboxKey, error) {
	return s.key(ctx, "sandbox.createKey", http.MethodPost, options)
}

// ReadKey returns a new key without a write request.
func (s SandboxService) ReadKey(ctx context.Context, options ...CallOption) (*SandboxKey, error) {
	return s.key(ctx, "sandbox.readKey", http.MethodGet, options)
}

func (s SandboxService) key(
	ctx context.Context, operation, method string, options []CallOption,
) (*SandboxKey, error) {
	return send[SandboxKey](ctx, s.settings, apiRequest{
		operation:  operation,
		method:     method,
		path:       "/sandbox/keys",
		credential: noCredential,
	}, options)
}

// Validate says what production would do with an event.
func (s SandboxService) Validate(
	ctx context.Context, apiKey string, event SandboxEventSubmission, options ...CallOption,
) (*SandboxEventResult, error) {
	if err := checkToken(apiKey); err != nil {
		return nil, err
	}
	return send[SandboxEventResult](ctx, s.settings, apiRequest{
		operation:  "sandbox.validate",
		method:     http.MethodPost,
		path:       "/sandbox/keyed-events",
		body:       event,
		credential: func() (string, error) { return apiKey, nil },
	}, options)
}

// escapeID refuses "." and "..", which would name another path even when they are encoded.
func escapeID(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf(`%w: an ID must be text other than "", "." and ".."`, ErrInvalidArgument)
	}
	return url.PathEscape(id), nil
}
