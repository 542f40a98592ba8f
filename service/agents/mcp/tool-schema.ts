import { INTEGER_MAX, PLACE_DESCRIPTION } from '@signalbox/contract/scalars.ts'

/** A JSON Schema, of which only the keywords that the contract uses are handled. */
type Schema = Record<string | symbol, unknown>

/**
 * The schema of arguments as models get it. Some clients (Gemini) refuse unions with null, so an
 * argument is absent instead; validation still accepts its null. Names of schemas and the bound of
 * every integer are left out.
 */
export function toInputSchema(schema: object): Schema {
  const { title: _, maximum, ...rest } = withoutNull(schema as Schema)
  if (maximum !== undefined && maximum !== INTEGER_MAX) rest.maximum = maximum
  return withPlaceDescription(mapChildren(rest, toInputSchema), schema as Schema)
}

function withoutNull(schema: Schema): Schema {
  const { type, anyOf } = schema
  if (Array.isArray(type)) return { ...schema, type: type.find(name => name !== 'null') }
  const variants = (anyOf ?? []) as Schema[]
  const [only, ...others] = variants.filter(variant => variant.type !== 'null')
  if (!only || others.length > 0) return schema
  const { anyOf: _, ...rest } = schema
  return { ...only, ...rest }
}

/** Deeper than the members of the objects in a result, an object is only an object. */
const OUTPUT_DEPTH = 2

/**
 * The schema of a result as models get it: names and types, and descriptions on the first level.
 * Four tools return the same action with its history, and a model reads the list before its task:
 * complete schemas make it 88 KB instead of 29.
 */
export function toOutputSchema(schema: object, depth = OUTPUT_DEPTH): Schema {
  const { properties, ...rest } = withoutKeywords(schema as Schema, depth)
  const isShown = properties !== undefined && depth > 0
  const shown = isShown ? { ...rest, properties } : rest
  const small = mapChildren(shown, child => toOutputSchema(child, isShown ? depth - 1 : depth))
  const merged = mergeVariants(small)
  return depth > 0 ? withPlaceDescription(merged, schema as Schema) : merged
}

/** Variants may look the same once they are cut, and without bounds several may match. */
function mergeVariants({ anyOf, oneOf, ...rest }: Schema): Schema {
  const variants = (anyOf ?? oneOf) as Schema[] | undefined
  if (!variants) return rest
  const different = new Map(variants.map(variant => [JSON.stringify(variant), variant]))
  const [only, ...others] = different.values()
  return others.length === 0 ? { ...only, ...rest } : { ...rest, anyOf: [...different.values()] }
}

/** A result satisfies all of them. */
/** On the first level only: the members below have names that explain them. */
const FIRST_LEVEL_KEYWORDS = new Set(['description', 'enum', 'const'])
const CHILD_KEYWORDS = new Set(['properties', 'items', 'additionalProperties', 'anyOf', 'oneOf'])

function withoutKeywords(schema: Schema, depth: number): Schema {
  const kept = Object.entries(schema).filter(
    ([keyword, value]) =>
      keyword === 'type' ||
      (FIRST_LEVEL_KEYWORDS.has(keyword) && depth > 0) ||
      (CHILD_KEYWORDS.has(keyword) && typeof value === 'object'),
  )
  return Object.fromEntries(kept)
}

/** Replaces the schemas directly inside a schema. */
function mapChildren(schema: Schema, change: (child: Schema) => Schema): Schema {
  const changed = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === 'properties') return [keyword, mapValues(value as Schema, change)]
    if (keyword === 'anyOf' || keyword === 'oneOf')
      return [keyword, (value as Schema[]).map(change)]
    const isSchema = keyword === 'items' || keyword === 'additionalProperties'
    return [keyword, isSchema && typeof value === 'object' ? change(value as Schema) : value]
  })
  return Object.fromEntries(changed)
}

function mapValues(schemas: Schema, change: (child: Schema) => Schema): Schema {
  const changed = Object.entries(schemas).map(([name, child]) => [name, change(child as Schema)])
  return Object.fromEntries(changed)
}

/** Symbols hold what the contract says about one place where a named schema is used. */
function withPlaceDescription(schema: Schema, source: Schema): Schema {
  const description = source[PLACE_DESCRIPTION]
  return description === undefined ? schema : { ...schema, description }
}
