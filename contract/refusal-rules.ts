/** What a refusal of POST /events says about its cause, and what to do about it. */
export interface RefusalRuleText {
  /** The status of the refusal. */
  status: 400 | 401 | 403 | 413 | 415 | 422 | 429
  title: string
  /** What to change so that the event is accepted. */
  advice: string
}

/**
 * Every cause for which POST /events refuses an event with a 4xx status. The documentation has one
 * anchor for each name, and refusals are counted under these names, so a name never changes.
 */
export const REFUSAL_RULES = {
  unreadable_body: {
    status: 400,
    title: 'The body is not readable JSON',
    advice: 'Send one UTF-8 JSON object that names no member twice.',
  },
  key_revoked: {
    status: 401,
    title: 'The key is revoked',
    advice: 'Replace it in the sender with a live tracker secret or publishable key.',
  },
  key_of_another_kind: {
    status: 401,
    title: 'The key is of another kind',
    advice:
      'Send events with a tracker secret (sbx_sk_) in the Authorization header, or with a ' +
      'publishable key (sbx_pk_) from a page. Forwarding secrets only sign requests.',
  },
  key_not_accepted: {
    status: 401,
    title: 'The key was not accepted',
    advice:
      'Send the key once, as a bearer token. Only a publishable key may be in the URL. A new key ' +
      'works after half a second.',
  },
  forwarding_signature: {
    status: 401,
    title: 'The forwarding signature is not valid',
    advice:
      "Compare the forwarder's secret and clock, and forward the body byte for byte. Sign each " +
      'request once.',
  },
  secret_in_browser: {
    status: 403,
    title: 'A tracker secret came from a browser',
    advice:
      'Revoke the secret, because every visitor can read it. Send from your server, or use a ' +
      'publishable key in the page.',
  },
  origin_not_registered: {
    status: 403,
    title: 'The page has an origin that the publishable key does not name',
    advice: 'Issue a publishable key that names the origin of the page.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    advice: 'Send one event of at most 64 KiB. Leave out optional data such as custom properties.',
  },
  wrong_content_type: {
    status: 415,
    title: 'The body has another content type',
    advice: 'Send application/json without a content coding.',
  },
  required: {
    status: 422,
    title: 'A required field is missing',
    advice: 'Send the field.',
  },
  wrong_type: {
    status: 422,
    title: 'A field has the wrong type',
    advice: 'Send the type that the API reference names for the field.',
  },
  empty: {
    status: 422,
    title: 'A field is empty',
    advice: 'Send a value, or leave the field out.',
  },
  too_long: {
    status: 422,
    title: 'A text is too long',
    advice: 'Shorten it to the limit of the field.',
  },
  too_large: {
    status: 422,
    title: 'A field has too many bytes',
    advice: 'Send fewer or shorter members.',
  },
  too_deep: {
    status: 422,
    title: 'A field is nested too deeply',
    advice: 'Send flatter data.',
  },
  too_few_items: {
    status: 422,
    title: 'A list has too few items',
    advice: 'Send all items that the platform needs.',
  },
  too_many_items: {
    status: 422,
    title: 'A list or object has too many members',
    advice: 'Send at most as many as the field allows.',
  },
  duplicate_items: {
    status: 422,
    title: 'A list has the same item twice',
    advice: 'Send each item once.',
  },
  unknown_value: {
    status: 422,
    title: 'A field has a value that is not one of its values',
    advice: 'Send one of the values that the API reference names for the field.',
  },
  unknown_member: {
    status: 422,
    title: 'An object has a member that is not known',
    advice: 'Remove the member.',
  },
  out_of_range: {
    status: 422,
    title: 'A number is out of range',
    advice: 'Send a number within the limits of the field.',
  },
  invalid_format: {
    status: 422,
    title: 'A field has an invalid format',
    advice: 'Send the format that the API reference names for the field.',
  },
  invalid_text: {
    status: 422,
    title: 'A text is not valid Unicode',
    advice: 'Send text without NUL and without lone surrogates.',
  },
  invalid_value: {
    status: 422,
    title: 'A field is invalid',
    advice: 'Read the sentence in the answer: it says what to change.',
  },
  invalid_event_id: {
    status: 422,
    title: 'The event ID is invalid',
    advice:
      'Send up to 128 characters without control characters, in event_id or in the ' +
      'Idempotency-Key header.',
  },
  event_ids_differ: {
    status: 422,
    title: 'event_id and Idempotency-Key differ',
    advice: 'Send the same ID in both, or only one of them.',
  },
  identifier_not_allowed: {
    status: 422,
    title: 'An ID or a name holds an email address or a phone number',
    advice: 'Use an ID that names no person. Send identifiers in user_data.',
  },
  reserved_event_name: {
    status: 422,
    title: 'A reserved event name is misspelled, or used for a conversion',
    advice: 'Send consent_withdrawal exactly so, and signal_verification on legitimate interest.',
  },
  event_time_format: {
    status: 422,
    title: 'The event time is not readable',
    advice: 'Send Unix seconds, or ISO 8601 with an offset.',
  },
  event_time_in_milliseconds: {
    status: 422,
    title: 'The event time is in milliseconds',
    advice: 'Divide it by 1,000: Unix time is in seconds.',
  },
  event_time_in_future: {
    status: 422,
    title: 'The event time is in the future',
    advice: "Set the sender's clock, and send the time in UTC or with its offset.",
  },
  event_time_before_1970: {
    status: 422,
    title: 'The event time is before 1970',
    advice: 'Send the time at which the event happened.',
  },
  consent_denied: {
    status: 422,
    title: 'The consent that was sent denies advertising',
    advice:
      'Send the basis consent only when the visitor granted it. Do not send the event otherwise.',
  },
  revenue_without_consent: {
    status: 422,
    title: 'An event on legitimate interest carries revenue',
    advice: 'Send revenue with the basis consent.',
  },
  identity_without_consent: {
    status: 422,
    title: 'An event on legitimate interest carries identity',
    advice: 'Send identity with the basis consent.',
  },
  platform_unknown: {
    status: 422,
    title: 'A withdrawal of consent names an unknown platform',
    advice: 'Name platforms as in the type of destinations, or leave the member out for all.',
  },
  withdrawal_names_no_one: {
    status: 422,
    title: 'A withdrawal of consent names no person',
    advice: 'Send visitor_id, or an email address, phone number or external ID in user_data.',
  },
  address_from_page: {
    status: 422,
    title: 'A page sent an address or a user agent',
    advice: 'Leave both out with a publishable key: a trusted proxy or a forwarder supplies them.',
  },
  currency_required: {
    status: 422,
    title: 'A purchase has a value without a currency',
    advice: 'Send value_data.currency.',
  },
  unknown_currency: {
    status: 422,
    title: 'The currency does not exist',
    advice: 'Send the three letters of an ISO 4217 currency that is in use.',
  },
  number_too_large: {
    status: 422,
    title: 'A number is too large to keep all its digits',
    advice: 'Send it as text.',
  },
  reserved_name: {
    status: 422,
    title: 'A custom property has the name of a standard member',
    advice: 'Send the member in value_data itself, or rename the property.',
  },
  tracker_rate_limit: {
    status: 429,
    title: 'The tracker sends too many requests',
    advice:
      'Wait for Retry-After and send the same event again. An operator can raise ' +
      'SIGNALBOX_TRACKER_RATE_PER_SECOND.',
  },
  key_rate_limit: {
    status: 429,
    title: 'A publishable key sends too many events',
    advice:
      'Wait for Retry-After and send the same event again. An operator can raise ' +
      'SIGNALBOX_PUBLISHABLE_RATE_PER_SECOND.',
  },
  address_rate_limit: {
    status: 429,
    title: 'One address sends too many events',
    advice:
      'Wait for Retry-After and send the same event again. Behind a proxy, set ' +
      'SIGNALBOX_TRUSTED_PROXIES, so that visitors are told apart.',
  },
  failed_authentication_limit: {
    status: 429,
    title: 'Too many requests from one address had no valid credential',
    advice: 'Check the key of the sender, then wait a minute.',
  },
  other: {
    status: 422,
    title: 'Other causes',
    advice:
      'More causes than are kept for one day. Read the answer of a request, or look its ' +
      'Request-Id up in the log.',
  },
} as const satisfies Record<string, RefusalRuleText>

export type RefusalRule = keyof typeof REFUSAL_RULES

export function isRefusalRule(name: string): name is RefusalRule {
  return Object.hasOwn(REFUSAL_RULES, name)
}
