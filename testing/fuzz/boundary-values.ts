import { resolveReference, type Schema } from './openapi-operations.ts'

/** A member of a body, with the path of names to it. */
interface SchemaMember {
  path: string[]
  schema: Schema
}

const DEPTH_MAX = 6

/** Every member that a body of the schema may have, in any of its variants. */
export function listMembers(given: Schema, path: string[] = []): SchemaMember[] {
  const schema = resolveReference(given)
  if (path.length > DEPTH_MAX) return []
  const inVariants = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].flatMap(variant =>
    listMembers(variant, path),
  )
  const own = Object.entries<Schema>(schema.properties ?? {}).flatMap(([name, member]) => [
    { path: [...path, name], schema: member },
    ...listMembers(member, [...path, name]),
  ])
  return [...inVariants, ...own]
}

/** Values at the limits of a schema and one beyond, in units of different sizes. */
export function boundaryValues(given: Schema): unknown[] {
  const schema = resolveReference(given)
  const variants: Schema[] = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  return [
    ...textBoundaries(schema),
    ...numberBoundaries(schema),
    ...arrayBoundaries(schema),
    ...enumBoundaries(schema),
    ...variants.flatMap(boundaryValues),
  ]
}

/** Text that a database cannot store, and text that looks empty. */
const ODD_TEXTS = ['', ' ', '\t', 'a\0b', '\ud83d', 'x\udc00', '\u202e', '.', '..']

/** Characters of one or two UTF-16 units, and of one to four bytes. */
function textBoundaries({ type, minLength, maxLength }: Schema): unknown[] {
  if (![type].flat().includes('string')) return []
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter(size => size >= 0)
  const units = ['x', 'é', '\u{1F600}']
  return [...ODD_TEXTS, ...lengths.flatMap(size => units.map(unit => unit.repeat(size)))]
}

function numberBoundaries({ type, minimum, maximum }: Schema): unknown[] {
  if (![type].flat().some(name => name === 'integer' || name === 'number')) return []
  const limits = [minimum, maximum].filter(limit => limit !== undefined)
  const around = limits.flatMap((limit: number) => [limit - 1, limit, limit + 1, limit + 0.5])
  const spellings = limits.map((limit: number) => rawNumber(`${limit}.0e0`))
  const beyond = ['-0', '1e308', '1e999', '9007199254740993', '1'.repeat(30)].map(rawNumber)
  return [...around, ...spellings, ...beyond]
}

function arrayBoundaries({ type, maxItems, items = {} }: Schema): unknown[] {
  if (![type].flat().includes('array')) return []
  const item = [resolveReference(items).type].flat()[0] === 'integer' ? 1 : {}
  const sizes = maxItems === undefined ? [0, 1_000] : [0, maxItems, maxItems + 1]
  return sizes.map(size => Array(size).fill(item))
}

/** Near misses of the allowed words. `$` also matches before a final line feed. */
function enumBoundaries(schema: Schema): unknown[] {
  const words: unknown[] = schema.enum ?? ('const' in schema ? [schema.const] : [])
  const near = words
    .filter(word => typeof word === 'string')
    .flatMap(word => [word.toUpperCase(), `${word} `, `${word}\0`, [word]])
  return schema.pattern === undefined ? near : [...near, '\n', ...PATTERN_BOUNDARIES]
}

const PATTERN_BOUNDARIES = [
  '1.0\n',
  'EUR\n',
  '00',
  '+1',
  '1.',
  '.5',
  '1,5',
  '-0',
  '1e3',
  '١٢٣',
  'ＥＵＲ',
]

const NUMBER_MARKER = '@@number:'

/** A number that JavaScript cannot represent, or would serialize differently. */
export function rawNumber(digits: string): string {
  return `${NUMBER_MARKER}${digits}@@`
}

/** JSON text in which each `rawNumber` is replaced by its number. */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.replaceAll(/"@@number:([^"@]*)@@"/g, '$1')
}
