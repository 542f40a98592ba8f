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

/** Levels of a result that keep their enums and descriptions; names explain the members below. */
const DESCRIBED_LEVELS = 1

/**
 * The schema of a result as models get it: the names and types of its members. An object that
 * occurs more than once is in `$defs`. A model reads the list of tools before its task, so a tool
 * whose objects are described by another tool shows fewer `levels`, and only lists and objects of
 * the first level have descriptions. Complete schemas make the list 88 KB instead of 32.
 */
export function toOutputSchema(schema: object, levels = Number.POSITIVE_INFINITY): Schema {
  return shareNamedObjects(shortenResult(schema as Schema, levels, 0))
}

function shortenResult(schema: Schema, levels: number, level: number): Schema {
  const { properties, title, ...rest } = withoutKeywords(schema, level)
  const isShown = properties !== undefined && level < levels
  const shown = isShown ? { ...rest, properties, ...(title !== undefined && { title }) } : rest
  const below = isShown ? level + 1 : level
  const small = mergeVariants(mapChildren(shown, child => shortenResult(child, levels, below)))
  return level <= DESCRIBED_LEVELS ? withPlaceDescription(small, schema) : small
}

/** Variants may look the same once they are cut, and without bounds several may match. */
function mergeVariants({ anyOf, oneOf, ...rest }: Schema): Schema {
  const variants = (anyOf ?? oneOf) as Schema[] | undefined
  if (!variants) return rest
  const different = new Map(variants.map(variant => [JSON.stringify(variant), variant]))
  const [only, ...others] = different.values()
  return others.length === 0 ? { ...only, ...rest } : { ...rest, anyOf: [...different.values()] }
}

/** Bounds, formats and required members are left out: every result satisfies them. */
const KEYWORDS = new Set(['type', 'title'])
const FIRST_LEVEL_KEYWORDS = new Set(['enum', 'const'])
const CHILD_KEYWORDS = new Set(['properties', 'items', 'additionalProperties', 'anyOf', 'oneOf'])

function withoutKeywords(schema: Schema, level: number): Schema {
  const isFirst = level <= DESCRIBED_LEVELS
  const isDescribed = isFirst && (schema.type === 'object' || schema.type === 'array')
  const kept = Object.entries(schema).filter(
    ([keyword, value]) =>
      KEYWORDS.has(keyword) ||
      (isFirst && FIRST_LEVEL_KEYWORDS.has(keyword)) ||
      (isDescribed && keyword === 'description') ||
      (CHILD_KEYWORDS.has(keyword) && typeof value === 'object'),
  )
  return Object.fromEntries(kept)
}

/** Moves objects that occur more than once to `$defs`, and removes the names of all others. */
function shareNamedObjects(schema: Schema): Schema {
  const counts = new Map<unknown, number>()
  const count = (child: Schema): Schema => {
    counts.set(child.title, (counts.get(child.title) ?? 0) + 1)
    return mapChildren(child, count)
  }
  count(schema)
  const $defs: Schema = {}
  const replace = (child: Schema): Schema => {
    const { title, description, ...rest } = mapChildren(child, replace)
    const place = description === undefined ? {} : { description }
    if (typeof title !== 'string' || counts.get(title) === 1) return { ...rest, ...place }
    $defs[title] = rest
    return { ...place, $ref: `#/$defs/${title}` }
  }
  const replaced = replace(schema)
  return Object.keys($defs).length === 0 ? replaced : { ...replaced, $defs }
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
