import { INTEGER_MAX, PLACE_DESCRIPTION } from '@signalbox/contract/scalars.ts'

/** A JSON Schema, of which only the keywords that the contract uses are handled. */
type Schema = Record<string | symbol, unknown>

/**
 * The schema of arguments as models get it. Some clients (Gemini) refuse unions with null, so an
 * argument is absent instead; validation still accepts its null. OpenAI's strict mode may refuse
 * defaults and lengths of texts, so the description says them. Names of schemas and the bound of
 * every integer are left out.
 */
export function toInputSchema(schema: object): Schema {
  const {
    title: _,
    minLength: __,
    maxLength,
    default: value,
    maximum,
    ...rest
  } = withoutNull(schema as Schema)
  if (maximum !== undefined && maximum !== INTEGER_MAX) rest.maximum = maximum
  const shown = withPlaceDescription(mapChildren(rest, toInputSchema), schema as Schema)
  const limits = [
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    ...(value === undefined ? [] : [`Default: ${value}.`]),
  ]
  if (limits.length === 0) return shown
  return { ...shown, description: [shown.description ?? [], ...limits].flat().join(' ') }
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

/**
 * The schema of a result as models get it: the names and types of its members. A model reads the
 * list of tools before its task, and each result explains itself when it comes; complete schemas
 * would make the list 20,000 tokens instead of 5,000. Results still match the contract.
 */
export function toOutputSchema(schema: object): Schema {
  const { properties = {} } = schema as { properties?: Schema }
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    listedType(member as Schema),
  ])
  return { type: 'object', properties: Object.fromEntries(members) }
}

function listedType({ type, anyOf, oneOf }: Schema): Schema {
  if (type !== undefined) return { type }
  const variants = ((anyOf ?? oneOf ?? []) as Schema[]).map(variant => variant.type)
  const types = [...new Set(variants)]
  return types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }
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
