import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { addSchemaErrors, addTextError, FieldErrorList } from './field-errors.ts'
import { Refusal } from './refusal.ts'

/** Checks one value against one schema; null when it fits. Never changes the value. */
export type SchemaValidator = (value: unknown) => readonly ErrorObject[] | null

/**
 * All faults at once, no coercion, no defaults, nothing removed: the caller sees every wrong field
 * of exactly what it sent. Bodies are at most 256 KiB, so "all" is bounded. What is too large for a
 * number, such as 1e999, is read as Infinity and is none (`strictNumbers`).
 */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  strictNumbers: true,
  formats: { uri: isAbsoluteUri, int64: true },
})

/**
 * Compiles a schema of the contract. A union with a discriminator is checked against the variant
 * that the value names, so that its faults are named by field instead of "matches no variant".
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
  const checks = new Map(
    variants.map(variant => [
      variant.properties[tag]?.const,
      toSchemaValidator(ajv.compile(variant)),
    ]),
  )
  const allowedValues = [...checks.keys()]
  const fallback = checks.get(allowedValues[0]) as SchemaValidator

  return value => {
    const name = isObject(value) ? value[tag] : undefined
    const check = checks.get(name)
    if (check) return check(value)
    // An unknown variant is one fault of the tag; the members are still checked.
    return (fallback(value) ?? []).map(fault =>
      fault.keyword === 'const' && fault.instancePath === `/${tag}`
        ? { ...fault, keyword: 'enum', params: { allowedValues } }
        : fault,
    )
  }
}

function toSchemaValidator(validate: ValidateFunction): SchemaValidator {
  return value => (validate(value) ? null : (validate.errors ?? []))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A scheme and something after it, as WHATWG URL reads it, without white space or controls. */
function isAbsoluteUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text)
}

/**
 * Makes the check of a body that a schema of the contract describes in full: it returns the body,
 * or throws a 422 with every wrong field. `textMembers` are those that are stored or sent as text.
 * An absent body and `null` count as `{}`, so that operations without required members need none.
 */
export function createBodyValidator<Body extends object>(
  schema: object,
  textMembers: readonly (keyof Body & string)[] = [],
): (body: unknown) => Body {
  const check = compileBodySchema(schema)
  return body => {
    const given = (body ?? {}) as Body
    const faults = new FieldErrorList()
    addSchemaErrors(faults, check(given) ?? [])
    for (const name of textMembers) addTextError(faults, name, given[name])
    if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
    return given
  }
}
