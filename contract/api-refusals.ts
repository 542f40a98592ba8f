import { keysOf } from './closed-set.ts'
import { REFUSAL_RULES, type RefusalRule } from './refusal-rules.ts'

/** What the documentation says about one refusal of the API. */
export interface ApiRefusal {
  status: number
  title: string
  /** What the caller, or an operator, does about it. */
  advice: string
  /** The fields that `errors` can name. Left out: any field, or none. */
  fields?: readonly string[]
  /** The sentences of `message`; `…` stands for a value. */
  messages?: readonly string[]
}

type RuleDetails = Pick<ApiRefusal, 'fields' | 'messages'>

/** Fields and sentences of the rules, apart from them, because the dashboard needs neither. */
const RULE_DETAILS: Partial<Record<RefusalRule, RuleDetails>> = {
  unreadable_body: {
    messages: [
      'The body is empty.',
      'The body is not valid UTF-8.',
      'The body is not valid JSON.',
      'The body is not valid ….',
      'The body is nested deeper than … levels.',
      'The body has an object that names a member twice.',
      'The body does not match its Content-Length.',
      'The request ended before its body was complete.',
    ],
  },
  key_not_accepted: { messages: ['Unauthenticated.'] },
  forwarding_signature: {
    messages: [
      "The forwarding signature matches no live forwarding secret of the key's tracker: …",
      'This forwarded request has been received before: …',
      'X-Signalbox-Forwarded-At must be the time of forwarding in Unix seconds.',
      'X-Signalbox-Forwarding-Signature must be an HMAC-SHA256 in lower-case hexadecimal.',
      'The request was signed more than 5 minutes away from our time: …',
    ],
  },
  secret_in_browser: {
    messages: ['This tracker secret came from a browser (Origin header), …'],
  },
  origin_not_registered: {
    messages: ['The origin of this page is not registered for the publishable key: …'],
  },
  body_too_large: {
    messages: [
      'The body is larger than … bytes; …',
      'The body grows to more than … times its size; compress it less.',
      'The event is larger than … bytes; leave out optional data.',
    ],
  },
  wrong_content_type: {
    messages: [
      'Send the body as application/json.',
      'Send the body as … or ….',
      'Send the body as it is, or with gzip or zstd.',
      'Send the body without a content coding.',
    ],
  },
  invalid_event_id: { fields: ['event_id', 'Idempotency-Key'] },
  event_ids_differ: { fields: ['event_id', 'Idempotency-Key'] },
  reserved_event_name: { fields: ['event_name'] },
  event_time_format: { fields: ['event_time'] },
  event_time_in_milliseconds: { fields: ['event_time'] },
  event_time_in_future: { fields: ['event_time'] },
  event_time_before_1970: { fields: ['event_time'] },
  revenue_without_consent: { fields: ['value_data'] },
  identity_without_consent: { fields: ['user_data'] },
  address_from_page: {
    fields: ['user_data.client_ip_address', 'user_data.client_user_agent'],
  },
  currency_required: { fields: ['value_data.currency'] },
  unknown_currency: { fields: ['value_data.currency'] },
  reserved_name: { fields: ['value_data.custom_properties.*'] },
  tracker_rate_limit: {
    messages: [
      'Too many requests for this tracker; wait, then retry. An operator can raise ' +
        'SIGNALBOX_TRACKER_RATE_PER_SECOND.',
    ],
  },
  key_rate_limit: {
    messages: ['Too many events with this publishable key; wait, then send the same event again.'],
  },
  address_rate_limit: {
    messages: [
      'Too many events from this address; wait, then send the same event again.',
      'Too many withdrawals from this address; wait, then send the same event again.',
      'Too many withdrawals from pages of this tracker; wait, then send the same event again.',
    ],
  },
  failed_authentication_limit: {
    messages: [
      'Too many requests from this address had no valid credential; wait, then check yours.',
    ],
  },
}

