import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { isObject } from '../util/is-object.ts'
import { addSchemaErrors, addTextError, FieldErrorList } from './field-errors.ts'
import { Refusal } from './refusal.ts'

/** Validates a value against a schema; null when it is valid. Never changes the value. */
export type SchemaValidator = (value: unknown) => readonly ErrorObject[] | null

/**
 * All errors, no coercion, no defaults, nothing removed: the caller learns every invalid field of
 * exactly what it sent. Bodies of at most 256 KiB bound the list. A number such as 1e999 parses to
 * Infinity, which `strictNumbers` refuses.
 */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  strictNumbers: true,
  formats: { uri: isAbsoluteUri, int64: true },
})

/**
 * Compiles a schema of the contract. A discriminated union is validated against the variant that
 * the value names, so that errors name fields instead of "matches no variant".
 */
export function compileBodySchema(schema: object): SchemaValidator {
  const { discriminator, oneOf } = schema as Partial<DiscriminatedUnion>
  if (!discriminator || !oneOf) return toSchemaValidator(ajv.compile(schema))
  return compileUnion(discriminator.propertyName, oneOf)
}

interface DiscriminatedUnion {
  discriminator: { propertyName: string }
  oneOf: { properties: Record<string, { const?: unknown }> }[]
}

function compileUnion(tag: string, variants: DiscriminatedUnion['oneOf']): SchemaValidator {
  const validators = new Map(
    variants.map(variant => [
      variant.properties[tag]?.const,
      toSchemaValidator(ajv.compile(variant)),
    ]),
  )
  const allowedValues = [...validators.keys()]
  const fallback = validators.get(allowedValues[0]) as SchemaValidator

  return value => {
    const name = isObject(value) ? value[tag] : undefined
    const validate = validators.get(name)
    if (validate) return validate(value)
    // An unknown variant is one error of the tag; the other members are still validated.
    return (fallback(value) ?? []).map(error =>
      error.keyword === 'const' && error.instancePath === `/${tag}`
        ? { ...error, keyword: 'enum', params: { allowedValues } }
        : error,
    )
  }
}

function toSchemaValidator(validate: ValidateFunction): SchemaValidator {
  return value => (validate(value) ? null : (validate.errors ?? []))
}

/** A scheme followed by something, as the WHATWG URL parser reads it, without white space. */
function isAbsoluteUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text)
}

/**
 * Creates a validator for a body that a schema of the contract describes in full. It returns the
 * body, or throws a 422 with every invalid field. `textMembers` are the members that are stored or
 * sent as text. A missing body and `null` count as `{}`.
 */
export function createBodyValidator<Body extends object>(
  schema: object,
  textMembers: readonly (keyof Body & string)[] = [],
): (body: unknown) => Body {
  const validate = compileBodySchema(schema)
  return body => {
    const given = (body ?? {}) as Body
    const errors = new FieldErrorList()
    addSchemaErrors(errors, validate(given) ?? [])
    for (const name of textMembers) addTextError(errors, name, given[name])
    if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
    return given
  }
}
