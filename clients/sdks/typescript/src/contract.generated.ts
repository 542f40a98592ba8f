// Generated from the contract 0.5.0 (sha256 087a10604b33baa4adcaf274a1ff847d45c97bed02b41a2dfc95e97ff0184dc2). Do not edit.

/** A native time, ISO 8601 text with an offset, or Unix seconds. */
export type EventTime = Date | string | number

/** An object whose members the contract does not fix. */
export type FreeFormObject = Record<string, unknown>

/** What an id of the contents names. */
export type ContentKind = 'product' | 'product_group' | 'hotel' | 'flight' | 'destination' | 'vehicle' | 'home_listing'

export type ContentKindList = ContentKind[]

/** What the ids of the contents name: one kind, or several. Not sent when left out. */
export type ContentType = ContentKind | ContentKindList

/** The id of a product or of a group. */
export type ContentId = string | number

export type ContentIdList = ContentId[]

/** Ids of products or of groups. Taken from `contents` when left out. */
export type ContentIds = ContentIdList | string | number

/** Status of a registration. */
export type RegistrationStatus = string | boolean

/** Commerce data. */
export interface ValueData {
  /** Money in major units as decimal text; kept exactly as sent. */
  value?: string | undefined
  /** An ISO 4217 code that is in use, in any case. */
  currency?: string | undefined
  order_id?: string | undefined
  /**
   * Items, at most 16 KiB serialized. An item is an object with an `id`; `item_id`, `product_id`
   * and `sku` are read as it. Others are stored and not sent.
   */
  contents?: unknown[] | undefined
  num_items?: number | undefined
  content_type?: ContentType | undefined
  content_ids?: ContentIds | undefined
  /** Name of the page or product. */
  content_name?: string | undefined
  /** Category of the page or product. */
  content_category?: string | undefined
  /** What the visitor searched for. */
  search_string?: string | undefined
  status?: RegistrationStatus | undefined
  /** Predicted lifetime value as decimal text; kept exactly as sent. */
  predicted_ltv?: string | undefined
  /** Margin as decimal text; kept exactly as sent. */
  net_revenue?: string | undefined
  /** How the order reaches the customer. */
  delivery_category?: 'in_store' | 'curbside' | 'home_delivery' | undefined
  /**
   * Your own properties, sent as they are: at most 100 members in 3 levels and 8 KiB serialized.
   * None may have the name of another member of `value_data`.
   */
  custom_properties?: FreeFormObject | undefined
}

/** Permission for tracking: a boolean, or 0 and 1. */
export type TrackingPermission = boolean | number

/** The app and its device. Kept with the identity, and deleted with it. */
export interface AppData {
  advertiser_tracking_enabled?: TrackingPermission | undefined
  application_tracking_enabled?: TrackingPermission | undefined
  /**
   * The device in 16 places: `a2` or `i2`, package, versions, OS version, model, locale, time
   * zone, carrier, screen, CPU, storage. A missing value is empty text.
   */
  extinfo?: string[] | undefined
  /** Encrypted metadata of the link from an ad. */
  campaign_ids?: string | undefined
  /** Android. */
  install_referrer?: string | undefined
  /** Android. */
  installer_package?: string | undefined
  url_schemes?: string[] | undefined
  /** iOS. */
  vendor_id?: string | undefined
  /** Windows. */
  windows_attribution_id?: string | undefined
}

