import type { Violation } from './google-errors.ts'
import { isObject, JsonNumber } from './json-numbers.ts'

/** What a request is found to be: errors refuse it, warnings do not. */
export interface Findings {
  errors: Violation[]
  warnings: Violation[]
}

/** Checks one value and adds what it finds under `field`. */
export type Check = (value: unknown, field: string, found: Findings) => void

/** Google lists a few violations; a hostile body has thousands. */
const VIOLATIONS_MAX = 20

export function addError(found: Findings, violation: Violation): void {
  if (found.errors.length < VIOLATIONS_MAX) found.errors.push(violation)
}

function addWarning(found: Findings, violation: Violation): void {
  if (found.warnings.length < VIOLATIONS_MAX) found.warnings.push(violation)
}

/** A message of the API: an unknown member is an error, as in Google's JSON parser. */
export function message(members: Record<string, Check>, required: string[] = []): Check {
  return (value, field, found) => {
    if (!isObject(value)) return addError(found, malformed(field, 'Must be an object.'))
    for (const name of required) {
      if (value[name] === undefined) {
        addError(found, violationOf(join(field, name), 'Is required.', 'REQUIRED_FIELD_MISSING'))
      }
    }
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(members, name) ? members[name] : undefined
      if (check) check(member, join(field, name), found)
      else addError(found, malformed(field, 'Has a member that the API does not know.'))
    }
  }
}

export function list(check: Check, { max, reason }: { max: number; reason: string }): Check {
  return (value, field, found) => {
    if (!Array.isArray(value)) return addError(found, malformed(field, 'Must be a list.'))
    if (value.length > max) {
      return addError(found, violationOf(field, `Takes at most ${max}.`, reason))
    }
    for (const [index, item] of value.entries()) check(item, `${field}[${index}]`, found)
  }
}

/** A text of a required field: of another form, it refuses the request. */
export function text(pattern: RegExp, reason: string): Check {
  return (value, field, found) => {
    if (typeof value !== 'string') addError(found, malformed(field, 'Must be a string.'))
    else if (!pattern.test(value)) addError(found, violationOf(field, 'Is not valid.', reason))
  }
}

/** A text of an optional field: of another form, it is a warning since version 1.8 of the API. */
export function optionalText(isValid: (value: string) => boolean, reason: string): Check {
  return (value, field, found) => {
    if (typeof value !== 'string') addError(found, malformed(field, 'Must be a string.'))
    else if (!isValid(value)) addWarning(found, violationOf(field, 'Is not valid.', reason))
  }
}

/** A name of an enum. */
export function oneOf(...names: string[]): Check {
  return (value, field, found) => {
    if (typeof value !== 'string' || !names.includes(value)) {
      addError(found, violationOf(field, 'Is no value of this enum.', 'INVALID_ENUM_VALUE'))
    }
  }
}

export const double: Check = (value, field, found) => {
  const isNumber = value instanceof JsonNumber && Number.isFinite(Number(value.text))
  if (!isNumber) addError(found, malformed(field, 'Must be a number.'))
}

const INT64 = /^-?\d{1,19}$/

/** Protocol buffers write an int64 as text in JSON, and read both. */
export const int64: Check = (value, field, found) => {
  const digits = value instanceof JsonNumber ? value.text : value
  if (typeof digits !== 'string' || !INT64.test(digits)) {
    addError(found, malformed(field, 'Must be a whole number.'))
  }
}

export const boolean: Check = (value, field, found) => {
  if (typeof value !== 'boolean') addError(found, malformed(field, 'Must be true or false.'))
}

export function malformed(field: string, description: string): Violation {
  return violationOf(field, description, 'INVALID_ARGUMENT')
}

export function violationOf(field: string, description: string, reason: string): Violation {
  return { field, description, reason }
}

export function join(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`
}
