# Generated from the contract 0.5.0 (sha256 087a10604b33baa4adcaf274a1ff847d45c97bed02b41a2dfc95e97ff0184dc2). Do not edit.
# ruff: noqa
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict, Union

EventTime = Union[datetime, str, int, float]
"""A native time with its zone, ISO 8601 text with an offset, or Unix seconds."""

class ValueData(TypedDict):
    """Commerce data."""

    value: NotRequired[str]
    """Money in major units as decimal text; kept exactly as sent."""
    currency: NotRequired[str]
    """An ISO 4217 code that is in use, in any case."""
    order_id: NotRequired[str]
    contents: NotRequired[list[Any]]
    """Items, at most 16 KiB serialized. An item is an object with an `id`; `item_id`,
    `product_id` and `sku` are read as it. Others are stored and not sent."""
    num_items: NotRequired[int]
    content_type: NotRequired[ContentType]
    content_ids: NotRequired[ContentIds]
    content_name: NotRequired[str]
    """Name of the page or product."""
    content_category: NotRequired[str]
    """Category of the page or product."""
    search_string: NotRequired[str]
    """What the visitor searched for."""
    status: NotRequired[RegistrationStatus]
    predicted_ltv: NotRequired[str]
    """Predicted lifetime value as decimal text; kept exactly as sent."""
    net_revenue: NotRequired[str]
    """Margin as decimal text; kept exactly as sent."""
    delivery_category: NotRequired[Literal["in_store", "curbside", "home_delivery"]]
    """How the order reaches the customer."""
    custom_properties: NotRequired[FreeFormObject]
    """Your own properties, sent as they are: at most 100 members in 3 levels and 8 KiB
    serialized. None may have the name of another member of `value_data`."""


class AppData(TypedDict):
    """The app and its device. Kept with the identity, and deleted with it."""

    advertiser_tracking_enabled: NotRequired[TrackingPermission]
    application_tracking_enabled: NotRequired[TrackingPermission]
    extinfo: NotRequired[list[str]]
    """The device in 16 places: `a2` or `i2`, package, versions, OS version, model, locale,
    time zone, carrier, screen, CPU, storage. A missing value is empty text."""
    campaign_ids: NotRequired[str]
    """Encrypted metadata of the link from an ad."""
    install_referrer: NotRequired[str]
    """Android."""
    installer_package: NotRequired[str]
    """Android."""
    url_schemes: NotRequired[list[str]]
    vendor_id: NotRequired[str]
    """iOS."""
    windows_attribution_id: NotRequired[str]
    """Windows."""


class ConsentEvent(TypedDict):
    event_name: str
    consent_basis: Literal["consent"]
    event_id: NotRequired[str]
    """Idempotency key. Defaults to the Idempotency-Key header, or else a new id."""
    parent_event_id: NotRequired[str]
    event_time: NotRequired[EventTime]
    event_source: NotRequired[str]
    """Absolute URI of the page."""
    action_source: NotRequired[str]
    """Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
    system_generated, business_messaging, other, or a word of your own, which platforms
    get as `other`. `website` when it is left out. `app` needs `app_data`, and
    `business_messaging` needs `messaging_channel`."""
    visitor_id: NotRequired[str]
    """Your pseudonymous id of the visitor."""
    consent: NotRequired[FreeFormObject]
    """Consent state supplied with the event."""
    consent_mode: NotRequired[FreeFormObject]
    """Consent Mode v2 signals."""
    tcf: NotRequired[FreeFormObject]
    """TCF v2: `string`, optional `captured_at`."""
    user_data: NotRequired[FreeFormObject]
    """Identity fields; hashed before they are stored."""
    click_ids: NotRequired[FreeFormObject]
    """Click IDs and browser IDs of ad platforms by the name of their parameter or cookie,
    such as `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event
    refuses."""
    value_data: NotRequired[ValueData]
    withdrawn_platforms: NotRequired[list[str]]
    """Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in
    the `type` of destinations. Left out, every platform."""
    opt_out: NotRequired[bool]
    """Count the event, but never use it to choose who sees an advertisement."""
    data_processing_options: NotRequired[list[Literal["LDU"]]]
    """`["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction."""
    data_processing_options_country: NotRequired[int]
    """1 for the USA; 0 to be located."""
    data_processing_options_state: NotRequired[int]
    """1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005
    Texas, 1006 Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New
    Jersey, 1011 Minnesota, 1012 Maryland, 1013 Rhode Island; 0 to be located. Required
    with a country."""
    referrer_url: NotRequired[str]
    """The page that led to the page of the event."""
    app_data: NotRequired[AppData]
    messaging_channel: NotRequired[Literal["messenger", "whatsapp", "instagram"]]
    """Required with the action source `business_messaging`."""
    advertiser_tracking_enabled: NotRequired[TrackingPermission]
    customer_segmentation: NotRequired[Literal["new_customer_to_business", "new_customer_to_business_line", "new_customer_to_product_area", "new_customer_to_medium", "existing_customer_to_business", "existing_customer_to_business_line", "existing_customer_to_product_area", "existing_customer_to_medium", "customer_in_loyalty_program"]]
    """What the customer is to the business."""


