import type { Performance } from '@signalbox/contract/agents/account.ts'
import { OTHER_NAMES } from '../../delivery/sent-counts-store.ts'
import type { LedgerFigure } from './ledger-figure-store.ts'
import { countsByName } from './name-counts.ts'

type LedgerEvents = Performance['ledger']['events']

/**
 * What was stored, what of it the platform took, and the revenue in each currency, by name. Names
 * that the ledger's figures put together are put together in the platform's answers as well.
 */
export function ledgerFigures(
  figures: readonly LedgerFigure[],
  accepted: ReadonlyMap<string, number>,
): LedgerEvents {
  const stored = new Map<string, number>()
  const revenue = new Map<string, LedgerEvents[number]['revenue']>()
  for (const { eventName, currency, events, amount } of figures) {
    stored.set(eventName, (stored.get(eventName) ?? 0) + events)
    if (currency === null || amount === null) continue
    revenue.set(eventName, [...(revenue.get(eventName) ?? []), { currency, amount }])
  }
  const acceptedOfStored = new Map<string, number>()
  for (const [name, count] of accepted) {
    const place = stored.has(name) ? name : OTHER_NAMES
    acceptedOfStored.set(place, (acceptedOfStored.get(place) ?? 0) + count)
  }
  return countsByName([stored, acceptedOfStored]).map(
    ({ name, counts: [stored = 0, taken = 0] }) => ({
      event_name: name,
      stored,
      accepted: taken,
      revenue: revenue.get(name) ?? [],
    }),
  )
}
