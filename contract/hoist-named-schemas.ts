import { PLACE_DESCRIPTION } from './scalars.ts'

type Json = Record<string, unknown>

/**
 * Copies a schema with every named schema in it (`named` in scalars.ts gives a `title`) moved to
 * the register and referenced by $ref. A description of the place stands beside the $ref.
 */
export function hoistNamedSchemas(schema: object, register: SchemaRegister): Json {
  const copy = Object.fromEntries(
    Object.entries(schema).map(([member, value]) => [member, copyValue(value, register)]),
  )
  const { title } = copy
  if (typeof title !== 'string') return copy
  register.add(title, withMapping(copy, schema))
  const description = (schema as { [PLACE_DESCRIPTION]?: string })[PLACE_DESCRIPTION]
  return description === undefined ? refTo(title) : { ...refTo(title), description }
}

/** The named schemas of a document, each once, in the order in which they are first met. */
export class SchemaRegister {
  readonly #schemas = new Map<string, Json>()

  /** Throws when two different schemas have one name: a $ref would be ambiguous. */
  add(name: string, schema: Json): void {
    const known = this.#schemas.get(name)
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas are named ${name}`)
    }
    this.#schemas.set(name, schema)
  }

  schemas(): Json {
    return Object.fromEntries(this.#schemas)
  }
}

function copyValue(value: unknown, register: SchemaRegister): unknown {
  if (Array.isArray(value)) return value.map(item => copyValue(item, register))
  if (typeof value !== 'object' || value === null) return value
  return hoistNamedSchemas(value, register)
}

function refTo(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` }
}

interface Variant {
  title: string
  properties: Record<string, { const?: unknown }>
}

/** Maps each value of the discriminator to its variant (OpenAPI 3.1, Discriminator). */
function withMapping(copy: Json, source: object): Json {
  const { discriminator, oneOf } = source as Partial<{
    discriminator: { propertyName: string }
    oneOf: Variant[]
  }>
  if (!discriminator || !oneOf) return copy
  const { propertyName } = discriminator
  const mapping = Object.fromEntries(
    oneOf.map(({ title, properties }) => [
      String(properties[propertyName]?.const),
      refTo(title).$ref,
    ]),
  )
  return { ...copy, discriminator: { propertyName, mapping } }
}