class LegitimateInterestEvent(TypedDict):
    event_name: LifecycleEventName
    consent_basis: Literal["legitimate_interest"]
    event_id: NotRequired[str]
    """Idempotency key. Defaults to the Idempotency-Key header, or else a new id."""
    parent_event_id: NotRequired[str]
    event_time: NotRequired[EventTime]
    event_source: NotRequired[str]
    """Absolute URI of the page."""
    action_source: NotRequired[str]
    """Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
    system_generated, business_messaging, other, or a word of your own, which platforms
    get as `other`. `website` when it is left out. `app` needs `app_data`, and
    `business_messaging` needs `messaging_channel`."""
    visitor_id: NotRequired[str]
    """Your pseudonymous id of the visitor."""
    consent: NotRequired[FreeFormObject]
    """Consent state supplied with the event."""
    consent_mode: NotRequired[FreeFormObject]
    """Consent Mode v2 signals."""
    tcf: NotRequired[FreeFormObject]
    """TCF v2: `string`, optional `captured_at`."""
    user_data: NotRequired[FreeFormObject]
    """Identity fields; hashed before they are stored."""
    click_ids: NotRequired[FreeFormObject]
    """Click IDs and browser IDs of ad platforms by the name of their parameter or cookie,
    such as `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event
    refuses."""
    value_data: NotRequired[ValueData]
    withdrawn_platforms: NotRequired[list[str]]
    """Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in
    the `type` of destinations. Left out, every platform."""
    opt_out: NotRequired[bool]
    """Count the event, but never use it to choose who sees an advertisement."""
    data_processing_options: NotRequired[list[Literal["LDU"]]]
    """`["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction."""
    data_processing_options_country: NotRequired[int]
    """1 for the USA; 0 to be located."""
    data_processing_options_state: NotRequired[int]
    """1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005
    Texas, 1006 Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New
    Jersey, 1011 Minnesota, 1012 Maryland, 1013 Rhode Island; 0 to be located. Required
    with a country."""
    referrer_url: NotRequired[str]
    """The page that led to the page of the event."""
    app_data: NotRequired[AppData]
    messaging_channel: NotRequired[Literal["messenger", "whatsapp", "instagram"]]
    """Required with the action source `business_messaging`."""
    advertiser_tracking_enabled: NotRequired[TrackingPermission]
    customer_segmentation: NotRequired[Literal["new_customer_to_business", "new_customer_to_business_line", "new_customer_to_product_area", "new_customer_to_medium", "existing_customer_to_business", "existing_customer_to_business_line", "existing_customer_to_product_area", "existing_customer_to_medium", "customer_in_loyalty_program"]]
    """What the customer is to the business."""


class IngestionNotice(TypedDict):
    code: str
    """`member_ignored`: not a member of this API. `member_dropped`: known, but its value
    cannot be used. `member_redacted`: held an email address or a phone number, which a
    token replaces. `consent_unreadable`: a consent input that neither grants nor denies,
    or that refuses by words that are no known form. `consent_refused_for_platform`: a
    consent input that refuses one advertising platform, to which the event is not sent.
    `differs_from_stored`: a duplicate whose body is not the one that is stored."""
    field: str
    """Dotted path of the member; `*` for an unreadable name."""
    message: str


class DuplicateEvent(TypedDict):
    event_id: str
    duplicate: Literal[True]
    notices: NotRequired[list[IngestionNotice]]
    """`differs_from_stored` when the body differs from that of the stored event, which
    counts. Left out when it is the same or cannot be compared, and with a publishable
    key."""


