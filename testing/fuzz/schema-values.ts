import fc from 'fast-check'
import { resolveReference, type Schema } from './openapi-operations.ts'

/** Typical values of a member with this name, which its schema cannot express. */
export type RealisticValues = Readonly<Record<string, fc.Arbitrary<unknown>>>

const DEPTH_MAX = 8
const INTEGER_MAX = 2_147_483_647
const ITEMS_MAX = 4

/**
 * Values that a schema of the document allows. Most members in `meanings` are taken from there,
 * because a valid request also needs meaningful values: no schema limits the time of an event.
 * Unknown keywords are ignored, so the value may be slightly invalid.
 */
export function arbitrarySchemaValue(
  given: Schema,
  meanings: RealisticValues = {},
  depth = 0,
): fc.Arbitrary<unknown> {
  const schema = resolveReference(given)
  if (depth > DEPTH_MAX) return fc.constant(null)
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const within = (inner: Schema) => arbitrarySchemaValue(inner, meanings, depth + 1)
  const variants: Schema[] | undefined = schema.oneOf ?? schema.anyOf
  if (variants) return fc.oneof(...variants.map(within))
  // A body that may be left out has members and no type: it may be null.
  const untyped = schema.properties ? ['object', 'null'] : 'anything'
  const types: string[] = [schema.type ?? untyped].flat()
  return fc.oneof(...types.map(type => valuesOfType(type, schema, { within, meanings })))
}

interface GeneratorContext {
  within: (inner: Schema) => fc.Arbitrary<unknown>
  meanings: RealisticValues
}

function valuesOfType(
  type: string,
  schema: Schema,
  context: GeneratorContext,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return texts(schema)
    case 'integer':
    case 'number':
      return fc.integer({
        min: schema.minimum ?? -INTEGER_MAX,
        max: schema.maximum ?? INTEGER_MAX,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(schema.items ? context.within(schema.items) : fc.jsonValue(), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(
          Math.min(schema.maxItems ?? ITEMS_MAX, ITEMS_MAX),
          schema.minItems ?? 0,
        ),
      })
    case 'object':
      return objects(schema, context)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** JSON Schema counts lengths in code points, and so does `unit`. */
function texts({ pattern, format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) {
    const isLong = (text: string) => [...text].length >= minLength && [...text].length <= maxLength
    const matching = fc.stringMatching(new RegExp(pattern))
    return minLength === 0 && maxLength === 40 ? matching : matching.filter(isLong)
  }
  if (format !== undefined && FORMATS[format]) return FORMATS[format]
  return fc.string({ unit: 'grapheme-composite', minLength, maxLength })
}

const days = fc
  .date({ min: new Date('1970-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  .map(date => date.toISOString())

const FORMATS: Record<string, fc.Arbitrary<string>> = {
  uri: fc.webUrl({ withQueryParameters: true, withFragments: true }),
  date: days.map(text => text.slice(0, 10)),
  'date-time': days,
  uuid: fc.uuid(),
  email: fc.emailAddress(),
}

function objects(schema: Schema, { within, meanings }: GeneratorContext): fc.Arbitrary<unknown> {
  const members = Object.entries<Schema>(schema.properties ?? {}).map(([name, member]) => {
    const { enum: words, const: word } = resolveReference(member)
    const meaning = words === undefined && word === undefined ? meanings[name] : undefined
    const values = within(member)
    return [name, meaning ? fc.oneof({ weight: 9, arbitrary: meaning }, values) : values] as const
  })
  if (members.length === 0) return fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
  const known = members.map(([name]) => name)
  const requiredKeys = (schema.required ?? []).filter((name: string) => known.includes(name))
  return fc.record(Object.fromEntries(members), { requiredKeys })
}