export interface ConsentEvent {
  event_name: string
  consent_basis: 'consent'
  /** Idempotency key. Defaults to the Idempotency-Key header, or else a new id. */
  event_id?: string | undefined
  parent_event_id?: string | undefined
  event_time?: EventTime | undefined
  /** Absolute URI of the page. */
  event_source?: string | undefined
  /**
   * Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
   * system_generated, business_messaging, other, or a word of your own, which platforms get as
   * `other`. `website` when it is left out. `app` needs `app_data`, and `business_messaging` needs
   * `messaging_channel`.
   */
  action_source?: string | undefined
  /** Your pseudonymous id of the visitor. */
  visitor_id?: string | undefined
  /** Consent state supplied with the event. */
  consent?: FreeFormObject | undefined
  /** Consent Mode v2 signals. */
  consent_mode?: FreeFormObject | undefined
  /** TCF v2: `string`, optional `captured_at`. */
  tcf?: FreeFormObject | undefined
  /** Identity fields; hashed before they are stored. */
  user_data?: FreeFormObject | undefined
  /**
   * Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such as
   * `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.
   */
  click_ids?: FreeFormObject | undefined
  value_data?: ValueData | undefined
  /**
   * Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the `type`
   * of destinations. Left out, every platform.
   */
  withdrawn_platforms?: string[] | undefined
  /** Count the event, but never use it to choose who sees an advertisement. */
  opt_out?: boolean | undefined
  /** `["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction. */
  data_processing_options?: 'LDU'[] | undefined
  /** 1 for the USA; 0 to be located. */
  data_processing_options_country?: number | undefined
  /**
   * 1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005 Texas, 1006
   * Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New Jersey, 1011 Minnesota,
   * 1012 Maryland, 1013 Rhode Island; 0 to be located. Required with a country.
   */
  data_processing_options_state?: number | undefined
  /** The page that led to the page of the event. */
  referrer_url?: string | undefined
  app_data?: AppData | undefined
  /** Required with the action source `business_messaging`. */
  messaging_channel?: 'messenger' | 'whatsapp' | 'instagram' | undefined
  advertiser_tracking_enabled?: TrackingPermission | undefined
  /** What the customer is to the business. */
  customer_segmentation?: 'new_customer_to_business' | 'new_customer_to_business_line' | 'new_customer_to_product_area' | 'new_customer_to_medium' | 'existing_customer_to_business' | 'existing_customer_to_business_line' | 'existing_customer_to_product_area' | 'existing_customer_to_medium' | 'customer_in_loyalty_program' | undefined
}

export type LifecycleEventName = 'signal_verification' | 'consent_withdrawal'

export interface LegitimateInterestEvent {
  event_name: LifecycleEventName
  consent_basis: 'legitimate_interest'
  /** Idempotency key. Defaults to the Idempotency-Key header, or else a new id. */
  event_id?: string | undefined
  parent_event_id?: string | undefined
  event_time?: EventTime | undefined
  /** Absolute URI of the page. */
  event_source?: string | undefined
  /**
   * Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
   * system_generated, business_messaging, other, or a word of your own, which platforms get as
   * `other`. `website` when it is left out. `app` needs `app_data`, and `business_messaging` needs
   * `messaging_channel`.
   */
  action_source?: string | undefined
  /** Your pseudonymous id of the visitor. */
  visitor_id?: string | undefined
  /** Consent state supplied with the event. */
  consent?: FreeFormObject | undefined
  /** Consent Mode v2 signals. */
  consent_mode?: FreeFormObject | undefined
  /** TCF v2: `string`, optional `captured_at`. */
  tcf?: FreeFormObject | undefined
  /** Identity fields; hashed before they are stored. */
  user_data?: FreeFormObject | undefined
  /**
   * Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such as
   * `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.
   */
  click_ids?: FreeFormObject | undefined
  value_data?: ValueData | undefined
  /**
   * Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the `type`
   * of destinations. Left out, every platform.
   */
  withdrawn_platforms?: string[] | undefined
  /** Count the event, but never use it to choose who sees an advertisement. */
  opt_out?: boolean | undefined
  /** `["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction. */
  data_processing_options?: 'LDU'[] | undefined
  /** 1 for the USA; 0 to be located. */
  data_processing_options_country?: number | undefined
  /**
   * 1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005 Texas, 1006
   * Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New Jersey, 1011 Minnesota,
   * 1012 Maryland, 1013 Rhode Island; 0 to be located. Required with a country.
   */
  data_processing_options_state?: number | undefined
  /** The page that led to the page of the event. */
  referrer_url?: string | undefined
  app_data?: AppData | undefined
  /** Required with the action source `business_messaging`. */
  messaging_channel?: 'messenger' | 'whatsapp' | 'instagram' | undefined
  advertiser_tracking_enabled?: TrackingPermission | undefined
  /** What the customer is to the business. */
  customer_segmentation?: 'new_customer_to_business' | 'new_customer_to_business_line' | 'new_customer_to_product_area' | 'new_customer_to_medium' | 'existing_customer_to_business' | 'existing_customer_to_business_line' | 'existing_customer_to_product_area' | 'existing_customer_to_medium' | 'customer_in_loyalty_program' | undefined
}

