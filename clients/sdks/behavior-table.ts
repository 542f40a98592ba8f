import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// biome-ignore lint/suspicious/noExplicitAny: behavior.schema.json describes the cases
type Json = any

/** One case of behavior.json, with its fixtures in place and its client merged. */
export interface BehaviorCase {
  id: string
  title: string
  [member: string]: Json
}

export interface BehaviorTable {
  now: string
  cases: BehaviorCase[]
}

/** Reads the table that every SDK runs. clients/sdks/README.md explains it. */
export function readBehaviorTable(): BehaviorTable {
  const { defaults, fixtures, cases } = readTableFile()
  const resolved = cases.map((one: Json) => ({
    random: defaults.random,
    environment: {},
    secrets: [],
    ...resolveFixtures(one, fixtures),
    client: { ...defaults.client, ...one.client },
  }))
  return { now: defaults.now, cases: resolved }
}

/** The file as it is. */
export function readTableFile(): Json {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'behavior.json'), 'utf8'))
}

/** Fails unless a suite ran every case of the table exactly once. */
export function assertEveryCaseRan(ran: readonly string[]): void {
  const expected = readTableFile().cases.map((one: Json) => one.id)
  assert.deepEqual([...ran].sort(), [...expected].sort())
}

/** A text that starts with @ stands for the fixture of that name, `$text` for so many letters. */
function resolveFixtures(value: Json, fixtures: Record<string, Json>): Json {
  if (typeof value === 'string' && value.startsWith('@')) {
    const fixture = fixtures[value.slice(1)]
    if (fixture === undefined) throw new Error(`There is no fixture ${value}.`)
    return resolveFixtures(fixture, fixtures)
  }
  if (Array.isArray(value)) return value.map(item => resolveFixtures(item, fixtures))
  if (typeof value !== 'object' || value === null) return value
  if (value.$text) return 'a'.repeat(value.$text)
  const members = Object.entries(value)
  return Object.fromEntries(members.map(([name, item]) => [name, resolveFixtures(item, fixtures)]))
}
