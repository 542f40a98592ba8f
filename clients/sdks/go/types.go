// Code generated from contract 0.5.0 (sha256 087a10604b33baa4adcaf274a1ff847d45c97bed02b41a2dfc95e97ff0184dc2). DO NOT EDIT.

package signalbox

import "encoding/json"

// FreeFormObject: An object whose members the contract does not fix.
type FreeFormObject = map[string]any

// ContentKind: What an id of the contents names.
type ContentKind string

const (
	ContentKindProduct      ContentKind = "product"
	ContentKindProductGroup ContentKind = "product_group"
	ContentKindHotel        ContentKind = "hotel"
	ContentKindFlight       ContentKind = "flight"
	ContentKindDestination  ContentKind = "destination"
	ContentKindVehicle      ContentKind = "vehicle"
	ContentKindHomeListing  ContentKind = "home_listing"
)

type ContentKindList = []ContentKind

// ContentType: What the ids of the contents name: one kind, or several. Not sent when left out.
type ContentType = any

// ContentId: The id of a product or of a group.
type ContentId = any

type ContentIdList = []ContentId

// ContentIds: Ids of products or of groups. Taken from `contents` when left out.
type ContentIds = any

// RegistrationStatus: Status of a registration.
type RegistrationStatus = any

// ValueData: Commerce data.
type ValueData struct {
	// Money in major units as decimal text; kept exactly as sent.
	Value string `json:"value,omitempty"`
	// An ISO 4217 code that is in use, in any case.
	Currency string `json:"currency,omitempty"`
	OrderID  string `json:"order_id,omitempty"`
	// Items, at most 16 KiB serialized. An item is an object with an `id`; `item_id`, `product_id`
	// and `sku` are read as it. Others are stored and not sent.
	Contents    []any       `json:"contents,omitempty"`
	NumItems    *int64      `json:"num_items,omitempty"`
	ContentType ContentType `json:"content_type,omitempty"`
	ContentIDs  ContentIds  `json:"content_ids,omitempty"`
	// Name of the page or product.
	ContentName string `json:"content_name,omitempty"`
	// Category of the page or product.
	ContentCategory string `json:"content_category,omitempty"`
	// What the visitor searched for.
	SearchString string             `json:"search_string,omitempty"`
	Status       RegistrationStatus `json:"status,omitempty"`
	// Predicted lifetime value as decimal text; kept exactly as sent.
	PredictedLtv string `json:"predicted_ltv,omitempty"`
	// Margin as decimal text; kept exactly as sent.
	NetRevenue string `json:"net_revenue,omitempty"`
	// How the order reaches the customer.
	DeliveryCategory string `json:"delivery_category,omitempty"`
	// Your own properties, sent as they are: at most 100 members in 3 levels and 8 KiB serialized.
	// None may have the name of another member of `value_data`.
	CustomProperties FreeFormObject `json:"custom_properties,omitempty"`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v ValueData) MarshalJSON() ([]byte, error) {
	type plain ValueData
	return json.Marshal(struct {
		plain
		Contents *[]any `json:"contents,omitempty"`
	}{
		plain(v),
		keepEmpty(v.Contents),
	})
}

// TrackingPermission: Permission for tracking: a boolean, or 0 and 1.
type TrackingPermission = any

// AppData: The app and its device. Kept with the identity, and deleted with it.
type AppData struct {
	AdvertiserTrackingEnabled  TrackingPermission `json:"advertiser_tracking_enabled,omitempty"`
	ApplicationTrackingEnabled TrackingPermission `json:"application_tracking_enabled,omitempty"`
	// The device in 16 places: `a2` or `i2`, package, versions, OS version, model, locale, time
	// zone, carrier, screen, CPU, storage. A missing value is empty text.
	Extinfo []string `json:"extinfo,omitempty"`
	// Encrypted metadata of the link from an ad.
	CampaignIDs string `json:"campaign_ids,omitempty"`
	// Android.
	InstallReferrer string `json:"install_referrer,omitempty"`
	// Android.
	InstallerPackage string   `json:"installer_package,omitempty"`
	URLSchemes       []string `json:"url_schemes,omitempty"`
	// iOS.
	VendorID string `json:"vendor_id,omitempty"`
	// Windows.
	WindowsAttributionID string `json:"windows_attribution_id,omitempty"`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v AppData) MarshalJSON() ([]byte, error) {
	type plain AppData
	return json.Marshal(struct {
		plain
		Extinfo    *[]string `json:"extinfo,omitempty"`
		URLSchemes *[]string `json:"url_schemes,omitempty"`
	}{
		plain(v),
		keepEmpty(v.Extinfo),
		keepEmpty(v.URLSchemes),
	})
}

type LifecycleEventName string

const (
	LifecycleEventNameSignalVerification LifecycleEventName = "signal_verification"
	LifecycleEventNameConsentWithdrawal  LifecycleEventName = "consent_withdrawal"
)

