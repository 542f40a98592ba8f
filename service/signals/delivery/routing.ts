import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import type { ReasonOf, RestatementReason } from '@signalbox/contract/reasons.ts'
import {
  DestinationRouting,
  type RoutingFilter,
  RoutingSubmission,
} from '@signalbox/contract/routing.ts'
import { FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import { isOfPage } from '../events/event-columns.ts'
import type { EventSpace } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { Platform } from '../platforms/platform.ts'
import { NO_ROUTING } from './destination-store.ts'

export type { DestinationRouting, RoutingFilter }

export type UnselectedReason = Exclude<ReasonOf<'skipped:not_selected'>, RestatementReason>

/** What a filter compares. */
export interface RoutedEvent {
  eventName: string
  actionSource: string
  valueAmount: string | null
  valueCurrency: string | null
  space: EventSpace
  isTest: boolean
  /** A refund that gives its purchase a new value: it needs no name and no value of its own. */
  restatesValue?: boolean
}

/**
 * Why a destination does not get an event: the first member of its filter that does not match; null
 * if all match. Names are compared exactly, as platforms compare standard names.
 */
export function findUnselectedReason(
  { event_names: names, filter = {} }: DestinationRouting,
  event: RoutedEvent,
  needsName = false,
): UnselectedReason | null {
  const { eventName, actionSource, space, isTest, restatesValue = false } = event
  const isLeftOut = (list: readonly string[] | undefined, own: string) =>
    list !== undefined && !list.includes(own)
  if (isLeftOut(filter.event_names, eventName)) return 'name_not_selected'
  if (isLeftOut(filter.action_sources, actionSource)) return 'action_source_not_selected'
  if (isLeftOut(filter.spaces, space)) return 'key_not_selected'
  if (filter.test === 'exclude' && isTest) return 'test_not_selected'
  if (filter.test === 'only' && !isTest) return 'live_not_selected'
  if (restatesValue) return null
  const valueReason = filter.minimum_value && compareValue(filter.minimum_value, event)
  if (valueReason) return valueReason
  const isMapped = names !== undefined && Object.hasOwn(names, eventName)
  return needsName && !isMapped ? 'no_platform_name' : null
}

function compareValue(
  minimum: NonNullable<RoutingFilter['minimum_value']>,
  { valueAmount, valueCurrency }: RoutedEvent,
): UnselectedReason | null {
  if (valueAmount === null || valueCurrency === null) return 'value_missing'
  if (valueCurrency.toUpperCase() !== minimum.currency.toUpperCase()) return 'value_other_currency'
  const isBelow = toMillionths(valueAmount) < toMillionths(minimum.amount)
  return isBelow ? 'value_below_minimum' : null
}

const DECIMALS_MAX = 6

/** Decimal text as a whole number, so that no digit is lost. */
function toMillionths(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(`${whole}${fraction.slice(0, DECIMALS_MAX).padEnd(DECIMALS_MAX, '0')}`)
}

/** A stored event as a filter compares it; one from before there were spaces is of the secret. */
export function toRoutedEvent(event: StoredEvent, isTest: boolean): RoutedEvent {
  const { eventName, actionSource, valueAmount, valueCurrency } = event
  const space = isOfPage(event) ? 'publishable' : 'secret'
  return { eventName, actionSource, valueAmount, valueCurrency, space, isTest }
}

/** Whether the event is sent to the platform only with an entry in the destination's map. */
export function needsPlatformName(
  platform: Pick<Platform, 'conversionTargets' | 'hasNameFor'> | null,
  eventName: string,
): boolean {
  return platform?.conversionTargets !== undefined || platform?.hasNameFor?.(eventName) === false
}

/** The entry of the map for an event name; null without one. */
export function findMappedName(
  { event_names: names }: DestinationRouting,
  eventName: string,
): string | null {
  return names && Object.hasOwn(names, eventName) ? (names[eventName] ?? null) : null
}

/**
 * What the destination's platform calls a stored event. It was decided when the event was accepted
 * and is kept with its identity, so that every attempt and replay has the name of the first one:
 * under another one the platform would count the event twice.
 */
export function platformNameOf(
  { eventName, payload }: Pick<StoredEvent, 'eventName' | 'payload'>,
  destinationId: string,
): string {
  const names = payload?.platformNames
  return names && Object.hasOwn(names, destinationId) ? (names[destinationId] as string) : eventName
}

/** Each is looked up for every event; a shop maps a few names to one of the platform. */
const SAME_NAMES_MAX = 20

interface NamingDestination {
  platform: Pick<Platform, 'eventNames'>
  routing: DestinationRouting
}

/**
 * The names that a destination's platform takes for the same event: by the map of the destination,
 * or because the platform reads them as one. Callers may use the platform's own words as well.
 */
export function listSameNames(
  { platform: { eventNames }, routing }: NamingDestination,
  { eventName, platformName }: { eventName: string; platformName: string },
): string[] {
  const read = (name: string) => (eventNames ? eventNames.read(name) : name)
  const own = read(platformName)
  const mapped = Object.keys(routing.event_names ?? {})
  const candidates = [platformName, ...mapped, ...(eventNames?.known ?? [])]
  const same = candidates.filter(name => {
    return own !== null && read(findMappedName(routing, name) ?? name) === own
  })
  return [...new Set([eventName, ...same])].slice(0, SAME_NAMES_MAX)
}

/** An event that is being accepted. */
interface RoutedDraft extends Pick<RoutedEvent, 'eventName' | 'actionSource' | 'space'> {
  order: { amount: string | null; currency: string | null } | null
}

interface RoutedDestination {
  id: string
  isTest: boolean
  restatesValue?: boolean
  routing?: DestinationRouting
}

/** `findUnselectedReason` for an event that is being accepted. */
export function findDraftReason(
  { eventName, actionSource, space, order }: RoutedDraft,
  { routing = NO_ROUTING, isTest, restatesValue = false }: RoutedDestination,
  needsName = false,
): UnselectedReason | null {
  if (routing.filter === undefined && !needsName) return null
  const value = { valueAmount: order?.amount ?? null, valueCurrency: order?.currency ?? null }
  const event = { eventName, actionSource, space, isTest, restatesValue, ...value }
  return findUnselectedReason(routing, event, needsName)
}

/** The names that differ, by destination; null if none does. */
export function findPlatformNames(
  eventName: string,
  routes: readonly RoutedDestination[],
): Record<string, string> | null {
  const names = routes.flatMap(({ id, routing = NO_ROUTING }) => {
    const mapped = findMappedName(routing, eventName)
    return mapped === null || mapped === eventName ? [] : [[id, mapped] as const]
  })
  return names.length === 0 ? null : Object.fromEntries(names)
}

const routingValidator = new Validator(DestinationRouting)
const submissionValidator = new Validator(RoutingSubmission)

/** Validates a whole routing. Throws a 422 refusal that names each invalid member. */
export function validateRouting(
  input: unknown,
  platform: Pick<Platform, 'conversionTargets'> | null,
): DestinationRouting {
  return checkRouting(routingValidator.validate(input), platform)
}

/** Applies a change: a member that is left out keeps its value, null clears it. Throws a 422. */
export function changeRouting(
  current: DestinationRouting,
  input: unknown,
  platform: Pick<Platform, 'conversionTargets'> | null,
): DestinationRouting {
  const changed = { ...current, ...submissionValidator.validate(input) }
  const { event_names, filter } = changed
  return checkRouting({ ...(event_names && { event_names }), ...(filter && { filter }) }, platform)
}

/** One line, and nothing that a person cannot see. */
const CONTROL_CHARACTERS = /\p{Cc}/u

/** Rules beyond the schema. Returns the routing as it is stored. */
function checkRouting(
  { event_names: names = {}, filter = {} }: DestinationRouting,
  platform: Pick<Platform, 'conversionTargets'> | null,
): DestinationRouting {
  const errors = new FieldErrorList()
  const targets = platform?.conversionTargets
  const pattern = targets && new RegExp(targets.pattern)
  // The field names the member, not the entry: an event name may identify a person.
  for (const [name, target] of Object.entries(names)) {
    addNameErrors(errors, 'event_names', [name, target])
    if (!pattern || pattern.test(target)) continue
    errors.add('event_names', `A value of the event_names field is not valid. ${targets.hint}`)
  }
  addNameErrors(errors, 'filter.event_names', filter.event_names ?? [])
  const { minimum_value: minimum, ...rest } = filter
  if (minimum && !isCurrencyCode(minimum.currency)) {
    // No event has it, so nothing would ever be selected.
    const field = 'filter.minimum_value.currency'
    errors.add(field, `The ${field} field must be an ISO 4217 currency that is in use.`)
  }
  if (!errors.isEmpty) throw errors.toRefusal()
  const stored: RoutingFilter = {
    ...rest,
    ...(minimum && { minimum_value: { ...minimum, currency: minimum.currency.toUpperCase() } }),
  }
  return {
    ...(Object.keys(names).length > 0 && { event_names: names }),
    ...(Object.keys(stored).length > 0 && { filter: stored }),
  }
}

function addNameErrors(errors: FieldErrorList, field: string, names: readonly string[]): void {
  if (names.every(name => name === name.trim() && !CONTROL_CHARACTERS.test(name))) return
  errors.add(field, `A name of the ${field} field has spaces around it or control characters.`)
}