export type EventSubmission = ConsentEvent | LegitimateInterestEvent

export interface IngestionNotice {
  /**
   * `member_ignored`: not a member of this API. `member_dropped`: known, but its value cannot be
   * used. `member_redacted`: held an email address or a phone number, which a token replaces.
   * `consent_unreadable`: a consent input that neither grants nor denies, or that refuses by words
   * that are no known form. `consent_refused_for_platform`: a consent input that refuses one
   * advertising platform, to which the event is not sent. `differs_from_stored`: a duplicate whose
   * body is not the one that is stored.
   */
  code: 'member_ignored' | 'member_dropped' | 'member_redacted' | 'consent_unreadable' | 'consent_refused_for_platform' | 'differs_from_stored' | (string & {})
  /** Dotted path of the member; `*` for an unreadable name. */
  field: string
  message: string
}

export interface DuplicateEvent {
  event_id: string
  duplicate: true
  /**
   * `differs_from_stored` when the body differs from that of the stored event, which counts. Left
   * out when it is the same or cannot be compared, and with a publishable key.
   */
  notices?: IngestionNotice[]
}

export interface IngestionWarning {
  code: 'consent_captured_at_invalid'
  field: 'consent.captured_at'
  message: string
}

export interface NewEvent {
  event_id: string
  duplicate: false
  warnings: IngestionWarning[]
  /** Members that were accepted without their full effect; empty when all counted. */
  notices: IngestionNotice[]
}

/** Dotted field path -> sentences. */
export type FieldErrors = Record<string, string[]>

export interface NewVerification {
  event_id: string
  duplicate: false
}

export type EventClass = 'conversion' | 'lifecycle' | 'verification' | 'test' | (string & {})

export type ConsentBasis = 'consent' | 'legitimate_interest' | (string & {})

export type MeasurementClass = 'advertising' | 'modeled' | 'ledger_only' | (string & {})

export type AttributionJoin = 'allowed' | 'none' | (string & {})

export type EnforcementScope = 'event' | 'ledger' | (string & {})

export type DeliveryStatus = 'queued' | 'sent' | 'accepted' | 'retrying' | 'failed:auth' | 'failed:permanent' | 'failed:unknown' | 'expired' | 'skipped:consent' | 'skipped:no_destination' | 'skipped:duplicate' | 'skipped:not_selected' | (string & {})

export interface Delivery {
  id: number
  workspace_id: number
  signal_tracker_id: string
  event_id: string
  destination_id: string | null
  status: DeliveryStatus
  is_test: boolean
  attempt_count: number
  /** The last response of the platform, or the last network error. */
  last_error: FreeFormObject | null
  /**
   * The platform's last response, without secrets; `attempts` lists the requests that sent the
   * event, the oldest first, at most twenty.
   */
  platform_response: FreeFormObject | null
  /** For the support team of the platform. */
  platform_trace_id: string | null
  /** The time of the next attempt; null if none is planned. */
  next_attempt_at: string | null
  /** When the delivery was planned. */
  created_at: string
  /** When the status last changed. */
  updated_at: string | null
}