class IngestionWarning(TypedDict):
    code: Literal["consent_captured_at_invalid"]
    field: Literal["consent.captured_at"]
    message: str


class NewEvent(TypedDict):
    event_id: str
    duplicate: Literal[False]
    warnings: list[IngestionWarning]
    notices: list[IngestionNotice]
    """Members that were accepted without their full effect; empty when all counted."""


class NewVerification(TypedDict):
    event_id: str
    duplicate: Literal[False]


class Delivery(TypedDict):
    id: int
    workspace_id: int
    signal_tracker_id: str
    event_id: str
    destination_id: str | None
    status: DeliveryStatus
    is_test: bool
    attempt_count: int
    last_error: FreeFormObject | None
    """The last response of the platform, or the last network error."""
    platform_response: FreeFormObject | None
    """The platform's last response, without secrets; `attempts` lists the requests that sent
    the event, the oldest first, at most twenty."""
    platform_trace_id: str | None
    """For the support team of the platform."""
    next_attempt_at: str | None
    """The time of the next attempt; null if none is planned."""
    created_at: str
    """When the delivery was planned."""
    updated_at: str | None
    """When the status last changed."""


class Event(TypedDict):
    id: str
    workspace_id: int
    signal_tracker_id: str
    """In the single-event read a deprecated alias of workspace_id (decimal string)."""
    parent_event_id: str | None
    event_name: str
    event_time: str
    """When it happened."""
    action_source: str
    event_class: EventClass
    order_id: str | None
    value_amount: str | None
    """Major units, with exactly the digits that were sent."""
    value_currency: str | None
    created_at: str
    """When it was stored."""
    consent_basis: ConsentBasis
    measurement_class: MeasurementClass
    attribution_join: AttributionJoin
    enforcement_scope: EnforcementScope
    consent_normalization_version: str
    consent: FreeFormObject | None
    """The state supplied with the event, and our decision on it."""
    user_data_hashed: FreeFormObject | None
    """Identity as digests. Empty once the payload expired."""
    click_ids: FreeFormObject | None
    """Advertising click identifiers."""
    session: FreeFormObject | None
    """The visitor's session record. `click_conflict` is present when a page named another
    click or browser ID, which is ignored: `tracker_secret_used` or `first_page_used`."""
    value_data: FreeFormObject | None
    """Commerce data as it was sent."""
    event_source: str | None
    payload_expired: bool
    deliveries: list[Delivery]


class LineageEvent(TypedDict):
    id: str
    workspace_id: int
    signal_tracker_id: str
    """In the single-event read a deprecated alias of workspace_id (decimal string)."""
    parent_event_id: str | None
    event_name: str
    event_time: str
    """When it happened."""
    action_source: str
    event_class: EventClass
    order_id: str | None
    value_amount: str | None
    """Major units, with exactly the digits that were sent."""
    value_currency: str | None
    created_at: str
    """When it was stored."""
    consent_basis: ConsentBasis
    measurement_class: MeasurementClass
    attribution_join: AttributionJoin
    enforcement_scope: EnforcementScope
    consent_normalization_version: str
    consent: FreeFormObject | None
    """The state supplied with the event, and our decision on it."""
    user_data_hashed: FreeFormObject | None
    """Identity as digests. Empty once the payload expired."""
    click_ids: FreeFormObject | None
    """Advertising click identifiers."""
    session: FreeFormObject | None
    """The visitor's session record. `click_conflict` is present when a page named another
    click or browser ID, which is ignored: `tracker_secret_used` or `first_page_used`."""
    value_data: FreeFormObject | None
    """Commerce data as it was sent."""
    event_source: str | None
    payload_expired: bool


class Lineage(TypedDict):
    parent: LineageEvent | None
    children: list[LineageEvent]


class OrderPurchase(TypedDict):
    id: str
    event_name: str
    created_at: str
    """When it was stored."""
    value_amount: str | None
    """Major units, as decimal text. Null without a value."""
    value_currency: str | None


class OrderRefund(TypedDict):
    id: str
    event_name: str
    created_at: str
    """When it was stored."""
    value_amount: str | None
    """Major units, as decimal text. Null without a value."""
    value_currency: str | None
    effect: str
    """`subtracted`: its value is subtracted. `whole`: it has no value, so everything is
    refunded. `other_currency`, `no_currency`: it is not subtracted, because amounts are
    never converted. `of_page`: a publishable key sent it, so it changes nothing.
    `no_purchase_value`: the purchase is not stored yet, or its value is missing or below
    zero."""


