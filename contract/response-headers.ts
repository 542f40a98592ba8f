/** The headers that the document names; each is present on every answer that lists it. */
export const RESPONSE_HEADERS = {
  'Request-Id': {
    description: 'Names this request; quote it when you ask for help.',
    required: true,
    schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
  },
  Location: {
    description: 'Absolute URL of the event; read it to see what became of its deliveries.',
    required: true,
    schema: { type: 'string', format: 'uri' },
  },
  'Idempotency-Key': {
    description: 'The id of the event, wherever it came from.',
    required: true,
    schema: { type: 'string', minLength: 1 },
  },
  'WWW-Authenticate': {
    description:
      'The scheme that is asked for. For agents with resource_metadata, where to begin (RFC 9728).',
    required: true,
    schema: { type: 'string', pattern: '^Bearer( resource_metadata="[^"]+")?$' },
  },
  'Access-Control-Allow-Origin': {
    description: 'A page of any origin may read the answer.',
    required: true,
    schema: { type: 'string', const: '*' },
  },
  'Retry-After': {
    description: 'Seconds to wait before the same request is sent again.',
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
    description: 'The same request would get the same answer: do not send it again.',
    required: true,
    schema: { type: 'string', const: 'false' },
  },
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

/** The headers of one answer: those of every answer, of its status, and of its operation. */
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

/** The same request would get the same answer. */
function isNonRetryable(status: number): boolean {
  return (status >= 400 && status < 500 && status !== 429) || status === 502
}

const RATE_LIMITED_ERRORS = [404, 413, 415, 422, 429, 502]

/** What is always answered after the request was counted; a 400 may be answered before. */
function isRateLimited(status: number): boolean {
  return status < 300 || RATE_LIMITED_ERRORS.includes(status)
}