export interface Event {
  id: string
  workspace_id: number
  /** In the single-event read a deprecated alias of workspace_id (decimal string). */
  signal_tracker_id: string
  parent_event_id: string | null
  event_name: string
  /** When it happened. */
  event_time: string
  action_source: string
  event_class: EventClass
  order_id: string | null
  /** Major units, with exactly the digits that were sent. */
  value_amount: string | null
  value_currency: string | null
  /** When it was stored. */
  created_at: string
  consent_basis: ConsentBasis
  measurement_class: MeasurementClass
  attribution_join: AttributionJoin
  enforcement_scope: EnforcementScope
  consent_normalization_version: string
  /** The state supplied with the event, and our decision on it. */
  consent: FreeFormObject | null
  /** Identity as digests. Empty once the payload expired. */
  user_data_hashed: FreeFormObject | null
  /** Advertising click identifiers. */
  click_ids: FreeFormObject | null
  /**
   * The visitor's session record. `click_conflict` is present when a page named another click or
   * browser ID, which is ignored: `tracker_secret_used` or `first_page_used`.
   */
  session: FreeFormObject | null
  /** Commerce data as it was sent. */
  value_data: FreeFormObject | null
  event_source: string | null
  payload_expired: boolean
  deliveries: Delivery[]
}

export interface LineageEvent {
  id: string
  workspace_id: number
  /** In the single-event read a deprecated alias of workspace_id (decimal string). */
  signal_tracker_id: string
  parent_event_id: string | null
  event_name: string
  /** When it happened. */
  event_time: string
  action_source: string
  event_class: EventClass
  order_id: string | null
  /** Major units, with exactly the digits that were sent. */
  value_amount: string | null
  value_currency: string | null
  /** When it was stored. */
  created_at: string
  consent_basis: ConsentBasis
  measurement_class: MeasurementClass
  attribution_join: AttributionJoin
  enforcement_scope: EnforcementScope
  consent_normalization_version: string
  /** The state supplied with the event, and our decision on it. */
  consent: FreeFormObject | null
  /** Identity as digests. Empty once the payload expired. */
  user_data_hashed: FreeFormObject | null
  /** Advertising click identifiers. */
  click_ids: FreeFormObject | null
  /**
   * The visitor's session record. `click_conflict` is present when a page named another click or
   * browser ID, which is ignored: `tracker_secret_used` or `first_page_used`.
   */
  session: FreeFormObject | null
  /** Commerce data as it was sent. */
  value_data: FreeFormObject | null
  event_source: string | null
  payload_expired: boolean
}

export interface Lineage {
  parent: LineageEvent | null
  children: LineageEvent[]
}

export interface OrderPurchase {
  id: string
  event_name: string
  /** When it was stored. */
  created_at: string
  /** Major units, as decimal text. Null without a value. */
  value_amount: string | null
  value_currency: string | null
}

export interface OrderRefund {
  id: string
  event_name: string
  /** When it was stored. */
  created_at: string
  /** Major units, as decimal text. Null without a value. */
  value_amount: string | null
  value_currency: string | null
  /**
   * `subtracted`: its value is subtracted. `whole`: it has no value, so everything is refunded.
   * `other_currency`, `no_currency`: it is not subtracted, because amounts are never converted.
   * `of_page`: a publishable key sent it, so it changes nothing. `no_purchase_value`: the purchase
   * is not stored yet, or its value is missing or below zero.
   */
  effect: 'subtracted' | 'whole' | 'other_currency' | 'no_currency' | 'of_page' | 'no_purchase_value' | (string & {})
}

export interface OrderAtPlatform {
  destination_id: string
  /** As in the `type` of the destination. */
  platform: string
  /**
   * Major units, as decimal text. The last value that the platform accepted for the order, if any.
   */
  value_amount: string | null
  value_currency: string | null
  /** The purchase or the refund that told it. */
  event_id: string | null
  /** It is the net value of the order. */
  is_net_value: boolean
  /** What the platform was told, what it said about it later, and why not more. */
  explanation: string
}

export interface EventOrder {
  order_id: string | null
  purchase: OrderPurchase | null
  /** IDs of other purchases with the same order ID, whose values are not added. */
  other_purchases: string[]
  /** Oldest first, at most a hundred. */
  refunds: OrderRefund[]
  currency: string | null
  /** Major units, as decimal text. What the purchase says. */
  gross_value: string | null
  /** Major units, as decimal text. What the refunds in its currency say together. */
  refunded_value: string | null
  /**
   * Major units, as decimal text. The gross value less the refunded value, and never below zero.
   */
  net_value: string | null
  /** What the net value counts, and what it does not. */
  explanation: string
  /** What each destination of the purchase was told. */
  platforms: OrderAtPlatform[]
}