class OrderAtPlatform(TypedDict):
    destination_id: str
    platform: str
    """As in the `type` of the destination."""
    value_amount: str | None
    """Major units, as decimal text. The last value that the platform accepted for the order,
    if any."""
    value_currency: str | None
    event_id: str | None
    """The purchase or the refund that told it."""
    is_net_value: bool
    """It is the net value of the order."""
    explanation: str
    """What the platform was told, what it said about it later, and why not more."""


class EventOrder(TypedDict):
    order_id: str | None
    purchase: OrderPurchase | None
    other_purchases: list[str]
    """IDs of other purchases with the same order ID, whose values are not added."""
    refunds: list[OrderRefund]
    """Oldest first, at most a hundred."""
    currency: str | None
    gross_value: str | None
    """Major units, as decimal text. What the purchase says."""
    refunded_value: str | None
    """Major units, as decimal text. What the refunds in its currency say together."""
    net_value: str | None
    """Major units, as decimal text. The gross value less the refunded value, and never below
    zero."""
    explanation: str
    """What the net value counts, and what it does not."""
    platforms: list[OrderAtPlatform]
    """What each destination of the purchase was told."""


class ExplainedDelivery(TypedDict):
    id: int
    workspace_id: int
    signal_tracker_id: str
    event_id: str
    destination_id: str | None
    status: DeliveryStatus
    is_test: bool
    attempt_count: int
    last_error: FreeFormObject | None
    """The last response of the platform, or the last network error."""
    platform_response: FreeFormObject | None
    """The platform's last response, without secrets; `attempts` lists the requests that sent
    the event, the oldest first, at most twenty."""
    platform_trace_id: str | None
    """For the support team of the platform."""
    next_attempt_at: str | None
    """The time of the next attempt; null if none is planned."""
    created_at: str
    """When the delivery was planned."""
    updated_at: str | None
    """When the status last changed."""
    platform: str | None
    """The `type` of the destination; null without one."""
    explanation: str
    """What happened, why, and what happens next."""


class EventDetail(TypedDict):
    event: Event
    lineage: Lineage
    order: EventOrder | None
    deliveries: list[ExplainedDelivery]


class PageLink(TypedDict):
    url: str | None
    label: str
    active: bool


EventPage = TypedDict(
    "EventPage",
    {
        "current_page": int,
        "data": list["Event"],
        "first_page_url": Union[str, None],
        "from": Union[int, None],
        "last_page": int,
        "last_page_url": Union[str, None],
        "links": list["PageLink"],
        "next_page_url": Union[str, None],
        "path": str,
        "per_page": int,
        "prev_page_url": Union[str, None],
        "to": Union[int, None],
        "total": int,
    },
)


class DashboardMetrics(TypedDict):
    accepted: int
    """Live deliveries that were accepted."""
    total_deliveries: int
    """Live deliveries that were planned; skipped ones do not count."""
    acceptance_rate: float | None
    acceptance_rate_window: Literal["last_7_days"]


class EventList(TypedDict):
    events: EventPage
    metrics: DashboardMetrics


class TestModeSubmission(TypedDict):
    enabled: bool
    """Whether new events are sent as test events."""
    test_event_code: NotRequired[str | None]
    """The code that the platform shows beside its test events, such as Meta's Events
    Manager. Left out, the stored code is kept; null clears it. Test mode always has a
    code: where none is left, switching it on makes one."""


class Destination(TypedDict):
    id: str
    workspace_id: int
    signal_tracker_id: str
    platform_ad_account_id: int | None
    type: str
    """The name of its platform, such as `meta`."""
    credential_source: Literal["oauth_connection"]
    config: FreeFormObject | None
    """`dataset_id`; `test_event_code`, kept while test mode is off; `test_mode_until`, when
    test mode turns off, null while it is off; `status_reason`, why it is inactive."""
    status: str
    created_at: str | None
    """When it was connected."""
    updated_at: str | None
    """When it last changed."""


class TestMode(TypedDict):
    destination: Destination
    test_mode: bool
    """Whether new events are currently sent as test events."""


class TestPurchaseSubmission(TypedDict):
    value: NotRequired[str]
    """Decimal text, stored exactly; default 1.00."""
    currency: NotRequired[str]
    """ISO 4217, in any case; default USD."""
    order_id: NotRequired[str]
    """By default, a value that is clearly not a real order."""


