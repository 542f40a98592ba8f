import assert from 'node:assert/strict'
import { inspect } from 'node:util'

// biome-ignore lint/suspicious/noExplicitAny: behavior.schema.json describes what is expected
type Json = any

/** Compares what happened with what a case expects. `$same` binds a text within one case. */
export class Expectations {
  readonly #bound = new Map<string, unknown>()

  /** Objects may have more members than expected. */
  contains(actual: Json, expected: Json, place: string): void {
    if (this.#matches(actual, expected, place)) return
    if (Array.isArray(expected)) {
      assert.equal(actual?.length, expected.length, `${place}: ${inspect(actual)}`)
      expected.forEach((one, at) => {
        this.contains(actual[at], one, `${place}[${at}]`)
      })
      return
    }
    if (!isObject(expected)) {
      assert.deepEqual(actual, expected, place)
      return
    }
    assert.ok(isObject(actual), `${place} is ${inspect(actual)}`)
    for (const [name, value] of Object.entries(expected)) {
      this.contains(actual[name], value, `${place}.${name}`)
    }
  }

  /** Objects have exactly the members that are expected. */
  equals(actual: Json, expected: Json, place: string): void {
    this.contains(actual, expected, place)
    if (!isObject(expected) || isSpecial(expected)) return
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), place)
    for (const [name, value] of Object.entries(expected)) {
      this.equals(actual[name], value, `${place}.${name}`)
    }
  }

  /** Whether the expectation is one with a special meaning, which is then checked. */
  #matches(actual: Json, expected: Json, place: string): boolean {
    if (!isSpecial(expected)) return false
    const { $matches, $between, $absent, $same } = expected
    if ($absent) assert.equal(actual, undefined, place)
    if ($matches) assert.match(String(actual), new RegExp($matches, 'u'), place)
    if ($between) assert.ok(actual >= $between[0] && actual <= $between[1], `${place}: ${actual}`)
    if ($same) {
      assert.equal(typeof actual, 'string', place)
      assert.equal(actual, this.#bound.get($same) ?? actual, place)
      this.#bound.set($same, actual)
    }
    return true
  }
}

function isObject(value: unknown): value is Record<string, Json> {
  return typeof value === 'object' && value !== null
}

function isSpecial(value: unknown): value is Record<string, Json> {
  return isObject(value) && ['$matches', '$between', '$absent', '$same'].some(name => name in value)
}

/** Fails when any form in which a value is printed contains a secret. */
export function assertPrintsNone(secrets: readonly string[], value: unknown): void {
  const isError = value instanceof Error
  const forms = [
    inspect(value, { depth: 20, showHidden: isError }),
    String(value),
    JSON.stringify(value) ?? '',
    isError ? `${value.stack}${value.message}${inspect(value.cause, { showHidden: true })}` : '',
    JSON.stringify(Object.assign({}, value)),
  ]
  for (const secret of secrets) {
    for (const form of forms) assert.ok(!form.includes(secret), `a printed form has ${secret}`)
  }
}