type EventSubmission struct {
	EventName    string `json:"event_name"`
	ConsentBasis string `json:"consent_basis"`
	// Idempotency key. Defaults to the Idempotency-Key header, or else a new id.
	EventID       string     `json:"event_id,omitempty"`
	ParentEventID string     `json:"parent_event_id,omitempty"`
	EventTime     *EventTime `json:"event_time,omitempty"`
	// Absolute URI of the page.
	EventSource string `json:"event_source,omitempty"`
	// Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
	// system_generated, business_messaging, other, or a word of your own, which platforms get as
	// `other`. `website` when it is left out. `app` needs `app_data`, and `business_messaging` needs
	// `messaging_channel`.
	ActionSource string `json:"action_source,omitempty"`
	// Your pseudonymous id of the visitor.
	VisitorID string `json:"visitor_id,omitempty"`
	// Consent state supplied with the event.
	Consent FreeFormObject `json:"consent,omitempty"`
	// Consent Mode v2 signals.
	ConsentMode FreeFormObject `json:"consent_mode,omitempty"`
	// TCF v2: `string`, optional `captured_at`.
	TCF FreeFormObject `json:"tcf,omitempty"`
	// Identity fields; hashed before they are stored.
	UserData FreeFormObject `json:"user_data,omitempty"`
	// Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such as
	// `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.
	ClickIDs  FreeFormObject `json:"click_ids,omitempty"`
	ValueData *ValueData     `json:"value_data,omitempty"`
	// Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the `type`
	// of destinations. Left out, every platform.
	WithdrawnPlatforms []string `json:"withdrawn_platforms,omitempty"`
	// Count the event, but never use it to choose who sees an advertisement.
	OptOut *bool `json:"opt_out,omitempty"`
	// `["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction.
	DataProcessingOptions []string `json:"data_processing_options,omitempty"`
	// 1 for the USA; 0 to be located.
	DataProcessingOptionsCountry *int64 `json:"data_processing_options_country,omitempty"`
	// 1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005 Texas, 1006
	// Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New Jersey, 1011 Minnesota,
	// 1012 Maryland, 1013 Rhode Island; 0 to be located. Required with a country.
	DataProcessingOptionsState *int64 `json:"data_processing_options_state,omitempty"`
	// The page that led to the page of the event.
	ReferrerURL string   `json:"referrer_url,omitempty"`
	AppData     *AppData `json:"app_data,omitempty"`
	// Required with the action source `business_messaging`.
	MessagingChannel          string             `json:"messaging_channel,omitempty"`
	AdvertiserTrackingEnabled TrackingPermission `json:"advertiser_tracking_enabled,omitempty"`
	// What the customer is to the business.
	CustomerSegmentation string `json:"customer_segmentation,omitempty"`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v EventSubmission) MarshalJSON() ([]byte, error) {
	type plain EventSubmission
	return json.Marshal(struct {
		plain
		WithdrawnPlatforms    *[]string `json:"withdrawn_platforms,omitempty"`
		DataProcessingOptions *[]string `json:"data_processing_options,omitempty"`
	}{
		plain(v),
		keepEmpty(v.WithdrawnPlatforms),
		keepEmpty(v.DataProcessingOptions),
	})
}

type IngestionNotice struct {
	// `member_ignored`: not a member of this API. `member_dropped`: known, but its value cannot be
	// used. `member_redacted`: held an email address or a phone number, which a token replaces.
	// `consent_unreadable`: a consent input that neither grants nor denies, or that refuses by words
	// that are no known form. `consent_refused_for_platform`: a consent input that refuses one
	// advertising platform, to which the event is not sent. `differs_from_stored`: a duplicate whose
	// body is not the one that is stored.
	Code string `json:"code"`
	// Dotted path of the member; `*` for an unreadable name.
	Field   string `json:"field"`
	Message string `json:"message"`
}

type DuplicateEvent struct {
	Result
	EventID   string `json:"event_id"`
	Duplicate bool   `json:"duplicate"`
	// `differs_from_stored` when the body differs from that of the stored event, which counts. Left
	// out when it is the same or cannot be compared, and with a publishable key.
	Notices []IngestionNotice `json:"notices,omitempty"`
}

