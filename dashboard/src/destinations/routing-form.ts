import type { DestinationRouting, RoutingPreview } from '@signalbox/contract/routing.ts'

/** A routing as a person edits it. */
export interface RoutingForm {
  map: { name: string; target: string }[]
  /** One on each line; empty: all names. */
  names: string
  actionSources: string[]
  amount: string
  currency: string
  /** Empty: both kinds of key. */
  space: string
  test: string
}

export function formOfRouting({ event_names = {}, filter = {} }: DestinationRouting): RoutingForm {
  const { spaces = [], minimum_value: minimum } = filter
  return {
    map: Object.entries(event_names).map(([name, target]) => ({ name, target })),
    names: (filter.event_names ?? []).join('\n'),
    actionSources: filter.action_sources ?? [],
    amount: minimum?.amount ?? '',
    currency: minimum?.currency ?? '',
    space: spaces.length === 1 ? (spaces[0] ?? '') : '',
    test: filter.test ?? 'include',
  }
}

/** The whole routing: what the form leaves empty is cleared. The service validates it. */
export function routingOfForm(form: RoutingForm): DestinationRouting {
  const { map, actionSources, space, test } = form
  const amount = form.amount.trim()
  const currency = form.currency.trim()
  const names = form.names.split('\n').map(name => name.trim())
  const given = names.filter(name => name !== '')
  const filter = {
    ...(given.length > 0 && { event_names: given }),
    ...(actionSources.length > 0 && { action_sources: actionSources }),
    // An amount without a currency is refused, with a sentence at its field.
    ...((amount !== '' || currency !== '') && {
      minimum_value: { ...(amount && { amount }), ...(currency && { currency }) },
    }),
    ...(space !== '' && { spaces: [space] }),
    ...(test !== 'include' && { test }),
  }
  const entries = map.map(({ name, target }) => [name.trim(), target.trim()] as const)
  const mapped = entries.filter(([name, target]) => name !== '' || target !== '')
  return { event_names: Object.fromEntries(mapped), filter } as DestinationRouting
}

/** A name that the map has twice, of which only one entry would be kept; null if there is none. */
export function findRepeatedName({ map }: RoutingForm): string | null {
  const names = map.map(({ name }) => name.trim()).filter(name => name !== '')
  return names.find((name, index) => names.indexOf(name) !== index) ?? null
}

/** A routing in a few words, for the card of the destination. */
export function describeRouting({ event_names = {}, filter = {} }: DestinationRouting): string {
  const { event_names: names, action_sources: sources, minimum_value: minimum } = filter
  const { spaces, test = 'include' } = filter
  const mapped = Object.keys(event_names).length
  const parts = [
    names && `names: ${listSome(names)}`,
    sources && `action sources: ${listSome(sources)}`,
    minimum && `at least ${minimum.amount} ${minimum.currency}`,
    spaces?.length === 1 &&
      `only events of ${SPACE_LABELS[spaces[0] as keyof typeof SPACE_LABELS]}`,
    test !== 'include' && TEST_LABELS[test].toLowerCase(),
  ].filter(part => typeof part === 'string')
  const selection = parts.length === 0 ? 'All events' : `Selected by ${parts.join('; ')}`
  if (mapped === 0) return selection
  return `${selection}; ${mapped} ${mapped === 1 ? 'name is' : 'names are'} mapped`
}

const LISTED_MAX = 3

function listSome(names: readonly string[]): string {
  const more = names.length - LISTED_MAX
  const listed = names.slice(0, LISTED_MAX).join(', ')
  return more > 0 ? `${listed} and ${more} more` : listed
}

export const SPACE_LABELS = { secret: 'the tracker secret', publishable: 'publishable keys' }
export const TEST_LABELS = {
  include: 'Live and test events',
  exclude: 'Live events only',
  only: 'Test events only',
}

export type Preview = RoutingPreview
