import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { boundaryValues, listMembers, rawNumber } from './boundary-values.ts'
import type { Schema } from './openapi-operations.ts'
import { CANARY } from './realistic-values.ts'

type Path = readonly (string | number)[]
type Change = (value: unknown) => unknown

/** Bodies with a single error, or a value at a limit, which find off-by-one errors. */
export function mutateBody(valid: fc.Arbitrary<unknown>, schema: Schema): fc.Arbitrary<unknown> {
  const anywhere = (change: fc.Arbitrary<Change>) =>
    fc.tuple(valid, fc.nat(), change).map(([body, place, apply]) => {
      const paths = listPaths(body)
      return changeAt(body, paths[place % paths.length] ?? [], apply)
    })
  const edges = listMembers(schema).flatMap(({ path, schema: member }) =>
    boundaryValues(member).map(value => ({ path, value })),
  )
  const atEdges = fc
    .tuple(valid, fc.constantFrom(...edges, ...UNDECLARED))
    .map(([body, { path, value }]) => setAt(body, path, value))
  return fc.oneof(
    { weight: 4, arbitrary: edges.length > 0 ? atEdges : valid },
    { weight: 3, arbitrary: anywhere(oddValues.map(value => () => value)) },
    { weight: 1, arbitrary: anywhere(fc.constant(() => undefined)) },
    { weight: 1, arbitrary: anywhere(unexpectedMembers) },
    { weight: 1, arbitrary: anywhere(nestings) },
    { weight: 1, arbitrary: anywhere(fc.constant(value => [value])) },
  )
}

const { email } = CANARY
/** Undeclared members. Not in `contents`, which are stored unchanged (SECURITY.md). */
const UNDECLARED = [
  { path: ['unknown'], value: 1 },
  { path: ['email'], value: email },
  { path: [email], value: { email } },
  { path: ['value_data', email], value: email },
]

const ODD_NUMBERS = ['-0', '1e308', '1e999', '-1e999', '1e-400', '9'.repeat(30), '1.0', '1E2']
const ODD_CHARACTERS = [
  ...['', ' ', '\0', 'a\0b', '\ud83d', 'x\udc00', '\u202e', '\ufeff', '\u2028', '\x7f', '\x1b[31m'],
  ...['e\u0301', 'ﬀ', 'İ', '١٢٣', '\u{10ffff}', '👨‍👩‍👧‍👦', 'ａｂｃ'],
]
const ODD_WORDS = [
  ...["' or 1=1 --", '$' + '{7*7}', '{{7*7}}', '../../etc/passwd', '<script>alert(1)</script>'],
  ...['__proto__', 'constructor', 'NaN', 'Infinity', '1e3', '0x10', 'null', 'undefined', 'true'],
  ...['.', '..', '%00', '%2F', '\\', '"', '\r\nSet-Cookie: a=b', 'x'.repeat(5_000)],
  ...['€'.repeat(5_000), '9'.repeat(400)],
]
/** Including a time in milliseconds. */
const WRONG_KINDS = [0, -1, 1.5, 2 ** 31, 2 ** 53, 1_795_262_400_000, null, true, [], {}, [[]]]

const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...ODD_CHARACTERS, ...ODD_WORDS),
  fc.constantFrom(...ODD_NUMBERS.map(rawNumber)),
  fc.constantFrom(...WRONG_KINDS),
  fc.constantFrom(51, 5_000).map(size => Array(size).fill(0)),
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
)

const UNEXPECTED_NAMES = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '', ' ', '0', '\0'],
  ...['a.b', 'a/b', 'a~b', '\ud83d', 'x'.repeat(300), 'then', 'toJSON', '$ref'],
]

/** Adds undeclared members to an object. */
const unexpectedMembers = fc
  .array(fc.tuple(fc.constantFrom(...UNEXPECTED_NAMES), oddValues), { minLength: 1, maxLength: 3 })
  .map((added): Change => {
    return value =>
      isObject(value) ? Object.fromEntries([...Object.entries(value), ...added]) : value
  })

/** About 32 levels, which is the limit of the service. */
const nestings = fc.tuple(fc.integer({ min: 28, max: 35 }), fc.boolean()).map(
  ([levels, inArrays]): Change =>
    () => {
      let nested: unknown = null
      for (let level = 0; level < levels; level += 1) nested = inArrays ? [nested] : { a: nested }
      return nested
    },
)

/** The value, and all nested values. */
function listPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const inside = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [path, ...inside.flatMap(([name, member]) => listPaths(member, [...path, name]))]
}