type IngestionWarning struct {
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

type NewEvent struct {
	Result
	EventID   string             `json:"event_id"`
	Duplicate bool               `json:"duplicate"`
	Warnings  []IngestionWarning `json:"warnings"`
	// Members that were accepted without their full effect; empty when all counted.
	Notices []IngestionNotice `json:"notices"`
}

// FieldErrors: Dotted field path -> sentences.
type FieldErrors = map[string][]string

type NewVerification struct {
	Result
	EventID   string `json:"event_id"`
	Duplicate bool   `json:"duplicate"`
}

type EventClass string

const (
	EventClassConversion   EventClass = "conversion"
	EventClassLifecycle    EventClass = "lifecycle"
	EventClassVerification EventClass = "verification"
	EventClassTest         EventClass = "test"
)

type ConsentBasis string

const (
	ConsentBasisConsent            ConsentBasis = "consent"
	ConsentBasisLegitimateInterest ConsentBasis = "legitimate_interest"
)

type MeasurementClass string

const (
	MeasurementClassAdvertising MeasurementClass = "advertising"
	MeasurementClassModeled     MeasurementClass = "modeled"
	MeasurementClassLedgerOnly  MeasurementClass = "ledger_only"
)

type AttributionJoin string

const (
	AttributionJoinAllowed AttributionJoin = "allowed"
	AttributionJoinNone    AttributionJoin = "none"
)

type EnforcementScope string

const (
	EnforcementScopeEvent  EnforcementScope = "event"
	EnforcementScopeLedger EnforcementScope = "ledger"
)

type DeliveryStatus string

const (
	DeliveryStatusQueued               DeliveryStatus = "queued"
	DeliveryStatusSent                 DeliveryStatus = "sent"
	DeliveryStatusAccepted             DeliveryStatus = "accepted"
	DeliveryStatusRetrying             DeliveryStatus = "retrying"
	DeliveryStatusFailedAuth           DeliveryStatus = "failed:auth"
	DeliveryStatusFailedPermanent      DeliveryStatus = "failed:permanent"
	DeliveryStatusFailedUnknown        DeliveryStatus = "failed:unknown"
	DeliveryStatusExpired              DeliveryStatus = "expired"
	DeliveryStatusSkippedConsent       DeliveryStatus = "skipped:consent"
	DeliveryStatusSkippedNoDestination DeliveryStatus = "skipped:no_destination"
	DeliveryStatusSkippedDuplicate     DeliveryStatus = "skipped:duplicate"
	DeliveryStatusSkippedNotSelected   DeliveryStatus = "skipped:not_selected"
)

type Delivery struct {
	ID              int64          `json:"id"`
	WorkspaceID     int64          `json:"workspace_id"`
	SignalTrackerID string         `json:"signal_tracker_id"`
	EventID         string         `json:"event_id"`
	DestinationID   *string        `json:"destination_id"`
	Status          DeliveryStatus `json:"status"`
	IsTest          bool           `json:"is_test"`
	AttemptCount    int64          `json:"attempt_count"`
	// The last response of the platform, or the last network error.
	LastError FreeFormObject `json:"last_error"`
	// The platform's last response, without secrets; `attempts` lists the requests that sent the
	// event, the oldest first, at most twenty.
	PlatformResponse FreeFormObject `json:"platform_response"`
	// For the support team of the platform.
	PlatformTraceID *string `json:"platform_trace_id"`
	// The time of the next attempt; null if none is planned.
	NextAttemptAt *string `json:"next_attempt_at"`
	// When the delivery was planned.
	CreatedAt string `json:"created_at"`
	// When the status last changed.
	UpdatedAt *string `json:"updated_at"`
}

type Event struct {
	ID          string `json:"id"`
	WorkspaceID int64  `json:"workspace_id"`
	// In the single-event read a deprecated alias of workspace_id (decimal string).
	SignalTrackerID string  `json:"signal_tracker_id"`
	ParentEventID   *string `json:"parent_event_id"`
	EventName       string  `json:"event_name"`
	// When it happened.
	EventTime    string     `json:"event_time"`
	ActionSource string     `json:"action_source"`
	EventClass   EventClass `json:"event_class"`
	OrderID      *string    `json:"order_id"`
	// Major units, with exactly the digits that were sent.
	ValueAmount   *Money  `json:"value_amount"`
	ValueCurrency *string `json:"value_currency"`
	// When it was stored.
	CreatedAt                   string           `json:"created_at"`
	ConsentBasis                ConsentBasis     `json:"consent_basis"`
	MeasurementClass            MeasurementClass `json:"measurement_class"`
	AttributionJoin             AttributionJoin  `json:"attribution_join"`
	EnforcementScope            EnforcementScope `json:"enforcement_scope"`
	ConsentNormalizationVersion string           `json:"consent_normalization_version"`
	// The state supplied with the event, and our decision on it.
	Consent FreeFormObject `json:"consent"`
	// Identity as digests. Empty once the payload expired.
	UserDataHashed FreeFormObject `json:"user_data_hashed"`
	// Advertising click identifiers.
	ClickIDs FreeFormObject `json:"click_ids"`
	// The visitor's session record. `click_conflict` is present when a page named another click or
	// browser ID, which is ignored: `tracker_secret_used` or `first_page_used`.
	Session FreeFormObject `json:"session"`
	// Commerce data as it was sent.
	ValueData      FreeFormObject `json:"value_data"`
	EventSource    *string        `json:"event_source"`
	PayloadExpired bool           `json:"payload_expired"`
	Deliveries     []Delivery     `json:"deliveries"`
}

type LineageEvent struct {
	ID          string `json:"id"`
	WorkspaceID int64  `json:"workspace_id"`
	// In the single-event read a deprecated alias of workspace_id (decimal string).
	SignalTrackerID string  `json:"signal_tracker_id"`
	ParentEventID   *string `json:"parent_event_id"`
	EventName       string  `json:"event_name"`
	// When it happened.
	EventTime    string     `json:"event_time"`
	ActionSource string     `json:"action_source"`
	EventClass   EventClass `json:"event_class"`
	OrderID      *string    `json:"order_id"`
	// Major units, with exactly the digits that were sent.
	ValueAmount   *Money  `json:"value_amount"`
	ValueCurrency *string `json:"value_currency"`
	// When it was stored.
	CreatedAt                   string           `json:"created_at"`
	ConsentBasis                ConsentBasis     `json:"consent_basis"`
	MeasurementClass            MeasurementClass `json:"measurement_class"`
	AttributionJoin             AttributionJoin  `json:"attribution_join"`
	EnforcementScope            EnforcementScope `json:"enforcement_scope"`
	ConsentNormalizationVersion string           `json:"consent_normalization_version"`
	// The state supplied with the event, and our decision on it.
	Consent FreeFormObject `json:"consent"`
	// Identity as digests. Empty once the payload expired.
	UserDataHashed FreeFormObject `json:"user_data_hashed"`
	// Advertising click identifiers.
	ClickIDs FreeFormObject `json:"click_ids"`
	// The visitor's session record. `click_conflict` is present when a page named another click or
	// browser ID, which is ignored: `tracker_secret_used` or `first_page_used`.
	Session FreeFormObject `json:"session"`
	// Commerce data as it was sent.
	ValueData      FreeFormObject `json:"value_data"`
	EventSource    *string        `json:"event_source"`
	PayloadExpired bool           `json:"payload_expired"`
}

type Lineage struct {
	Parent   *LineageEvent  `json:"parent"`
	Children []LineageEvent `json:"children"`
}

type OrderPurchase struct {
	ID        string `json:"id"`
	EventName string `json:"event_name"`
	// When it was stored.
	CreatedAt string `json:"created_at"`
	// Major units, as decimal text. Null without a value.
	ValueAmount   *Money  `json:"value_amount"`
	ValueCurrency *string `json:"value_currency"`
}

type OrderRefund struct {
	ID        string `json:"id"`
	EventName string `json:"event_name"`
	// When it was stored.
	CreatedAt string `json:"created_at"`
	// Major units, as decimal text. Null without a value.
	ValueAmount   *Money  `json:"value_amount"`
	ValueCurrency *string `json:"value_currency"`
	// `subtracted`: its value is subtracted. `whole`: it has no value, so everything is refunded.
	// `other_currency`, `no_currency`: it is not subtracted, because amounts are never converted.
	// `of_page`: a publishable key sent it, so it changes nothing. `no_purchase_value`: the purchase
	// is not stored yet, or its value is missing or below zero.
	Effect string `json:"effect"`
}

type OrderAtPlatform struct {
	DestinationID string `json:"destination_id"`
	// As in the `type` of the destination.
	Platform string `json:"platform"`
	// Major units, as decimal text. The last value that the platform accepted for the order, if any.
	ValueAmount   *Money  `json:"value_amount"`
	ValueCurrency *string `json:"value_currency"`
	// The purchase or the refund that told it.
	EventID *string `json:"event_id"`
	// It is the net value of the order.
	IsNetValue bool `json:"is_net_value"`
	// What the platform was told, what it said about it later, and why not more.
	Explanation string `json:"explanation"`
}

type EventOrder struct {
	OrderID  *string        `json:"order_id"`
	Purchase *OrderPurchase `json:"purchase"`
	// IDs of other purchases with the same order ID, whose values are not added.
	OtherPurchases []string `json:"other_purchases"`
	// Oldest first, at most a hundred.
	Refunds  []OrderRefund `json:"refunds"`
	Currency *string       `json:"currency"`
	// Major units, as decimal text. What the purchase says.
	GrossValue *string `json:"gross_value"`
	// Major units, as decimal text. What the refunds in its currency say together.
	RefundedValue *string `json:"refunded_value"`
	// Major units, as decimal text. The gross value less the refunded value, and never below zero.
	NetValue *string `json:"net_value"`
	// What the net value counts, and what it does not.
	Explanation string `json:"explanation"`
	// What each destination of the purchase was told.
	Platforms []OrderAtPlatform `json:"platforms"`
}

type ExplainedDelivery struct {
	ID              int64          `json:"id"`
	WorkspaceID     int64          `json:"workspace_id"`
	SignalTrackerID string         `json:"signal_tracker_id"`
	EventID         string         `json:"event_id"`
	DestinationID   *string        `json:"destination_id"`
	Status          DeliveryStatus `json:"status"`
	IsTest          bool           `json:"is_test"`
	AttemptCount    int64          `json:"attempt_count"`
	// The last response of the platform, or the last network error.
	LastError FreeFormObject `json:"last_error"`
	// The platform's last response, without secrets; `attempts` lists the requests that sent the
	// event, the oldest first, at most twenty.
	PlatformResponse FreeFormObject `json:"platform_response"`
	// For the support team of the platform.
	PlatformTraceID *string `json:"platform_trace_id"`
	// The time of the next attempt; null if none is planned.
	NextAttemptAt *string `json:"next_attempt_at"`
	// When the delivery was planned.
	CreatedAt string `json:"created_at"`
	// When the status last changed.
	UpdatedAt *string `json:"updated_at"`
	// The `type` of the destination; null without one.
	Platform *string `json:"platform"`
	// What happened, why, and what happens next.
	Explanation string `json:"explanation"`
}

type EventDetail struct {
	Result
	Event      Event               `json:"event"`
	Lineage    Lineage             `json:"lineage"`
	Order      *EventOrder         `json:"order"`
	Deliveries []ExplainedDelivery `json:"deliveries"`
}

type PageLink struct {
	URL    *string `json:"url"`
	Label  string  `json:"label"`
	Active bool    `json:"active"`
}

type EventPage struct {
	CurrentPage  int64   `json:"current_page"`
	Data         []Event `json:"data"`
	FirstPageURL *string `json:"first_page_url"`
	// Position of the first event on the page; null on an empty one.
	From        *int64     `json:"from"`
	LastPage    int64      `json:"last_page"`
	LastPageURL *string    `json:"last_page_url"`
	Links       []PageLink `json:"links"`
	NextPageURL *string    `json:"next_page_url"`
	Path        string     `json:"path"`
	PerPage     int64      `json:"per_page"`
	PrevPageURL *string    `json:"prev_page_url"`
	// Position of the last event on the page; null on an empty one.
	To    *int64 `json:"to"`
	Total int64  `json:"total"`
}

type DashboardMetrics struct {
	// Live deliveries that were accepted.
	Accepted int64 `json:"accepted"`
	// Live deliveries that were planned; skipped ones do not count.
	TotalDeliveries      int64    `json:"total_deliveries"`
	AcceptanceRate       *float64 `json:"acceptance_rate"`
	AcceptanceRateWindow string   `json:"acceptance_rate_window"`
}

type EventList struct {
	Result
	Events  EventPage        `json:"events"`
	Metrics DashboardMetrics `json:"metrics"`
}

type TestModeSubmission struct {
	// Whether new events are sent as test events.
	Enabled bool `json:"enabled"`
	// The code that the platform shows beside its test events, such as Meta's Events Manager. Left
	// out, the stored code is kept; null clears it. Test mode always has a code: where none is left,
	// switching it on makes one.
	TestEventCode *Nullable[string] `json:"test_event_code,omitempty"`
}

type Destination struct {
	ID                  string `json:"id"`
	WorkspaceID         int64  `json:"workspace_id"`
	SignalTrackerID     string `json:"signal_tracker_id"`
	PlatformAdAccountID *int64 `json:"platform_ad_account_id"`
	// The name of its platform, such as `meta`.
	Type             string `json:"type"`
	CredentialSource string `json:"credential_source"`
	// `dataset_id`; `test_event_code`, kept while test mode is off; `test_mode_until`, when test
	// mode turns off, null while it is off; `status_reason`, why it is inactive.
	Config FreeFormObject `json:"config"`
	Status string         `json:"status"`
	// When it was connected.
	CreatedAt *string `json:"created_at"`
	// When it last changed.
	UpdatedAt *string `json:"updated_at"`
}

type TestMode struct {
	Result
	Destination Destination `json:"destination"`
	// Whether new events are currently sent as test events.
	TestMode bool `json:"test_mode"`
}

type TestPurchaseSubmission struct {
	// Decimal text, stored exactly; default 1.00.
	Value string `json:"value,omitempty"`
	// ISO 4217, in any case; default USD.
	Currency string `json:"currency,omitempty"`
	// By default, a value that is clearly not a real order.
	OrderID string `json:"order_id,omitempty"`
}

type TestPurchase struct {
	Result
	// The id of the event, readable like any other.
	EventID string `json:"event_id"`
	// The status of its delivery.
	Status string `json:"status"`
	// For the support team of the platform.
	TraceID *string `json:"trace_id"`
}

type ReplaySubmission struct {
	// Only these deliveries.
	DeliveryIDs []int64 `json:"delivery_ids,omitempty"`
	// Only deliveries of events with this name.
	EventName string `json:"event_name,omitempty"`
	// Number of failed deliveries to consider, newest events first; 1000 if omitted.
	Limit *int64 `json:"limit,omitempty"`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v ReplaySubmission) MarshalJSON() ([]byte, error) {
	type plain ReplaySubmission
	return json.Marshal(struct {
		plain
		DeliveryIDs *[]int64 `json:"delivery_ids,omitempty"`
	}{
		plain(v),
		keepEmpty(v.DeliveryIDs),
	})
}

type ReplayResult struct {
	Result
	// Deliveries queued to be sent again.
	Queued int64 `json:"queued"`
	// Not queued: the event is too old for the platform.
	Expired int64 `json:"expired"`
	// Not queued: the identity payload of the event was deleted.
	PayloadExpired int64 `json:"payload_expired"`
	// More failed deliveries matched than the limit.
	Capped bool `json:"capped"`
}

type PlatformCount struct {
	// The platform's report of the day, or the results of our requests.
	Source string `json:"source"`
	// Its name for people.
	Platform string `json:"platform"`
	// The platform's words for what it counts.
	Label string `json:"label"`
	// What it counts, what it never tells, where to see it.
	Meaning string `json:"meaning"`
}

type UnavailableCount struct {
	Cause string `json:"cause"`
	// Why there is no count, for a person.
	Sentence string `json:"sentence"`
}

type SentName struct {
	EventName string `json:"event_name"`
	// Under which it is sent and counted.
	PlatformName string `json:"platform_name"`
}

type DestinationOutcome struct {
	Status string `json:"status"`
	// Why, as in the deliveries.
	Reason string `json:"reason"`
	// Deliveries that got the status on this UTC day.
	Count int64 `json:"count"`
	// For a person.
	Explanation string `json:"explanation"`
}

type ReasonCount struct {
	// The platform's own code.
	Reason string `json:"reason"`
	// Events.
	Count int64 `json:"count"`
}

type RequestResults struct {
	// Requests that the platform took on the day.
	Requests int64 `json:"requests"`
	// Their events.
	Events int64 `json:"events"`
	// Those that it says it processed.
	ProcessedEvents int64 `json:"processed_events"`
	// Those of requests without a result yet.
	ProcessingEvents int64 `json:"processing_events"`
	// Those of requests whose result it never told.
	UnknownEvents int64 `json:"unknown_events"`
	// Those of requests that failed as a whole.
	FailedEvents int64 `json:"failed_events"`
	// The largest first, at most 50.
	Refusals []ReasonCount `json:"refusals"`
}

type AcceptedValue struct {
	// The platform's name of the event.
	EventName string `json:"event_name"`
	Currency  string `json:"currency"`
	// Accepted events that have a value.
	Events int64 `json:"events"`
	// Exact decimal text.
	Amount string `json:"amount"`
}

type ReportedValue struct {
	Currency string `json:"currency"`
	// Exact decimal text.
	Amount string `json:"amount"`
}

type ValueReconciliation struct {
	// The sum of what the platform accepted on the day.
	Accepted []AcceptedValue `json:"accepted"`
	// The values that the platform reports; null if it reports none.
	Reported []ReportedValue `json:"reported"`
	// For a person.
	Explanation string `json:"explanation"`
}

type CountsByEventName = map[string]int64

type EventCounts struct {
	// Event name -> events accepted from us.
	Accepted CountsByEventName `json:"accepted"`
	// Event name -> events that the platform reports; empty if it tells no names.
	Meta CountsByEventName `json:"meta"`
}

type ReconciliationBucket struct {
	// Events; negative if the platform counted more than we did.
	Count int64 `json:"count"`
	// Counted, or derived from counts.
	Basis string `json:"basis"`
	// For a person.
	Explanation string `json:"explanation"`
}

type ReconciliationReport struct {
	ID              int64  `json:"id"`
	WorkspaceID     int64  `json:"workspace_id"`
	SignalTrackerID string `json:"signal_tracker_id"`
	DestinationID   string `json:"destination_id"`
	// UTC day.
	ReportDate string `json:"report_date"`
	// Events that the platform accepted from us.
	AcceptedCount int64 `json:"accepted_count"`
	// Events that the platform reports. With the status `unavailable` it is 0 and no count: see
	// `unavailable`.
	MetaCount int64 `json:"meta_count"`
	// accepted_count minus meta_count.
	ObservedGap int64 `json:"observed_gap"`
	// The platform's words for its count; null in old reports.
	CountSource *PlatformCount    `json:"count_source"`
	Unavailable *UnavailableCount `json:"unavailable"`
	// Events that the destination's map renames.
	SentNames []SentName `json:"sent_names"`
	// Live deliveries of this destination that were not accepted, the most first.
	Outcomes []DestinationOutcome `json:"outcomes"`
	// For platforms that tell the results of requests only.
	Requests *RequestResults `json:"requests"`
	// By currency; null in old reports.
	Values      *ValueReconciliation `json:"values"`
	EventCounts EventCounts          `json:"event_counts"`
	// What explains the gap: test_events, pending, late_event_time, unknown_outcome,
	// platform_deduplicated, other_senders, platform_refused.
	Buckets map[string]ReconciliationBucket `json:"buckets"`
	// The gap minus the sum of the buckets.
	UnexplainedResidual int64  `json:"unexplained_residual"`
	Status              string `json:"status"`
	// When it was created.
	CreatedAt *string `json:"created_at"`
	// When it was last updated.
	UpdatedAt   *string     `json:"updated_at"`
	Destination Destination `json:"destination"`
}

type ReconciliationReports struct {
	Result
	Date    string                 `json:"date"`
	Reports []ReconciliationReport `json:"reports"`
}

type EmqSnapshot struct {
	ID              int64  `json:"id"`
	WorkspaceID     int64  `json:"workspace_id"`
	SignalTrackerID string `json:"signal_tracker_id"`
	DestinationID   string `json:"destination_id"`
	// Event match quality, 0 to 10: the platform's score of Purchase, or else the mean of all event
	// names, weighted by their events.
	Score float64 `json:"score"`
	// Change since the snapshot closest to 7 days before (6 to 8); null if there is none.
	WeekOverWeekChange *float64 `json:"week_over_week_change"`
	// The score fell by 1.0 or more within that week, or is below 4.0; or by the thresholds of the
	// workspace.
	Alerted bool `json:"alerted"`
	// The platform's complete response. We add the member `signalbox`, about what the platform
	// accepted from us on the UTC days `from` to `until`: `coverage` is a list of `event_name`,
	// `events` and `keys` (match key -> percent of these events that carried it); `advice` a list of
	// `event_name`, `key`, `kind` (`send_more` or `lost_on_the_way`), `sentence` and
	// `possible_gain_percent`, which may be null. Null in old snapshots when all responses together
	// exceed 8 MB.
	PlatformResponse FreeFormObject `json:"platform_response"`
	// When the platform was queried.
	MeasuredAt string `json:"measured_at"`
	// When it was stored.
	CreatedAt *string `json:"created_at"`
	// When it last changed.
	UpdatedAt *string `json:"updated_at"`
}

type EmqReport struct {
	Result
	Snapshots []EmqSnapshot `json:"snapshots"`
}

type DeletionSubmission struct {
	// SHA-256 of one normalized identifier: 64 hexadecimal digits in any case.
	IdentifierHash string `json:"identifier_hash"`
	// The kind of identifier; all kinds if omitted.
	IdentifierType string `json:"identifier_type,omitempty"`
}

type DeletionResult struct {
	Result
	// The same for every repeated request.
	DeletionRequestID string `json:"deletion_request_id"`
	// The same digest was deleted before.
	Duplicate       bool  `json:"duplicate"`
	EventsUpdated   int64 `json:"events_updated"`
	SessionsUpdated int64 `json:"sessions_updated"`
	// When the deletion was completed.
	CompletedAt string `json:"completed_at"`
}

type EventBatchSubmission struct {
	// At most 20 with a publishable key. Each event has at most 64 KiB and is accepted or refused
	// for itself, in the order of the list.
	Events []EventSubmission `json:"events"`
}

type EventResult struct {
	// The status that createEvent would have had. 202: stored. 200: a duplicate. 400 and 422:
	// refused, whenever it is sent. 429 and 503: not stored; send this event again.
	Status int64 `json:"status"`
	// Of a stored event or a duplicate.
	EventID string `json:"event_id,omitempty"`
	// Of a stored event or a duplicate.
	Duplicate *bool              `json:"duplicate,omitempty"`
	Warnings  []IngestionWarning `json:"warnings,omitempty"`
	Notices   []IngestionNotice  `json:"notices,omitempty"`
	// Why the event is not stored.
	Message string      `json:"message,omitempty"`
	Errors  FieldErrors `json:"errors,omitempty"`
	// Of 429 and 503: seconds to wait.
	RetryAfter *int64 `json:"retry_after,omitempty"`
}

type EventBatchResult struct {
	Result
	// One for each event of the request, in the same order.
	Results []EventResult `json:"results"`
}

type SandboxKeyUse struct {
	Method string `json:"method"`
	// What the key gives access to.
	URL string `json:"url"`
	// The Authorization header, ready to be sent.
	Authorization string `json:"authorization"`
}

// SandboxKey: A short-lived key that needs no approval and is not stored.
type SandboxKey struct {
	Result
	// Valid until `expires_at`.
	APIKey    string `json:"api_key"`
	TokenType string `json:"token_type"`
	// Seconds.
	ExpiresIn int64 `json:"expires_in"`
	// When the key stops working.
	ExpiresAt        string        `json:"expires_at"`
	Scope            string        `json:"scope"`
	ProductionAccess bool          `json:"production_access"`
	Use              SandboxKeyUse `json:"use"`
}

type SandboxSelfServeKey struct {
	Method string `json:"method"`
	// Where to get another key.
	URL                    string     `json:"url"`
	AuthenticationRequired bool       `json:"authentication_required"`
	Description            string     `json:"description"`
	IssuedKey              SandboxKey `json:"issued_key"`
}

type SandboxTrialValue struct {
	Value    string `json:"value"`
	Currency string `json:"currency"`
	OrderID  string `json:"order_id"`
}

type SandboxTrialEvent struct {
	EventID      string            `json:"event_id"`
	EventName    string            `json:"event_name"`
	ActionSource string            `json:"action_source"`
	ValueData    SandboxTrialValue `json:"value_data"`
}

type SandboxTrialRequest struct {
	Method string `json:"method"`
	// Where to send the body.
	URL         string            `json:"url"`
	ContentType string            `json:"content_type"`
	Body        SandboxTrialEvent `json:"body"`
}

type SandboxDiscovery struct {
	Result
	Environment string `json:"environment"`
	// Validation requires a sandbox key; `self_serve_key` has one.
	AuthenticationRequired bool                `json:"authentication_required"`
	AccountRequired        bool                `json:"account_required"`
	ProductionData         bool                `json:"production_data"`
	PersistsData           bool                `json:"persists_data"`
	ProviderDelivery       bool                `json:"provider_delivery"`
	Description            string              `json:"description"`
	SelfServeKey           SandboxSelfServeKey `json:"self_serve_key"`
	Try                    SandboxTrialRequest `json:"try"`
}

type SandboxEventSubmission struct {
	EventName    string `json:"event_name"`
	ConsentBasis string `json:"consent_basis,omitempty"`
	// Idempotency key. Defaults to the Idempotency-Key header, or else a new id.
	EventID       string     `json:"event_id,omitempty"`
	ParentEventID string     `json:"parent_event_id,omitempty"`
	EventTime     *EventTime `json:"event_time,omitempty"`
	// Absolute URI of the page.
	EventSource string `json:"event_source,omitempty"`
	// Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
	// system_generated, business_messaging, other, or a word of your own, which platforms get as
	// `other`. `website` when it is left out. `app` needs `app_data`, and `business_messaging` needs
	// `messaging_channel`.
	ActionSource string `json:"action_source,omitempty"`
	// Your pseudonymous id of the visitor.
	VisitorID string `json:"visitor_id,omitempty"`
	// Consent state supplied with the event.
	Consent FreeFormObject `json:"consent,omitempty"`
	// Consent Mode v2 signals.
	ConsentMode FreeFormObject `json:"consent_mode,omitempty"`
	// TCF v2: `string`, optional `captured_at`.
	TCF FreeFormObject `json:"tcf,omitempty"`
	// Identity fields; hashed before they are stored.
	UserData FreeFormObject `json:"user_data,omitempty"`
	// Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such as
	// `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.
	ClickIDs  FreeFormObject `json:"click_ids,omitempty"`
	ValueData *ValueData     `json:"value_data,omitempty"`
	// Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the `type`
	// of destinations. Left out, every platform.
	WithdrawnPlatforms []string `json:"withdrawn_platforms,omitempty"`
	// Count the event, but never use it to choose who sees an advertisement.
	OptOut *bool `json:"opt_out,omitempty"`
	// `["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction.
	DataProcessingOptions []string `json:"data_processing_options,omitempty"`
	// 1 for the USA; 0 to be located.
	DataProcessingOptionsCountry *int64 `json:"data_processing_options_country,omitempty"`
	// 1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005 Texas, 1006
	// Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New Jersey, 1011 Minnesota,
	// 1012 Maryland, 1013 Rhode Island; 0 to be located. Required with a country.
	DataProcessingOptionsState *int64 `json:"data_processing_options_state,omitempty"`
	// The page that led to the page of the event.
	ReferrerURL string   `json:"referrer_url,omitempty"`
	AppData     *AppData `json:"app_data,omitempty"`
	// Required with the action source `business_messaging`.
	MessagingChannel          string             `json:"messaging_channel,omitempty"`
	AdvertiserTrackingEnabled TrackingPermission `json:"advertiser_tracking_enabled,omitempty"`
	// What the customer is to the business.
	CustomerSegmentation string `json:"customer_segmentation,omitempty"`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v SandboxEventSubmission) MarshalJSON() ([]byte, error) {
	type plain SandboxEventSubmission
	return json.Marshal(struct {
		plain
		WithdrawnPlatforms    *[]string `json:"withdrawn_platforms,omitempty"`
		DataProcessingOptions *[]string `json:"data_processing_options,omitempty"`
	}{
		plain(v),
		keepEmpty(v.WithdrawnPlatforms),
		keepEmpty(v.DataProcessingOptions),
	})
}

type SandboxEventResult struct {
	Result
	Sandbox  bool `json:"sandbox"`
	Accepted bool `json:"accepted"`
	// The caller's id, or a new one if the request has none.
	EventID          string `json:"event_id"`
	Status           string `json:"status"`
	Persisted        bool   `json:"persisted"`
	ProviderDelivery bool   `json:"provider_delivery"`
	// What production would do with this event, and why.
	Message string `json:"message"`
}
