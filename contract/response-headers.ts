/** The documented headers; every response that lists a header contains it. */
export const RESPONSE_HEADERS = {
  'Request-Id': {
    description: 'Identifies this request. Quote it when you contact support.',
    required: true,
    schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
  },
  Location: {
    description: 'Absolute URL of the event. Read it to see the status of its deliveries.',
    required: true,
    schema: { type: 'string', format: 'uri' },
  },
  'Content-Location': {
    description:
      'Absolute URL of this event. `space` says whether the tracker secret or a publishable key ' +
      'sent it; absent for events from before the two were kept apart.',
    required: true,
    schema: { type: 'string', format: 'uri' },
  },
  'Idempotency-Key': {
    description: 'The ID of the event.',
    required: true,
    schema: { type: 'string', minLength: 1 },
  },
  'WWW-Authenticate': {
    description:
      'The required scheme. For agents with resource_metadata, where to start (RFC 9728), the ' +
      'scope, and error="invalid_token" if the request had a token (RFC 6750).',
    required: true,
    schema: {
      type: 'string',
      pattern: '^Bearer( resource_metadata="[^"]+"(, error="invalid_token")?, scope="[^"]+")?$',
    },
  },
  'Access-Control-Allow-Origin': {
    description: 'A page of any origin may read the response.',
    required: true,
    schema: { type: 'string', const: '*' },
  },
  'Retry-After': {
    description: 'Seconds to wait before you retry the request.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Policy': {
    description:
      'Requests (q) in so many seconds (w), as draft-ietf-httpapi-ratelimit-headers-11 writes ' +
      'it. Absent where the limit is switched off.',
    required: false,
    schema: { type: 'string', pattern: '^"[a-z_]+";q=\\d+;w=\\d+$' },
    example: '"tracker";q=2000;w=2',
  },
  RateLimit: {
    description:
      'Requests that are left (r); spread over so many seconds (t) they never run out. Absent ' +
      'where the limit is switched off.',
    required: false,
    schema: { type: 'string', pattern: '^"[a-z_]+";r=\\d+;t=\\d+$' },
    example: '"tracker";r=1999;t=2',
  },
  'X-Should-Retry': {
    description: 'Do not retry: the same request would get the same response.',
    required: true,
    schema: { type: 'string', const: 'false' },
  },
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

/** The headers of one response: those of every response, of its status, and of its operation. */
export function responseHeaderNames(
  status: number,
  operation: { responseHeaders: readonly ResponseHeader[]; isOpenToBrowsers?: boolean },
): ResponseHeader[] {
  const names: ResponseHeader[] = ['Request-Id']
  if (status < 300) names.push(...operation.responseHeaders)
  if (operation.isOpenToBrowsers) names.push('Access-Control-Allow-Origin')
  if (status === 401) names.push('WWW-Authenticate')
  if (isNonRetryable(status)) names.push('X-Should-Retry')
  if (status === 429 || status === 503) names.push('Retry-After')
  if (isRateLimited(status)) names.push('RateLimit-Policy', 'RateLimit')
  return names
}

/** The same request would get the same response. */
function isNonRetryable(status: number): boolean {
  return (status >= 400 && status < 500 && status !== 429) || status === 502
}

const RATE_LIMITED_ERRORS = [404, 413, 415, 422, 429, 502]

/** Statuses returned only after the request was counted; a 400 may come before. */
function isRateLimited(status: number): boolean {
  return status < 300 || RATE_LIMITED_ERRORS.includes(status)
}