function changeAt(value: unknown, [first, ...rest]: Path, change: Change): unknown {
  if (first === undefined) return change(value)
  const inner = (name: string | number, member: unknown) =>
    name === first ? changeAt(member, rest, change) : member
  if (Array.isArray(value)) return value.map((item, at) => inner(at, item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, inner(name, member)]),
  )
}

/** Creates missing objects on the path. */
function setAt(value: unknown, [first, ...rest]: string[], put: unknown): unknown {
  if (first === undefined) return put
  const members = isObject(value) ? value : {}
  return { ...members, [first]: setAt(members[first], rest, put) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const BODY_BYTES_MAX = 65_536

/** Invalid bodies: not JSON, almost JSON, and JSON that parsers interpret differently. */
export function hostileBytes(validText: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc.oneof(
    fc.constantFrom(...INVALID_TEXTS.map(text => Buffer.from(text))),
    fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
    fc.tuple(validText, textChanges).map(([text, change]) => change(text)),
    fc.tuple(validText, fc.nat()).map(([text, at]) => Buffer.from(text).subarray(0, at % 400)),
    fc
      .tuple(validText, fc.nat(), fc.constantFrom(...BROKEN_BYTES))
      .map(([text, at, broken]) => overwriteBytes(Buffer.from(text), at, broken)),
    fc
      .tuple(validText, sizes, fc.boolean())
      .map(([text, size, inText]) => padToSize(text, size, inText)),
  )
}

const INVALID_TEXTS = [
  ...[
    '',
    ' ',
    '\n',
    '\0',
    'null',
    'true',
    '0',
    '-',
    '""',
    '[]',
    '{}',
    '[[]]',
    '{',
    '}',
    '"',
    '[,]',
  ],
  ...['{"a":1,}', "{'a':1}", '{a:1}', '{"a":NaN}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}'],
  ...['{}{}', '{} x', '// c\n{}', '{"a":/**/1}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\ud800"}'],
  ...['{"a":"\\u0000"}', '{"\\u0061":1,"a":2}', '{"__proto__":{"polluted":true}}', 'a=b&c=d'],
  ...['{"__proto__":1,"__proto__":2}', '{"constructor":{"prototype":{"polluted":true}}}', '<a/>'],
  ...['['.repeat(32) + ']'.repeat(32), '['.repeat(33) + ']'.repeat(33), '['.repeat(60_000)],
  ...['{"a":'.repeat(10_000), `{"a":${'1'.repeat(60_000)}}`, `{"a":1e${'9'.repeat(400)}}`],
  `{${Array.from({ length: 6_000 }, (_, at) => `"${at}":0`).join()}}`,
  `[${'"",'.repeat(20_000)}""]`,
]

/** Invalid UTF-8, overlong forms and surrogates in UTF-8, and control characters. */
const BROKEN_BYTES = [
  ...[[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88], [0x80]],
  ...[[0x00], [0x0a], [0x1f], [0x5c], [0x22], [0x7b], [0xef, 0xbb, 0xbf]],
]

type TextChange = (text: string) => Buffer

const textChanges = fc.constantFrom<TextChange>(
  text => Buffer.from(`\ufeff${text}`),
  text => Buffer.from(`${text}\0`),
  text => Buffer.from(`${text}${text}`),
  text => Buffer.from(text, 'utf16le'),
  text => Buffer.from(text.replace('a', 'ü'), 'latin1'),
  text => Buffer.from(JSON.stringify(text)),
  text => gzipSync(text),
  text => Buffer.from(text.replace('{', '{"event_name":"Other","consent_basis":"consent",')),
  text => Buffer.from(text.replace('{', '{"__proto__":{"event_name":"x"},"enabled":true,')),
  text => Buffer.from(text.replace(/\}$/, ',}')),
  text => Buffer.from(text.replaceAll('"', "'")),
  text => Buffer.from(text.replaceAll('e', '\\u0065')),
  text => Buffer.from(` \n\r\t${text.replaceAll(',', ' \n,\r\t')}`),
)

function overwriteBytes(bytes: Buffer, at: number, broken: number[]): Buffer {
  const start = at % (bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(broken), bytes.subarray(start + 1)])
}

const sizes = fc.constantFrom(BODY_BYTES_MAX - 1, BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 70_000)

/** Padded to this number of bytes, with trailing spaces or a long text member. */
function padToSize(text: string, bytes: number, inText: boolean): Buffer {
  const missing = Math.max(0, bytes - Buffer.byteLength(text))
  if (!inText || !/^\{"/.test(text)) return Buffer.from(text + ' '.repeat(missing))
  return Buffer.from(text.replace('{', `{"x":"${'x'.repeat(Math.max(0, missing - 7))}",`))
}
