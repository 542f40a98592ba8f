import Type, { type TSchema, type TUnsafe } from 'typebox'

/** Names a schema, which the printer puts under `components/schemas`. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, title: name }
}

/** Holds a description of one place where a named schema is used. Validators ignore symbols. */
export const PLACE_DESCRIPTION = Symbol('description of a place')

/** A named schema with a description of this place only, printed beside its `$ref`. */
export function described<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return { ...schema, [PLACE_DESCRIPTION]: description }
}

interface StringEnumOptions {
  description?: string
  /** Names of the constants in Go, where one would be the name of a schema, too. */
  'x-enum-varnames'?: readonly string[]
}

/**
 * One of several texts. Without `type`, which `Type.Enum` leaves out, generators for Go know only
 * that the member is anything.
 */
export function stringEnum<const Values extends readonly string[]>(
  values: Values,
  options: StringEnumOptions = {},
): TUnsafe<Values[number]> {
  return Type.Unsafe({ type: 'string', enum: [...values], ...options })
}

/** A member that is always present and may be `null`; missing members break clients. */
export function nullable<Schema extends TSchema>(
  schema: Schema,
): TUnsafe<Type.Static<Schema> | null> {
  const { type, title } = schema as { type?: unknown; title?: unknown }
  const isScalar = type === 'string' || type === 'integer' || type === 'number'
  return isScalar && title === undefined
    ? Type.Unsafe({ ...schema, type: [type, 'null'] })
    : Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
}

/** UTC, ISO 8601 with `Z` and milliseconds. */
export function timestamp(description: string) {
  return Type.String({ format: 'date-time', description })
}

const FreeFormObject = named(
  'FreeFormObject',
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'An object whose members the contract does not fix.',
  }),
)

/** An object whose members are not fixed by the contract: one type in every client. */
export function freeForm(description: string) {
  return described(FreeFormObject, description)
}

/**
 * The body of an operation that needs none: an object, or `null`. It has no `type`, because of a
 * union with `null` the generator for Python (openapi-python-client 0.29) makes a call that fails
 * without a body: a `TypeError`.
 */
export function optionalBody<Properties extends Record<string, TSchema>>(
  properties: Properties,
): TUnsafe<Type.Static<Type.TObject<Properties>>> {
  const others = ['array', 'boolean', 'number', 'string'].map(type => ({ type }))
  return Type.Unsafe({ properties, not: { anyOf: others } })
}

/**
 * Ids of deliveries are 64 bits wide and stay within what JavaScript represents exactly. Clients in
 * other languages need a 64-bit type for them.
 */
export function deliveryId() {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
}

/** Other integers fit in 32 bits, so that every client language can represent them. */
export const INTEGER_MAX = 2_147_483_647