/** Refusals that do not say anything about one event. Names never change: they are anchors. */
const OTHER_REFUSALS = {
  unreadable_request: {
    status: 400,
    title: 'The request is ambiguous',
    advice:
      'Send one of each header, a valid Host, HTTP/1.1, and a path with valid percent-encoding. ' +
      'A proxy that rewrites requests is often the cause.',
    messages: [
      'The … header must appear only once.',
      'The Host header is invalid.',
      'An HTTP/1.1 request must name a Host.',
      'Use HTTP/1.1.',
      'HTTP/1.0 has no Transfer-Encoding.',
      'Transfer-Encoding must be chunked.',
      'The request target is not a valid URL.',
      'The path has invalid percent-encoding.',
      'The request cannot be routed.',
      'The request cannot be read.',
    ],
  },
  token_not_accepted: {
    status: 401,
    title: 'The token of an agent is not accepted',
    advice:
      'Stop using the token: it is mistyped, expired or revoked, or for another resource. ' +
      'WWW-Authenticate names where a new one comes from. An owner issues execution tokens.',
    messages: ['Unauthenticated.'],
  },
  execution_token_in_browser: {
    status: 403,
    title: 'An execution token came from a browser',
    advice: 'Revoke it, because every visitor can read it. Use it on a server only.',
    messages: ['This execution token came from a browser (Origin header), …'],
  },
  missing_permission: {
    status: 403,
    title: 'The credential lacks a permission',
    advice: 'Ask the owner for a connection with it, or for a token of a higher tier.',
    messages: ['This credential lacks the permission …'],
  },
  ad_account_inactive: {
    status: 403,
    title: 'The ad account is not active',
    advice: 'An administrator activates it on the page Ad accounts.',
    messages: ['The ad account of this credential is no longer active. …'],
  },
  proposal_of_another: {
    status: 403,
    title: 'The proposal is of another credential',
    advice: 'Only the credential that proposed it can cancel it. People reject it instead.',
    messages: ['Another credential proposed this. …'],
  },
  unknown_path: {
    status: 404,
    title: 'There is nothing at this path',
    advice: 'Compare the path with the API reference. The base path is /api/v1.',
    messages: ['There is nothing at this path.'],
  },
  unknown_event: {
    status: 404,
    title: 'The tracker has no such event',
    advice:
      'The event was refused, sent with the key of another tracker, or has expired. Percent-' +
      'encode the ID in the path. Search the refusals for the ID on the page Issues.',
    messages: ['This tracker has no such event.'],
  },
  unknown_destination: {
    status: 404,
    title: 'The tracker has no such destination',
    advice: 'Use the ID from the page Destinations, with the secret of the same tracker.',
    messages: ['This tracker has no such destination.'],
  },
  unknown_workspace: {
    status: 404,
    title: 'The token belongs to another workspace',
    advice: 'Use the number of the workspace that issued the token.',
    messages: ['This token has no such workspace. …'],
  },
  unknown_proposal: {
    status: 404,
    title: 'There is no such action, proposal or receipt',
    advice:
      'Use an ID that this ad account has. A receipt exists when its action is completed: try ' +
      'again later.',
    messages: [
      'There is no such action. List the actions to find its ID.',
      'There is no such batch. …',
      'This action has no receipt yet: …',
    ],
  },
  method_not_allowed: {
    status: 405,
    title: 'The path exists for other methods',
    advice: 'Use a method that the Allow header names.',
    messages: ['… is not allowed here; use …'],
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    advice: 'Send the whole request within 30 seconds. Send the same event again.',
    messages: ['The request did not arrive in time.'],
  },
  nothing_pending: {
    status: 409,
    title: 'The proposal has no pending action',
    advice: 'Read the proposal again: it was decided, canceled, executed or has expired.',
    messages: ['Nothing is pending: …. Read the proposal again.'],
  },
  test_mode_off: {
    status: 422,
    title: 'Test mode is off',
    advice: 'Turn test mode on, then send the test purchase again.',
    messages: ['Test mode is off. …'],
  },
  address_request_limit: {
    status: 429,
    title: 'One address sends too many requests to the sandbox or as an agent',
    advice:
      'Wait for Retry-After. An operator can raise SIGNALBOX_SANDBOX_RATE_PER_MINUTE and ' +
      'SIGNALBOX_AGENT_RATE_PER_MINUTE.',
    messages: [
      'Too many requests to the sandbox from this address; wait, then send the same request again.',
      'Too many agent requests from this address; wait, then send the same request again.',
    ],
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    advice: 'Send fewer cookies and shorter headers.',
    messages: ['The request headers are too large.'],
  },
  internal_error: {
    status: 500,
    title: 'The service has a fault',
    advice: 'Send the same event again, and report the Request-Id.',
    messages: ['Something went wrong on our side; the request id helps us find it.'],
  },
  platform_refused: {
    status: 502,
    title: 'The platform did not accept the test purchase',
    advice: 'Read the event that the answer names: its delivery explains the refusal.',
  },
  store_unavailable: {
    status: 503,
    title: 'The store is unavailable',
    advice:
      'Nothing was stored. Wait for Retry-After and send the same event again. An operator ' +
      'looks at /readyz.',
    messages: ['The store is unavailable; try again.'],
  },
  store_full: {
    status: 503,
    title: 'The disk of the store is full',
    advice: 'Keep the events and send them again later. An operator frees disk space.',
    messages: ['The disk of the store is full, so nothing can be stored; try again later.'],
  },
  overloaded: {
    status: 503,
    title: 'Too many requests at once',
    advice: 'Nothing was stored. Wait for Retry-After and send the same event again.',
    messages: [
      'Too many requests at once; wait, then send the same request again.',
      'Too many events are waiting; try again.',
    ],
  },
  erasure_incomplete: {
    status: 503,
    title: 'An erasure or a withdrawal is not complete yet',
    advice: 'Repeat the request until it is answered with 200. What was deleted stays deleted.',
    messages: [
      'More events remain to be erased; try again.',
      'Deliveries of this person are being written; try again.',
      'Events are being stored too slowly to complete the erasure; try again.',
      'Events are being stored too slowly to complete the withdrawal; try again.',
    ],
  },
  no_platform: {
    status: 503,
    title: 'The process has no platform',
    advice: 'An operator sets SIGNALBOX_PLATFORM_URL. Nothing was sent.',
    messages: ['This process has no platform configured. …'],
  },
} as const satisfies Record<string, ApiRefusal>

export type ApiRefusalName = RefusalRule | keyof typeof OTHER_REFUSALS

/** Every refusal of the documented operations, by its anchor on the page of refusals. */
export const API_REFUSALS: Readonly<Record<ApiRefusalName, ApiRefusal>> = {
  ...addRuleDetails(),
  ...OTHER_REFUSALS,
}

function addRuleDetails(): Record<RefusalRule, ApiRefusal> {
  const rules: Record<RefusalRule, ApiRefusal> = { ...REFUSAL_RULES }
  for (const name of keysOf(REFUSAL_RULES)) {
    rules[name] = { ...REFUSAL_RULES[name], ...RULE_DETAILS[name] }
  }
  return rules
}