export interface ExplainedDelivery {
  id: number
  workspace_id: number
  signal_tracker_id: string
  event_id: string
  destination_id: string | null
  status: DeliveryStatus
  is_test: boolean
  attempt_count: number
  /** The last response of the platform, or the last network error. */
  last_error: FreeFormObject | null
  /**
   * The platform's last response, without secrets; `attempts` lists the requests that sent the
   * event, the oldest first, at most twenty.
   */
  platform_response: FreeFormObject | null
  /** For the support team of the platform. */
  platform_trace_id: string | null
  /** The time of the next attempt; null if none is planned. */
  next_attempt_at: string | null
  /** When the delivery was planned. */
  created_at: string
  /** When the status last changed. */
  updated_at: string | null
  /** The `type` of the destination; null without one. */
  platform: string | null
  /** What happened, why, and what happens next. */
  explanation: string
}

export interface EventDetail {
  event: Event
  lineage: Lineage
  order: EventOrder | null
  deliveries: ExplainedDelivery[]
}

export interface PageLink {
  url: string | null
  label: string
  active: boolean
}

export interface EventPage {
  current_page: number
  data: Event[]
  first_page_url: string | null
  /** Position of the first event on the page; null on an empty one. */
  from: number | null
  last_page: number
  last_page_url: string | null
  links: PageLink[]
  next_page_url: string | null
  path: string
  per_page: number
  prev_page_url: string | null
  /** Position of the last event on the page; null on an empty one. */
  to: number | null
  total: number
}

export interface DashboardMetrics {
  /** Live deliveries that were accepted. */
  accepted: number
  /** Live deliveries that were planned; skipped ones do not count. */
  total_deliveries: number
  acceptance_rate: number | null
  acceptance_rate_window: 'last_7_days'
}

export interface EventList {
  events: EventPage
  metrics: DashboardMetrics
}

export interface TestModeSubmission {
  /** Whether new events are sent as test events. */
  enabled: boolean
  /**
   * The code that the platform shows beside its test events, such as Meta's Events Manager. Left
   * out, the stored code is kept; null clears it. Test mode always has a code: where none is left,
   * switching it on makes one.
   */
  test_event_code?: string | null | undefined
}

export interface Destination {
  id: string
  workspace_id: number
  signal_tracker_id: string
  platform_ad_account_id: number | null
  /** The name of its platform, such as `meta`. */
  type: string
  credential_source: 'oauth_connection'
  /**
   * `dataset_id`; `test_event_code`, kept while test mode is off; `test_mode_until`, when test
   * mode turns off, null while it is off; `status_reason`, why it is inactive.
   */
  config: FreeFormObject | null
  status: 'active' | 'inactive' | (string & {})
  /** When it was connected. */
  created_at: string | null
  /** When it last changed. */
  updated_at: string | null
}

export interface TestMode {
  destination: Destination
  /** Whether new events are currently sent as test events. */
  test_mode: boolean
}

export interface TestPurchaseSubmission {
  /** Decimal text, stored exactly; default 1.00. */
  value?: string | undefined
  /** ISO 4217, in any case; default USD. */
  currency?: string | undefined
  /** By default, a value that is clearly not a real order. */
  order_id?: string | undefined
}

export interface TestPurchase {
  /** The id of the event, readable like any other. */
  event_id: string
  /** The status of its delivery. */
  status: string
  /** For the support team of the platform. */
  trace_id: string | null
}

export interface ReplaySubmission {
  /** Only these deliveries. */
  delivery_ids?: number[] | undefined
  /** Only deliveries of events with this name. */
  event_name?: string | undefined
  /** Number of failed deliveries to consider, newest events first; 1000 if omitted. */
  limit?: number | undefined
}