class TestPurchase(TypedDict):
    event_id: str
    """The id of the event, readable like any other."""
    status: str
    """The status of its delivery."""
    trace_id: str | None
    """For the support team of the platform."""


class ReplaySubmission(TypedDict):
    delivery_ids: NotRequired[list[int]]
    """Only these deliveries."""
    event_name: NotRequired[str]
    """Only deliveries of events with this name."""
    limit: NotRequired[int]
    """Number of failed deliveries to consider, newest events first; 1000 if omitted."""


class ReplayResult(TypedDict):
    queued: int
    """Deliveries queued to be sent again."""
    expired: int
    """Not queued: the event is too old for the platform."""
    payload_expired: int
    """Not queued: the identity payload of the event was deleted."""
    capped: bool
    """More failed deliveries matched than the limit."""


class PlatformCount(TypedDict):
    source: str
    """The platform's report of the day, or the results of our requests."""
    platform: str
    """Its name for people."""
    label: str
    """The platform's words for what it counts."""
    meaning: str
    """What it counts, what it never tells, where to see it."""


class UnavailableCount(TypedDict):
    cause: str
    sentence: str
    """Why there is no count, for a person."""


class SentName(TypedDict):
    event_name: str
    platform_name: str
    """Under which it is sent and counted."""


class DestinationOutcome(TypedDict):
    status: str
    reason: str
    """Why, as in the deliveries."""
    count: int
    """Deliveries that got the status on this UTC day."""
    explanation: str
    """For a person."""


class ReasonCount(TypedDict):
    reason: str
    """The platform's own code."""
    count: int
    """Events."""


class RequestResults(TypedDict):
    requests: int
    """Requests that the platform took on the day."""
    events: int
    """Their events."""
    processed_events: int
    """Those that it says it processed."""
    processing_events: int
    """Those of requests without a result yet."""
    unknown_events: int
    """Those of requests whose result it never told."""
    failed_events: int
    """Those of requests that failed as a whole."""
    refusals: list[ReasonCount]
    """The largest first, at most 50."""


class AcceptedValue(TypedDict):
    event_name: str
    """The platform's name of the event."""
    currency: str
    events: int
    """Accepted events that have a value."""
    amount: str
    """Exact decimal text."""


class ReportedValue(TypedDict):
    currency: str
    amount: str
    """Exact decimal text."""


class ValueReconciliation(TypedDict):
    accepted: list[AcceptedValue]
    """The sum of what the platform accepted on the day."""
    reported: list[ReportedValue] | None
    """The values that the platform reports; null if it reports none."""
    explanation: str
    """For a person."""


class EventCounts(TypedDict):
    accepted: CountsByEventName
    """Event name -> events accepted from us."""
    meta: CountsByEventName
    """Event name -> events that the platform reports; empty if it tells no names."""


class ReconciliationBucket(TypedDict):
    count: int
    """Events; negative if the platform counted more than we did."""
    basis: str
    """Counted, or derived from counts."""
    explanation: str
    """For a person."""


class ReconciliationReport(TypedDict):
    id: int
    workspace_id: int
    signal_tracker_id: str
    destination_id: str
    report_date: str
    """UTC day."""
    accepted_count: int
    """Events that the platform accepted from us."""
    meta_count: int
    """Events that the platform reports. With the status `unavailable` it is 0 and no count:
    see `unavailable`."""
    observed_gap: int
    """accepted_count minus meta_count."""
    count_source: PlatformCount | None
    """The platform's words for its count; null in old reports."""
    unavailable: UnavailableCount | None
    sent_names: list[SentName]
    """Events that the destination's map renames."""
    outcomes: list[DestinationOutcome]
    """Live deliveries of this destination that were not accepted, the most first."""
    requests: RequestResults | None
    """For platforms that tell the results of requests only."""
    values: ValueReconciliation | None
    """By currency; null in old reports."""
    event_counts: EventCounts
    buckets: dict[str, ReconciliationBucket]
    """What explains the gap: test_events, pending, late_event_time, unknown_outcome,
    platform_deduplicated, other_senders, platform_refused."""
    unexplained_residual: int
    """The gap minus the sum of the buckets."""
    status: str
    created_at: str | None
    """When it was created."""
    updated_at: str | None
    """When it was last updated."""
    destination: Destination


class ReconciliationReports(TypedDict):
    date: str
    reports: list[ReconciliationReport]


