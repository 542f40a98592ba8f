import { InvalidArgumentError } from './errors.ts'

/**
 * A body as JSON. `JSON.stringify` leaves out functions, writes NaN as null and a Set or a Promise
 * as `{}`, all without a word: here they throw an InvalidArgumentError, as cycles and BigInts do.
 * The message names the kind of value and no part of the body.
 */
export function encodeBody(body: unknown): string {
  try {
    const text = JSON.stringify(body, refuseUnsendable)
    if (text !== undefined) return text
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
  }
  // The error of the engine names members of the body.
  throw new InvalidArgumentError(
    'The body cannot be JSON: it has a cycle, is nested too deep, or has a value that fails.',
  )
}

/** Called with each value after its own `toJSON`; `this` has the value before. */
function refuseUnsendable(this: unknown, name: string, value: unknown): unknown {
  const kind = findUnsendable(value) ?? findInvalidDate((this as Record<string, unknown>)[name])
  if (kind === null) return value
  throw new InvalidArgumentError(`The body cannot be JSON: it has ${kind}.`)
}

/** What JSON can write of an object is its own members. */
const OBJECTS = new Set(['Object', 'Array', 'String', 'Boolean'])

function findUnsendable(value: unknown): string | null {
  switch (typeof value) {
    case 'bigint':
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    case 'number':
      return Number.isFinite(value) ? null : String(value)
    case 'object':
      return value === null ? null : findUnsendableObject(value)
    default:
      return null
  }
}

function findUnsendableObject(value: object): string | null {
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (OBJECTS.has(kind)) return null
  if (kind === 'Number') return findUnsendable(Number(value))
  return kind === 'Promise' ? 'a Promise, which must be awaited' : `a ${kind}`
}

/** `toJSON` of an invalid Date returns null. */
function findInvalidDate(value: unknown): string | null {
  return value instanceof Date && Number.isNaN(value.getTime()) ? 'an invalid Date' : null
}
