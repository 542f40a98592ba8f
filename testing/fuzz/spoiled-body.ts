import fc from 'fast-check'
import { CANARY } from './canaries.ts'
import type { Schema } from './document-operations.ts'
import { edgeValues, memberPlaces } from './edge-values.ts'
import { rawNumber } from './json-text.ts'

type Path = readonly (string | number)[]
type Change = (value: unknown) => unknown

/** Bodies with one thing wrong, or just still right: what is off by one is found by no other. */
export function spoiledBody(valid: fc.Arbitrary<unknown>, schema: Schema): fc.Arbitrary<unknown> {
  const anywhere = (change: fc.Arbitrary<Change>) =>
    fc.tuple(valid, fc.nat(), change).map(([body, place, apply]) => {
      const paths = pathsIn(body)
      return changedAt(body, paths[place % paths.length] ?? [], apply)
    })
  const edges = memberPlaces(schema).flatMap(({ path, schema: member }) =>
    edgeValues(member).map(value => ({ path, value })),
  )
  const atEdges = fc
    .tuple(valid, fc.constantFrom(...edges, ...UNDECLARED))
    .map(([body, { path, value }]) => withValueAt(body, path, value))
  return fc.oneof(
    { weight: 4, arbitrary: edges.length > 0 ? atEdges : valid },
    { weight: 3, arbitrary: anywhere(oddValues.map(value => () => value)) },
    { weight: 1, arbitrary: anywhere(fc.constant(() => undefined)) },
    { weight: 1, arbitrary: anywhere(strangeMembers) },
    { weight: 1, arbitrary: anywhere(nestings) },
    { weight: 1, arbitrary: anywhere(fc.constant(value => [value])) },
  )
}

const { email } = CANARY
/** Members without a meaning. Not in `contents`, which are kept as they come (SECURITY.md). */
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
/** Among them a time in milliseconds. */
const WRONG_KINDS = [0, -1, 1.5, 2 ** 31, 2 ** 53, 1_795_262_400_000, null, true, [], {}, [[]]]

const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...ODD_CHARACTERS, ...ODD_WORDS),
  fc.constantFrom(...ODD_NUMBERS.map(rawNumber)),
  fc.constantFrom(...WRONG_KINDS),
  fc.constantFrom(51, 5_000).map(size => Array(size).fill(0)),
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
)

const STRANGE_NAMES = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '', ' ', '0', '\0'],
  ...['a.b', 'a/b', 'a~b', '\ud83d', 'x'.repeat(300), 'then', 'toJSON', '$ref'],
]

/** Members that nobody declared, where the value is an object. */
const strangeMembers = fc
  .array(fc.tuple(fc.constantFrom(...STRANGE_NAMES), oddValues), { minLength: 1, maxLength: 3 })
  .map((added): Change => {
    return value =>
      isObject(value) ? Object.fromEntries([...Object.entries(value), ...added]) : value
  })

/** Around 32 levels, which the service still reads. */
const nestings = fc.tuple(fc.integer({ min: 28, max: 35 }), fc.boolean()).map(
  ([levels, inArrays]): Change =>
    () => {
      let nested: unknown = null
      for (let level = 0; level < levels; level += 1) nested = inArrays ? [nested] : { a: nested }
      return nested
    },
)

/** The value itself, and everything in it. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const inside = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [path, ...inside.flatMap(([name, member]) => pathsIn(member, [...path, name]))]
}

function changedAt(value: unknown, [first, ...rest]: Path, change: Change): unknown {
  if (first === undefined) return change(value)
  const inner = (name: string | number, member: unknown) =>
    name === first ? changedAt(member, rest, change) : member
  if (Array.isArray(value)) return value.map((item, at) => inner(at, item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, inner(name, member)]),
  )
}

/** Objects on the way are made where they are missing. */
function withValueAt(value: unknown, [first, ...rest]: string[], put: unknown): unknown {
  if (first === undefined) return put
  const members = isObject(value) ? value : {}
  return { ...members, [first]: withValueAt(members[first], rest, put) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
