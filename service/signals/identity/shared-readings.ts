import { hash } from 'node:crypto'
import type { DroppedField, DropReason } from './dropped-fields.ts'
import type { EventTimes, FieldContext, HashedFieldRule, PlainFieldRule } from './field-rules.ts'
import { createContexts, selectKnownMembers, type UserDataMember } from './user-data-members.ts'

export type ValueResult = { kept: string } | { reason: DropReason }
export type PreparedValue = { supplied: string } | { prepared: string } | { reason: DropReason }

/**
 * What is known of one value while several platforms read it: the text before their rules, and the
 * result of each rule. Platforms that name the same rule share its result.
 */
export interface ValueReading {
  identifier: PreparedValue | null
  callerId: PreparedValue | null
  /** Few enough to search: a map for each value costs more than it saves. */
  rules: FieldRule[]
  results: ValueResult[]
}

export type FieldRule = HashedFieldRule | PlainFieldRule

interface ReadUserData {
  members: UserDataMember[]
  /** What else is known of a value, by the address that it is part of. */
  contextOf: (address: UserDataMember['address']) => FieldContext
  /** Members whose names are not known. */
  dropped: DroppedField[]
  /** By the place of a member and of its value; null where only one platform reads them. */
  readings: (ValueReading | undefined)[] | null
}

/** What the rules of all platforms share while one event is accepted. */
interface SharedReadings {
  /** Normalized identifier -> digest. */
  digests: Map<string, string>
  /** The `user_data` of the event, and what a trusted edge knows of the browser. */
  read: { userData: unknown; times: EventTimes; read: ReadUserData }[]
  hasSeveralPlatforms: boolean
}

let shared: SharedReadings | null = null

/**
 * Runs `work`, in which one `user_data` is read once, a rule is applied to a value once, and equal
 * normal forms are hashed once, however many platforms and lookups need them. It is synchronous,
 * and nothing raw is kept.
 */
export function withSharedReadings<Result>(
  { hasSeveralPlatforms }: { hasSeveralPlatforms: boolean },
  work: () => Result,
): Result {
  const outer = shared
  shared = { digests: new Map(), read: [], hasSeveralPlatforms }
  try {
    return work()
  } finally {
    shared = outer
  }
}

/** The known members of `user_data`, before any value is read. */
export function readUserData(
  userData: Record<string, unknown> | undefined,
  times: EventTimes,
): ReadUserData {
  const known = shared?.read.find(
    one => one.userData === userData && hasSameTimes(one.times, times),
  )
  if (known !== undefined) return { ...known.read, dropped: [...known.read.dropped] }
  const dropped: DroppedField[] = []
  const members = selectKnownMembers(userData, dropped)
  const readings = shared?.hasSeveralPlatforms ? [] : null
  const read = { members, contextOf: createContexts(members, times), dropped, readings }
  if (shared === null) return read
  const { eventTime, observedAt } = times
  shared.read.push({ userData, times: { eventTime, observedAt }, read })
  return { ...read, dropped: [...dropped] }
}

function hasSameTimes(one: EventTimes, other: EventTimes): boolean {
  return one.eventTime === other.eventTime && one.observedAt === other.observedAt
}

export function findReading(readings: (ValueReading | undefined)[], place: number): ValueReading {
  readings[place] ??= { identifier: null, callerId: null, rules: [], results: [] }
  return readings[place]
}

export function findResult(rule: FieldRule, reading: ValueReading | null): ValueResult | undefined {
  if (reading === null) return undefined
  const place = reading.rules.indexOf(rule)
  return place === -1 ? undefined : reading.results[place]
}

export function keepResult(
  rule: FieldRule,
  reading: ValueReading | null,
  result: ValueResult,
): ValueResult {
  reading?.rules.push(rule)
  reading?.results.push(result)
  return result
}

/** Digests of codes, such as those of countries, which are of no single person. */
const digestsOfCodes = new Map<string, string>()
const CODE = /^[a-z]{1,2}$/

/** SHA-256 of a normalized identifier, as 64 lower-case hexadecimal digits. */
export function hashIdentifier(normalized: string): string {
  const known = shared?.digests.get(normalized) ?? digestsOfCodes.get(normalized)
  if (known !== undefined) return known
  const digest = hash('sha256', normalized, 'hex')
  if (CODE.test(normalized)) digestsOfCodes.set(normalized, digest)
  else shared?.digests.set(normalized, digest)
  return digest
}
