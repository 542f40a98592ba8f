import type { Performance } from '@signalbox/contract/agents/account.ts'
import type { BoundDestination } from './bound-store.ts'
import { countsByName } from './name-counts.ts'
import type { ReportedDay } from './platform-figure-store.ts'

type PlatformFigures = Pick<Performance['platform'], 'days_reported' | 'events'>

/**
 * The platform's counts of all days by name. It counts by dataset, whoever sends to it: what it
 * says of a day to two destinations with one dataset is one count, while each sent its own share.
 */
export function platformFigures(
  days: readonly ReportedDay[],
  destinations: readonly BoundDestination[],
): PlatformFigures {
  const datasets = new Map(destinations.map(({ id, datasetId }) => [id, datasetId]))
  const ofDatasets = new Map<string, Map<string, number>>()
  const sent = new Map<string, number>()
  for (const { destinationId, day, platform, ours } of days) {
    const key = `${datasets.get(destinationId)} ${day}`
    const ofDay = ofDatasets.get(key) ?? new Map<string, number>()
    ofDatasets.set(key, ofDay)
    for (const [name, count] of Object.entries(platform)) {
      ofDay.set(name, Math.max(count, ofDay.get(name) ?? 0))
    }
    for (const [name, count] of Object.entries(ours)) sent.set(name, (sent.get(name) ?? 0) + count)
  }
  const counted = new Map<string, number>()
  for (const ofDay of ofDatasets.values()) {
    for (const [name, count] of ofDay) counted.set(name, (counted.get(name) ?? 0) + count)
  }
  return {
    days_reported: new Set(days.map(({ day }) => day)).size,
    events: countsByName([counted, sent]).map(({ name, counts: [counted = 0, sent = 0] }) => ({
      event_name: name,
      counted,
      sent,
    })),
  }
}
