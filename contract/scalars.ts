import Type, { type TSchema, type TUnsafe } from 'typebox'

/** Names a schema, which the printer puts under `components/schemas`. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, title: name }
}

/** A member that is always present and may be `null`; missing members break clients. */
export function nullable<Schema extends TSchema>(
  schema: Schema,
): TUnsafe<Type.Static<Schema> | null> {
  const type = (schema as { type?: unknown }).type
  const isScalar = type === 'string' || type === 'integer' || type === 'number'
  return isScalar
    ? Type.Unsafe({ ...schema, type: [type, 'null'] })
    : Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
}

/** UTC, ISO 8601 with `Z` and milliseconds. */
export function timestamp(description: string) {
  return Type.String({ format: 'date-time', description })
}

/** An object whose members are not fixed by the contract. */
export function freeForm(description: string) {
  return Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description,
  })
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
