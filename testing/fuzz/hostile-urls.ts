import fc from 'fast-check'
import { CANARY } from './realistic-values.ts'

/** Placeholders in a path for IDs that are known only when the request is sent. */
const OWN_DESTINATION_PLACEHOLDER = '{{own_destination}}'
export const SECOND_DESTINATION_PLACEHOLDER = '{{second_destination}}'

/** By the name of the path parameter. */
export const OWN_ID_PLACEHOLDERS: Record<string, string> = {
  destination: OWN_DESTINATION_PLACEHOLDER,
  workspace: '{{own_workspace}}',
  action: '{{own_action}}',
  batch: '{{own_batch}}',
}

const encodedEmail = encodeURIComponent(CANARY.email)

/** Values for an ID in a path. */
export const hostileSegments = fc.oneof(
  fc.constantFrom(
    ...[
      '%00',
      '%2F',
      '%2f..%2f',
      '%2e%2e',
      '.',
      '..',
      '%',
      '%z',
      '%zz',
      '%c0%af',
      '%ff',
      '%ed%a0%80',
    ],
    ...['%F0%9F%98', '%25', '%2525', '%0d%0aSet-Cookie:a=b', 'x'.repeat(128), 'x'.repeat(1_537)],
    ...[
      '%F0%9F%98%80'.repeat(128),
      '%F0%9F%98%80'.repeat(129),
      '__proto__',
      'constructor',
      '0',
      '-1',
    ],
    ...["'%20or%201=1--", '{id}', '*', ':event', '[]', '%5b%5d', 'é', '\xff', encodedEmail, ';a=b'],
    ...[
      '1e999',
      '9'.repeat(40),
      '00000000-0000-0000-0000-000000000000',
      SECOND_DESTINATION_PLACEHOLDER,
    ],
    '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11'.toUpperCase(),
  ),
  fc.uuid(),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).map(percentEncoded),
  fc.string({ unit: fc.constantFrom(...'%/.aF0?#;:@\\&='), minLength: 1 }),
)

type PathChange = (path: string) => string

/** Spellings of a path that another program might treat as equal. */
export const pathTricks = fc.constantFrom<PathChange>(
  path => `${path}/`,
  path => `/${path}`,
  path => path.replace('/api', '//api'),
  path => path.replace('/v1', '/v1/.'),
  path => path.replace('/v1', '/v1/../v1'),
  path => path.replace('/v1', '/%76%31'),
  path => path.replace('events', '%65vents'),
  path => path.replace('/v1/', '/v1%2F'),
  path => path.toUpperCase(),
  path => path.replaceAll(/(?<!^)\//g, '\\'),
  path => `${path};a=b`,
  path => `${path}#fragment`,
  path => `${path}%00`,
  path => `${path}%20`,
  path => `${path}.json`,
  path => `http://evil.example${path}`,
  path => `HTTPS://evil.example:99999${path}`,
  path => path.replace('/api/v1', ''),
  () => '*',
  () => '/',
  () => '//',
  () => '/api/v1/events/x/../../livez',
  () => '/.env',
  () => '/metrics',
)

const QUERY_VALUES = [
  ...[
    '',
    '0',
    '-1',
    '1',
    '1.5',
    '1e3',
    '0x10',
    '+1',
    '%2B1',
    '%201',
    '9'.repeat(15),
    '9'.repeat(40),
  ],
  ...[
    'NaN',
    'Infinity',
    'null',
    'true',
    '%00',
    '%',
    '%zz',
    '%ff',
    '%D9%A1',
    '2026-02-30',
    '2026-2-1',
  ],
  ...[
    '2026-11-20T00:00:00Z',
    '0000-00-00',
    '9999-12-31',
    "1'%20or%20'1'='1",
    '<script>',
    '[]',
    '{}',
  ],
  ...['x'.repeat(1_500), encodedEmail, '\xe9'],
]

/** Queries with documented and unknown names, in the forms that parsers turn into lists. */
export function hostileQueries(names: readonly string[]): fc.Arbitrary<string> {
  const strange = ['key', 'email', '__proto__', 'constructor', 'hasOwnProperty', '', 'x', '%00']
  const name = fc.constantFrom(...names, ...names, ...strange)
  const form = fc.constantFrom('', '', '', '[]', '[0]', '[a]', '[__proto__][x]', '.x')
  const pair = fc
    .tuple(name, form, fc.constantFrom(...QUERY_VALUES), fc.boolean())
    .map(([left, brackets, value, hasEquals]) =>
      hasEquals || value !== '' ? `${left}${brackets}=${value}` : `${left}${brackets}`,
    )
  return fc.oneof(
    { weight: 12, arbitrary: fc.array(pair, { minLength: 1, maxLength: 3 }).map(joinPairs) },
    { weight: 1, arbitrary: fc.tuple(pair, fc.constantFrom(400, 900)).map(repeatPair) },
    { weight: 1, arbitrary: fc.constantFrom('?', '&', '&&=&', '#', '=', '??a=b', ';') },
  )
}

function joinPairs(pairs: string[]): string {
  return pairs.join('&')
}

/** The line and headers of a request may have 16 KiB. */
function repeatPair([pair, count]: [string, number]): string {
  return Array(count).fill(pair).join('&').slice(0, 6_000)
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
