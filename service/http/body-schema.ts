import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'

/** Checks one value against one schema; null when it fits. Never changes the value. */
export type SchemaCheck = (value: unknown) => readonly ErrorObject[] | null

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
export function compileBodySchema(schema: object): SchemaCheck {
  const { discriminator, oneOf } = schema as Partial<DiscriminatedUnion>
  if (!discriminator || !oneOf) return checkOf(ajv.compile(schema))
  return compileUnion(discriminator.propertyName, oneOf)
}

interface DiscriminatedUnion {
  discriminator: { propertyName: string }
  oneOf: { properties: Record<string, { const?: unknown }> }[]
}

function compileUnion(tag: string, variants: DiscriminatedUnion['oneOf']): SchemaCheck {
  const checks = new Map(
    variants.map(variant => [variant.properties[tag]?.const, checkOf(ajv.compile(variant))]),
  )
  const allowedValues = [...checks.keys()]
  const fallback = checks.get(allowedValues[0]) as SchemaCheck

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

function checkOf(validate: ValidateFunction): SchemaCheck {
  return value => (validate(value) ? null : (validate.errors ?? []))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A scheme and something after it, as WHATWG URL reads it, without white space or controls. */
function isAbsoluteUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text)
}