export interface ReplayResult {
  /** Deliveries queued to be sent again. */
  queued: number
  /** Not queued: the event is too old for the platform. */
  expired: number
  /** Not queued: the identity payload of the event was deleted. */
  payload_expired: number
  /** More failed deliveries matched than the limit. */
  capped: boolean
}

export interface PlatformCount {
  /** The platform's report of the day, or the results of our requests. */
  source: 'day_report' | 'request_results' | (string & {})
  /** Its name for people. */
  platform: string
  /** The platform's words for what it counts. */
  label: string
  /** What it counts, what it never tells, where to see it. */
  meaning: string
}

export interface UnavailableCount {
  cause: 'permission' | 'credential' | 'throttled' | 'out_of_reach' | 'out_of_range' | 'unreadable' | 'unsupported' | 'destination_inactive' | 'credential_unreadable' | 'configuration_invalid' | 'no_plug_in' | 'no_request' | 'no_result' | 'not_recorded' | (string & {})
  /** Why there is no count, for a person. */
  sentence: string
}

export interface SentName {
  event_name: string
  /** Under which it is sent and counted. */
  platform_name: string
}

export interface DestinationOutcome {
  status: 'queued' | 'sent' | 'accepted' | 'retrying' | 'failed:auth' | 'failed:permanent' | 'failed:unknown' | 'expired' | 'skipped:consent' | 'skipped:no_destination' | 'skipped:duplicate' | 'skipped:not_selected' | (string & {})
  /** Why, as in the deliveries. */
  reason: string
  /** Deliveries that got the status on this UTC day. */
  count: number
  /** For a person. */
  explanation: string
}

export interface ReasonCount {
  /** The platform's own code. */
  reason: string
  /** Events. */
  count: number
}

export interface RequestResults {
  /** Requests that the platform took on the day. */
  requests: number
  /** Their events. */
  events: number
  /** Those that it says it processed. */
  processed_events: number
  /** Those of requests without a result yet. */
  processing_events: number
  /** Those of requests whose result it never told. */
  unknown_events: number
  /** Those of requests that failed as a whole. */
  failed_events: number
  /** The largest first, at most 50. */
  refusals: ReasonCount[]
}

export interface AcceptedValue {
  /** The platform's name of the event. */
  event_name: string
  currency: string
  /** Accepted events that have a value. */
  events: number
  /** Exact decimal text. */
  amount: string
}

export interface ReportedValue {
  currency: string
  /** Exact decimal text. */
  amount: string
}

export interface ValueReconciliation {
  /** The sum of what the platform accepted on the day. */
  accepted: AcceptedValue[]
  /** The values that the platform reports; null if it reports none. */
  reported: ReportedValue[] | null
  /** For a person. */
  explanation: string
}

export type CountsByEventName = Record<string, number>

export interface EventCounts {
  /** Event name -> events accepted from us. */
  accepted: CountsByEventName
  /** Event name -> events that the platform reports; empty if it tells no names. */
  meta: CountsByEventName
}

export interface ReconciliationBucket {
  /** Events; negative if the platform counted more than we did. */
  count: number
  /** Counted, or derived from counts. */
  basis: 'measured' | 'estimated' | (string & {})
  /** For a person. */
  explanation: string
}

export interface ReconciliationReport {
  id: number
  workspace_id: number
  signal_tracker_id: string
  destination_id: string
  /** UTC day. */
  report_date: string
  /** Events that the platform accepted from us. */
  accepted_count: number
  /**
   * Events that the platform reports. With the status `unavailable` it is 0 and no count: see
   * `unavailable`.
   */
  meta_count: number
  /** accepted_count minus meta_count. */
  observed_gap: number
  /** The platform's words for its count; null in old reports. */
  count_source: PlatformCount | null
  unavailable: UnavailableCount | null
  /** Events that the destination's map renames. */
  sent_names: SentName[]
  /** Live deliveries of this destination that were not accepted, the most first. */
  outcomes: DestinationOutcome[]
  /** For platforms that tell the results of requests only. */
  requests: RequestResults | null
  /** By currency; null in old reports. */
  values: ValueReconciliation | null
  event_counts: EventCounts
  /**
   * What explains the gap: test_events, pending, late_event_time, unknown_outcome,
   * platform_deduplicated, other_senders, platform_refused.
   */
  buckets: Record<string, ReconciliationBucket>
  /** The gap minus the sum of the buckets. */
  unexplained_residual: number
  status: 'matched' | 'explained' | 'unexplained' | 'pending' | 'unavailable' | (string & {})
  /** When it was created. */
  created_at: string | null
  /** When it was last updated. */
  updated_at: string | null
  destination: Destination
}

