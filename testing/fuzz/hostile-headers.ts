import fc from 'fast-check'
import { CANARY, EVENT_IDS } from './realistic-values.ts'

/** Names and values. A list is one line per element. */
export type HeaderLines = Record<string, string | string[]>

export const METHODS = [
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'SEARCH'],
  ...['PROPFIND', 'PURGE', 'LOCK', 'M-SEARCH'],
]

export const hostileMethods = fc.constantFrom(...METHODS)

/** The forms in which a caller sends its credential, correct or not. */
export const CREDENTIALS = [
  ...([
    'own',
    'publishable',
    'publishable_query',
    'sandbox',
    'agent',
    'execution',
    'none',
    'garbage',
    'unknown',
  ] as const),
  ...(['revoked', 'second', 'second_publishable', 'forwarding', 'basic', 'in_query'] as const),
  ...(['own_lower_scheme', 'own_cut', 'own_twice', 'sandbox_changed', 'non_ascii'] as const),
] as const
export type Credential = (typeof CREDENTIALS)[number]

export const hostileCredentials: fc.Arbitrary<Credential> = fc.constantFrom(...CREDENTIALS)

const id = EVENT_IDS[0] as string
const IDEMPOTENCY_KEYS = [
  ...[id, `"${id}"`, `"${id}`, `${id}"`, `"${id}\\"`, '""', '', ' ', 'a, b', '"a", "b"', '.', '..'],
  ...[
    '%2F',
    'x'.repeat(128),
    'x'.repeat(129),
    'é'.repeat(128),
    '\u{1F600}'.repeat(129),
    '\t',
    'a\tb',
  ],
  ...['x'.repeat(6_000), '"a\\\\b"', 'schlüssel', '鍵', "' or 1=1 --", '__proto__', 'a/b?c#d'],
]

const ORIGINS = [
  ...['https://shop.example', 'https://SHOP.example', 'https://shop.example:443', 'null', '', '*'],
  ...['https://evil.example', 'https://shop.example.evil.example', 'http://[::1', 'shop.example'],
  ...['https://shop.example https://evil.example', 'x'.repeat(3_000)],
]

const FORWARDED = [
  ...[
    CANARY.ipAddress,
    `${CANARY.ipAddress}, 127.0.0.1`,
    '127.0.0.1',
    '::1',
    '[::1]:80',
    'unknown',
  ],
  ...['1.2.3.4.5', '::ffff:45.83.91.17', 'fe80::1%eth0', ',,,', '', '999.1.1.1', '1,'.repeat(500)],
]

const TYPES = [
  ...['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=utf-16'],
  ...['application/json; charset="utf-8', 'application/json; charset=latin1', 'text/plain', ''],
  ...['text/plain;charset=UTF-8', 'text/json', 'application/jsonp', 'application/json, text/plain'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'json', '*/*', '/'],
  ...['application/vnd.api+json', 'application/json;', 'application/json; a=b; a=c', 'é/é'],
]

const SIGNALBOX = {
  'x-signalbox-client-ip': fc.constantFrom(CANARY.ipAddress, '', 'x', '::1'),
  'x-signalbox-client-user-agent': fc.constantFrom(CANARY.userAgent, '', 'é'),
  'x-signalbox-forwarded-at': fc.constantFrom(
    '1795262400',
    '0',
    '',
    '-1',
    '1e9',
    'x',
    '9'.repeat(20),
  ),
  'x-signalbox-forwarding-signature': fc.constantFrom('0'.repeat(64), 'F'.repeat(64), '', 'x'),
}

const ETAGS = ['*', '""', 'W/"x"', '"a", "b"', '"', 'x'.repeat(3_000)]

/** Any of these lines; most requests have only a few. */
export const hostileHeaders: fc.Arbitrary<HeaderLines> = fc.oneof(
  someOf({ 'idempotency-key': values(IDEMPOTENCY_KEYS) }),
  someOf({ origin: values(ORIGINS) }),
  someOf({ 'content-type': values(TYPES) }),
  someOf({ 'x-forwarded-for': values(FORWARDED), forwarded: values(FORWARDED) }),
  someOf(SIGNALBOX),
  someOf({
    accept: values(['text/html', 'application/xml;q=1', '', 'garbage', '*/*;q=0']),
    'accept-encoding': values(['gzip', 'br', 'identity;q=0', '*;q=0']),
    'content-encoding': values(['identity', 'gzip', 'br', 'identity, gzip', '', 'x']),
    'if-none-match': values(ETAGS),
    'if-match': values(ETAGS),
    range: values(['bytes=0-10', 'bytes=-1', 'x']),
    expect: values(['100-continue', 'banana', '']),
    'transfer-encoding': fc.constant('chunked'),
    upgrade: values(['websocket', 'h2c']),
    // Node's client sends only one Host; `http/` tests requests with two.
    host: fc.constantFrom('evil.example', 'evil.example:99999', '', '[::1]', 'a b', 'a/b', 'a@b'),
  }),
  someOf({
    cookie: values([`session=${CANARY.email}`, '__proto__=1', ';;;', '='.repeat(1_000)]),
    referer: values([`https://shop.example/?email=${CANARY.email}`]),
    'user-agent': values([CANARY.userAgent, '', 'é'.repeat(500)]),
    'x-http-method-override': values(['DELETE', 'PATCH', 'x']),
    'x-forwarded-host': values(['evil.example', '']),
    'x-forwarded-proto': values(['https', 'javascript']),
    'x-original-url': values(['/livez', '/api/v1/sandbox']),
    'request-id': values(['req_0', '\t', CANARY.email]),
    'access-control-request-method': values(['POST', 'DELETE']),
    'access-control-request-headers': values(['authorization', '*']),
    'sec-gpc': values(['1', '0', 'x']),
  }),
)

/** Repeats a line occasionally. */
function values(texts: readonly string[]): fc.Arbitrary<string | string[]> {
  const one = fc.constantFrom(...texts)
  return fc.oneof(
    { weight: 9, arbitrary: one },
    { weight: 1, arbitrary: fc.tuple(one, one).map(pair => [...pair]) },
  )
}

function someOf(lines: Record<string, fc.Arbitrary<string | string[]>>): fc.Arbitrary<HeaderLines> {
  return fc.record(lines, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<HeaderLines>
}