class EmqSnapshot(TypedDict):
    id: int
    workspace_id: int
    signal_tracker_id: str
    destination_id: str
    score: float
    """Event match quality, 0 to 10: the platform's score of Purchase, or else the mean of
    all event names, weighted by their events."""
    week_over_week_change: float | None
    """Change since the snapshot closest to 7 days before (6 to 8); null if there is none."""
    alerted: bool
    """The score fell by 1.0 or more within that week, or is below 4.0; or by the thresholds
    of the workspace."""
    platform_response: FreeFormObject | None
    """The platform's complete response. We add the member `signalbox`, about what the
    platform accepted from us on the UTC days `from` to `until`: `coverage` is a list of
    `event_name`, `events` and `keys` (match key -> percent of these events that carried
    it); `advice` a list of `event_name`, `key`, `kind` (`send_more` or
    `lost_on_the_way`), `sentence` and `possible_gain_percent`, which may be null. Null in
    old snapshots when all responses together exceed 8 MB."""
    measured_at: str
    """When the platform was queried."""
    created_at: str | None
    """When it was stored."""
    updated_at: str | None
    """When it last changed."""


class EmqReport(TypedDict):
    snapshots: list[EmqSnapshot]


class DeletionSubmission(TypedDict):
    identifier_hash: str
    """SHA-256 of one normalized identifier: 64 hexadecimal digits in any case."""
    identifier_type: NotRequired[Literal["email", "phone", "external_id"]]
    """The kind of identifier; all kinds if omitted."""


class DeletionResult(TypedDict):
    deletion_request_id: str
    """The same for every repeated request."""
    duplicate: bool
    """The same digest was deleted before."""
    events_updated: int
    sessions_updated: int
    completed_at: str
    """When the deletion was completed."""


class EventBatchSubmission(TypedDict):
    events: list[EventSubmission]
    """At most 20 with a publishable key. Each event has at most 64 KiB and is accepted or
    refused for itself, in the order of the list."""


class EventResult(TypedDict):
    status: int
    """The status that createEvent would have had. 202: stored. 200: a duplicate. 400 and
    422: refused, whenever it is sent. 429 and 503: not stored; send this event again."""
    event_id: NotRequired[str]
    """Of a stored event or a duplicate."""
    duplicate: NotRequired[bool]
    """Of a stored event or a duplicate."""
    warnings: NotRequired[list[IngestionWarning]]
    notices: NotRequired[list[IngestionNotice]]
    message: NotRequired[str]
    """Why the event is not stored."""
    errors: NotRequired[FieldErrors]
    retry_after: NotRequired[int]
    """Of 429 and 503: seconds to wait."""


class EventBatchResult(TypedDict):
    results: list[EventResult]
    """One for each event of the request, in the same order."""


class SandboxKeyUse(TypedDict):
    method: Literal["POST"]
    url: str
    """What the key gives access to."""
    authorization: str
    """The Authorization header, ready to be sent."""


class SandboxKey(TypedDict):
    """A short-lived key that needs no approval and is not stored."""

    api_key: str
    """Valid until `expires_at`."""
    token_type: Literal["Bearer"]
    expires_in: int
    """Seconds."""
    expires_at: str
    """When the key stops working."""
    scope: Literal["sandbox:events.validate"]
    production_access: Literal[False]
    use: SandboxKeyUse


class SandboxSelfServeKey(TypedDict):
    method: Literal["POST"]
    url: str
    """Where to get another key."""
    authentication_required: Literal[False]
    description: str
    issued_key: SandboxKey


class SandboxTrialValue(TypedDict):
    value: str
    currency: str
    order_id: str


class SandboxTrialEvent(TypedDict):
    event_id: str
    event_name: str
    action_source: str
    value_data: SandboxTrialValue


class SandboxTrialRequest(TypedDict):
    method: Literal["POST"]
    url: str
    """Where to send the body."""
    content_type: Literal["application/json"]
    body: SandboxTrialEvent


SandboxDiscovery = TypedDict(
    "SandboxDiscovery",
    {
        "environment": Literal["sandbox"],
        "authentication_required": Literal[True],
        "account_required": Literal[False],
        "production_data": Literal[False],
        "persists_data": Literal[False],
        "provider_delivery": Literal[False],
        "description": str,
        "self_serve_key": "SandboxSelfServeKey",
        "try": "SandboxTrialRequest",
    },
)


