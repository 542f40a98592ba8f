import { ENTITY_ID_PATTERN } from '@signalbox/contract/agents/actions.ts'
import {
  CURRENCY_PATTERN,
  DECIMAL_PATTERN,
  UNSIGNED_DECIMAL_PATTERN,
} from '@signalbox/contract/decimal.ts'
import { DIGEST_PATTERN } from '@signalbox/contract/deletions.ts'
import { TEST_CODE_PATTERN } from '@signalbox/contract/destinations.ts'
import type { RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { isObject } from '../util/is-object.ts'
import { isCalendarDay } from '../util/time.ts'

/** What a caller learns about one error of a schema. */
interface SchemaError {
  /** Dotted path of the field. */
  field: string
  sentence: string
  rule: RefusalRule
}

export function describeSchemaError(error: ErrorObject): SchemaError {
  const field = formatFieldPath(error)
  return { field, sentence: `The ${field} field ${describeError(error)}.`, rule: ruleOf(error) }
}

/** The member of the input that an error is about; empty for the input itself. */
export function memberOf({ instancePath, keyword, params }: ErrorObject): string {
  const [, name = ''] = instancePath.split('/')
  return name === '' && keyword === 'required' ? String(params.missingProperty) : name
}

/** The error of a member that an object does not have. */
export function describeUnknownMember(path: string, name: string): SchemaError {
  const instancePath = `/${path.replaceAll('.', '/')}`
  const params = { additionalProperty: name }
  return describeSchemaError({
    instancePath,
    keyword: 'additionalProperties',
    params,
    schemaPath: '',
  })
}

/**
 * The errors of an `anyOf` as one caller means it: when the type fits none of the alternatives, one
 * error that names the types; else the errors of the alternatives whose type fits.
 */
function mergeAlternatives(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  return errors
    .filter(({ keyword }) => keyword === 'anyOf')
    .reduce((left, union) => mergeUnion(left, union), errors)
}

function mergeUnion(errors: readonly ErrorObject[], union: ErrorObject): readonly ErrorObject[] {
  const isInside = ({ schemaPath, instancePath }: ErrorObject) =>
    schemaPath.startsWith(`${union.schemaPath}/`) && instancePath.startsWith(union.instancePath)
  const isWrongType = (error: ErrorObject) =>
    isInside(error) && error.keyword === 'type' && error.instancePath === union.instancePath
  const wrongTypes = errors.filter(isWrongType)
  const others = errors.filter(error => error !== union && !isWrongType(error))
  if (wrongTypes.length === 0) return errors
  if (others.some(isInside)) return others
  const type = wrongTypes.map(({ params }) => params.type).join(',')
  return [...others, { ...union, keyword: 'type', params: { type } }]
}

function formatFieldPath({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath.split('/').slice(1).map(unescapePointer)
  if (keyword === 'required') path.push(String(params.missingProperty))
  if (keyword === 'additionalProperties' && isMemberName(params.additionalProperty)) {
    path.push(params.additionalProperty)
  }
  return path.join('.') || 'body'
}

/** Any other name may be personal data, such as an email address, and is not repeated. */
function isMemberName(name: unknown): name is string {
  return typeof name === 'string' && /^_*[a-z]+(_[a-z]+)*_*$/.test(name) && name.length <= 40
}

/** RFC 6901. */
function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

function describeError({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `must be ${describeType(params.type)}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return `must not be greater than ${params.limit} characters`
    case 'additionalProperties':
      return isMemberName(params.additionalProperty)
        ? 'is not known here; remove it'
        : 'has a member that is not known here; remove it'
    case 'anyOf':
      return 'has an invalid format'
    case 'minItems':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} items`
    case 'uniqueItems':
      return 'must not contain duplicates'
    case 'maxItems':
      return `must not have more than ${params.limit} items`
    case 'const':
      return `must be ${String(params.allowedValue)}`
    case 'pattern':
      return PATTERN_DESCRIPTIONS[String(params.pattern)] ?? 'has an invalid format'
    case 'enum':
      return `must be one of: ${(params.allowedValues as unknown[]).join(', ')}`
    case 'format':
      return FORMAT_DESCRIPTIONS[String(params.format)] ?? `must be a ${params.format}`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must not be greater than ${params.limit}`
    default:
      return message ?? 'is invalid'
  }
}

const KEYWORD_RULES: Record<string, RefusalRule> = {
  required: 'required',
  type: 'wrong_type',
  minLength: 'empty',
  maxLength: 'too_long',
  additionalProperties: 'unknown_member',
  anyOf: 'invalid_format',
  minItems: 'too_few_items',
  uniqueItems: 'duplicate_items',
  maxItems: 'too_many_items',
  const: 'unknown_value',
  pattern: 'invalid_format',
  enum: 'unknown_value',
  format: 'invalid_format',
  minimum: 'out_of_range',
  maximum: 'out_of_range',
}

function ruleOf({ keyword, params }: ErrorObject): RefusalRule {
  if (keyword === 'minItems' && params.limit === 1) return 'empty'
  return KEYWORD_RULES[keyword] ?? 'invalid_value'
}

const FORMAT_DESCRIPTIONS: Record<string, string> = {
  uri: 'must be an absolute URI',
  date: 'must be a calendar day, such as 2026-11-20',
}

/** What to say instead of a regular expression. */
const PATTERN_DESCRIPTIONS: Record<string, string> = {
  [DECIMAL_PATTERN]: 'must be decimal text such as "19.95", up to 15 digits and 6 after the point',
  [UNSIGNED_DECIMAL_PATTERN]:
    'must be decimal text such as "1.00" without a sign, up to 15 digits and 6 after the point',
  [TEST_CODE_PATTERN]: 'must be visible ASCII characters without spaces, such as TEST12345',
  [CURRENCY_PATTERN]: 'must be the three letters of an ISO 4217 currency',
  [DIGEST_PATTERN]: 'must be a SHA-256 digest: 64 hexadecimal digits',
  [ENTITY_ID_PATTERN]: 'must be a number in digits, such as "1201"',
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function describeType(type: unknown): string {
  const types = Array.isArray(type) ? type : String(type).split(',')
  return types.map(name => TYPE_NAMES[String(name)] ?? String(name)).join(' or ')
}

/** The errors of a value; null when it is valid. Never changes the value. */
export type SchemaCheck = (value: unknown) => readonly ErrorObject[] | null

/**
 * All errors, no coercion, no defaults, nothing removed: the caller learns every invalid field of
 * exactly what it sent. Bodies of at most 256 KiB bound the list. A number such as 1e999 parses to
 * Infinity, which `strictNumbers` refuses.
 */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  strictNumbers: true,
  formats: { uri: isAbsoluteUri, date: isCalendarDay, uuid: true, int64: true, double: true },
})

/**
 * Compiles a schema of the contract. A discriminated union is validated against the variant that
 * the value names, so that errors name fields instead of "matches no variant".
 */
export function compileSchema(schema: object): SchemaCheck {
  const { discriminator, oneOf } = schema as Partial<DiscriminatedUnion>
  if (!discriminator || !oneOf) return toSchemaCheck(ajv.compile(schema))
  return compileUnion(discriminator.propertyName, oneOf)
}

interface DiscriminatedUnion {
  discriminator: { propertyName: string }
  oneOf: { properties: Record<string, { const?: unknown }> }[]
}

function compileUnion(tag: string, variants: DiscriminatedUnion['oneOf']): SchemaCheck {
  const validators = new Map(
    variants.map(variant => [variant.properties[tag]?.const, toSchemaCheck(ajv.compile(variant))]),
  )
  const allowedValues = [...validators.keys()]
  const fallback = validators.get(allowedValues[0]) as SchemaCheck

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

function toSchemaCheck(validate: ValidateFunction): SchemaCheck {
  return value => (validate(value) ? null : mergeAlternatives(validate.errors ?? []))
}

/** A scheme followed by something, as the WHATWG URL parser reads it, without white space. */
function isAbsoluteUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text)
}