export interface ReconciliationReports {
  date: string
  reports: ReconciliationReport[]
}

export interface EmqSnapshot {
  id: number
  workspace_id: number
  signal_tracker_id: string
  destination_id: string
  /**
   * Event match quality, 0 to 10: the platform's score of Purchase, or else the mean of all event
   * names, weighted by their events.
   */
  score: number
  /** Change since the snapshot closest to 7 days before (6 to 8); null if there is none. */
  week_over_week_change: number | null
  /**
   * The score fell by 1.0 or more within that week, or is below 4.0; or by the thresholds of the
   * workspace.
   */
  alerted: boolean
  /**
   * The platform's complete response. We add the member `signalbox`, about what the platform
   * accepted from us on the UTC days `from` to `until`: `coverage` is a list of `event_name`,
   * `events` and `keys` (match key -> percent of these events that carried it); `advice` a list of
   * `event_name`, `key`, `kind` (`send_more` or `lost_on_the_way`), `sentence` and
   * `possible_gain_percent`, which may be null. Null in old snapshots when all responses together
   * exceed 8 MB.
   */
  platform_response: FreeFormObject | null
  /** When the platform was queried. */
  measured_at: string
  /** When it was stored. */
  created_at: string | null
  /** When it last changed. */
  updated_at: string | null
}

export interface EmqReport {
  snapshots: EmqSnapshot[]
}

export interface DeletionSubmission {
  /** SHA-256 of one normalized identifier: 64 hexadecimal digits in any case. */
  identifier_hash: string
  /** The kind of identifier; all kinds if omitted. */
  identifier_type?: 'email' | 'phone' | 'external_id' | undefined
}

export interface DeletionResult {
  /** The same for every repeated request. */
  deletion_request_id: string
  /** The same digest was deleted before. */
  duplicate: boolean
  events_updated: number
  sessions_updated: number
  /** When the deletion was completed. */
  completed_at: string
}

export interface EventBatchSubmission {
  /**
   * At most 20 with a publishable key. Each event has at most 64 KiB and is accepted or refused
   * for itself, in the order of the list.
   */
  events: EventSubmission[]
}

export interface EventResult {
  /**
   * The status that createEvent would have had. 202: stored. 200: a duplicate. 400 and 422:
   * refused, whenever it is sent. 429 and 503: not stored; send this event again.
   */
  status: number
  /** Of a stored event or a duplicate. */
  event_id?: string
  /** Of a stored event or a duplicate. */
  duplicate?: boolean
  warnings?: IngestionWarning[]
  notices?: IngestionNotice[]
  /** Why the event is not stored. */
  message?: string
  errors?: FieldErrors
  /** Of 429 and 503: seconds to wait. */
  retry_after?: number
}

export interface EventBatchResult {
  /** One for each event of the request, in the same order. */
  results: EventResult[]
}

export interface SandboxKeyUse {
  method: 'POST'
  /** What the key gives access to. */
  url: string
  /** The Authorization header, ready to be sent. */
  authorization: string
}

/** A short-lived key that needs no approval and is not stored. */
export interface SandboxKey {
  /** Valid until `expires_at`. */
  api_key: string
  token_type: 'Bearer'
  /** Seconds. */
  expires_in: number
  /** When the key stops working. */
  expires_at: string
  scope: 'sandbox:events.validate'
  production_access: false
  use: SandboxKeyUse
}

export interface SandboxSelfServeKey {
  method: 'POST'
  /** Where to get another key. */
  url: string
  authentication_required: false
  description: string
  issued_key: SandboxKey
}