class SandboxConsentEvent(TypedDict):
    event_name: str
    consent_basis: NotRequired[Literal["consent"]]
    """The default. POST /events requires it."""
    event_id: NotRequired[str]
    """Idempotency key. Defaults to the Idempotency-Key header, or else a new id."""
    parent_event_id: NotRequired[str]
    event_time: NotRequired[EventTime]
    event_source: NotRequired[str]
    """Absolute URI of the page."""
    action_source: NotRequired[str]
    """Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
    system_generated, business_messaging, other, or a word of your own, which platforms
    get as `other`. `website` when it is left out. `app` needs `app_data`, and
    `business_messaging` needs `messaging_channel`."""
    visitor_id: NotRequired[str]
    """Your pseudonymous id of the visitor."""
    consent: NotRequired[FreeFormObject]
    """Consent state supplied with the event."""
    consent_mode: NotRequired[FreeFormObject]
    """Consent Mode v2 signals."""
    tcf: NotRequired[FreeFormObject]
    """TCF v2: `string`, optional `captured_at`."""
    user_data: NotRequired[FreeFormObject]
    """Identity fields; hashed before they are stored."""
    click_ids: NotRequired[FreeFormObject]
    """Click IDs and browser IDs of ad platforms by the name of their parameter or cookie,
    such as `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event
    refuses."""
    value_data: NotRequired[ValueData]
    withdrawn_platforms: NotRequired[list[str]]
    """Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in
    the `type` of destinations. Left out, every platform."""
    opt_out: NotRequired[bool]
    """Count the event, but never use it to choose who sees an advertisement."""
    data_processing_options: NotRequired[list[Literal["LDU"]]]
    """`["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction."""
    data_processing_options_country: NotRequired[int]
    """1 for the USA; 0 to be located."""
    data_processing_options_state: NotRequired[int]
    """1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005
    Texas, 1006 Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New
    Jersey, 1011 Minnesota, 1012 Maryland, 1013 Rhode Island; 0 to be located. Required
    with a country."""
    referrer_url: NotRequired[str]
    """The page that led to the page of the event."""
    app_data: NotRequired[AppData]
    messaging_channel: NotRequired[Literal["messenger", "whatsapp", "instagram"]]
    """Required with the action source `business_messaging`."""
    advertiser_tracking_enabled: NotRequired[TrackingPermission]
    customer_segmentation: NotRequired[Literal["new_customer_to_business", "new_customer_to_business_line", "new_customer_to_product_area", "new_customer_to_medium", "existing_customer_to_business", "existing_customer_to_business_line", "existing_customer_to_product_area", "existing_customer_to_medium", "customer_in_loyalty_program"]]
    """What the customer is to the business."""


class SandboxEventResult(TypedDict):
    sandbox: Literal[True]
    accepted: Literal[True]
    event_id: str
    """The caller's id, or a new one if the request has none."""
    status: Literal["validated"]
    persisted: Literal[False]
    provider_delivery: Literal[False]
    message: str
    """What production would do with this event, and why."""


FreeFormObject = dict[str, Any]
"""An object whose members the contract does not fix."""


ContentKind = Literal["product", "product_group", "hotel", "flight", "destination", "vehicle", "home_listing"]
"""What an id of the contents names."""


ContentKindList = list["ContentKind"]


ContentType = Union["ContentKind", "ContentKindList"]
"""What the ids of the contents name: one kind, or several. Not sent when left out."""


ContentId = Union[str, int]
"""The id of a product or of a group."""


ContentIdList = list["ContentId"]


ContentIds = Union["ContentIdList", str, int]
"""Ids of products or of groups. Taken from `contents` when left out."""


RegistrationStatus = Union[str, bool]
"""Status of a registration."""


TrackingPermission = Union[bool, int]
"""Permission for tracking: a boolean, or 0 and 1."""


LifecycleEventName = Literal["signal_verification", "consent_withdrawal"]


EventSubmission = Union["ConsentEvent", "LegitimateInterestEvent"]


FieldErrors = dict[str, list[str]]
"""Dotted field path -> sentences."""


EventClass = str


ConsentBasis = str


MeasurementClass = str


AttributionJoin = str


EnforcementScope = str


DeliveryStatus = str


CountsByEventName = dict[str, int]


SandboxEventSubmission = Union["SandboxConsentEvent", "LegitimateInterestEvent"]