export interface SandboxTrialValue {
  value: string
  currency: string
  order_id: string
}

export interface SandboxTrialEvent {
  event_id: string
  event_name: string
  action_source: string
  value_data: SandboxTrialValue
}

export interface SandboxTrialRequest {
  method: 'POST'
  /** Where to send the body. */
  url: string
  content_type: 'application/json'
  body: SandboxTrialEvent
}

export interface SandboxDiscovery {
  environment: 'sandbox'
  /** Validation requires a sandbox key; `self_serve_key` has one. */
  authentication_required: true
  account_required: false
  production_data: false
  persists_data: false
  provider_delivery: false
  description: string
  self_serve_key: SandboxSelfServeKey
  try: SandboxTrialRequest
}

export interface SandboxConsentEvent {
  event_name: string
  /** The default. POST /events requires it. */
  consent_basis?: 'consent' | undefined
  /** Idempotency key. Defaults to the Idempotency-Key header, or else a new id. */
  event_id?: string | undefined
  parent_event_id?: string | undefined
  event_time?: EventTime | undefined
  /** Absolute URI of the page. */
  event_source?: string | undefined
  /**
   * Where it happened, in any case: email, website, app, phone_call, chat, physical_store,
   * system_generated, business_messaging, other, or a word of your own, which platforms get as
   * `other`. `website` when it is left out. `app` needs `app_data`, and `business_messaging` needs
   * `messaging_channel`.
   */
  action_source?: string | undefined
  /** Your pseudonymous id of the visitor. */
  visitor_id?: string | undefined
  /** Consent state supplied with the event. */
  consent?: FreeFormObject | undefined
  /** Consent Mode v2 signals. */
  consent_mode?: FreeFormObject | undefined
  /** TCF v2: `string`, optional `captured_at`. */
  tcf?: FreeFormObject | undefined
  /** Identity fields; hashed before they are stored. */
  user_data?: FreeFormObject | undefined
  /**
   * Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such as
   * `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.
   */
  click_ids?: FreeFormObject | undefined
  value_data?: ValueData | undefined
  /**
   * Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the `type`
   * of destinations. Left out, every platform.
   */
  withdrawn_platforms?: string[] | undefined
  /** Count the event, but never use it to choose who sees an advertisement. */
  opt_out?: boolean | undefined
  /** `["LDU"]` asks for Limited Data Use; `[]` says that there is no restriction. */
  data_processing_options?: 'LDU'[] | undefined
  /** 1 for the USA; 0 to be located. */
  data_processing_options_country?: number | undefined
  /**
   * 1000 California, 1001 Colorado, 1002 Connecticut, 1003 Florida, 1004 Oregon, 1005 Texas, 1006
   * Montana, 1007 Delaware, 1008 Nebraska, 1009 New Hampshire, 1010 New Jersey, 1011 Minnesota,
   * 1012 Maryland, 1013 Rhode Island; 0 to be located. Required with a country.
   */
  data_processing_options_state?: number | undefined
  /** The page that led to the page of the event. */
  referrer_url?: string | undefined
  app_data?: AppData | undefined
  /** Required with the action source `business_messaging`. */
  messaging_channel?: 'messenger' | 'whatsapp' | 'instagram' | undefined
  advertiser_tracking_enabled?: TrackingPermission | undefined
  /** What the customer is to the business. */
  customer_segmentation?: 'new_customer_to_business' | 'new_customer_to_business_line' | 'new_customer_to_product_area' | 'new_customer_to_medium' | 'existing_customer_to_business' | 'existing_customer_to_business_line' | 'existing_customer_to_product_area' | 'existing_customer_to_medium' | 'customer_in_loyalty_program' | undefined
}

export type SandboxEventSubmission = SandboxConsentEvent | LegitimateInterestEvent

export interface SandboxEventResult {
  sandbox: true
  accepted: true
  /** The caller's id, or a new one if the request has none. */
  event_id: string
  status: 'validated'
  persisted: false
  provider_delivery: false
  /** What production would do with this event, and why. */
  message: string
}
