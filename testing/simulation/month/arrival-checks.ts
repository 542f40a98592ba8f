import { BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import { sumCents, toCents } from '@signalbox/example-cdnow/exact-numbers.ts'
import type { TestService } from '../../fixtures/service.ts'
import { readSimulatorSummary } from '../../fixtures/simulator.ts'
import { findArrivals } from './expected-day.ts'
import type { MonthHistory, SubmittedEvent } from './history.ts'

/** Errors in how events reached the platform, one line each. */
export function findArrivalErrors(history: MonthHistory): string[] {
  const known = new Set(history.events.map(({ datasetId, eventId }) => `${datasetId} ${eventId}`))
  const unknownArrivals = history.arrivals.filter(
    ({ datasetId, eventId }) => !known.has(`${datasetId} ${eventId}`),
  )
  return [
    ...unknownArrivals.map(({ eventId }) => `${eventId}: arrived without having been submitted`),
    ...history.events.flatMap(event => checkArrival(history, event)),
  ]
}

function checkArrival(history: MonthHistory, event: SubmittedEvent): string[] {
  const { eventId, eventName, happensAt, endsAt, isWithheld } = event
  const arrivals = findArrivals(history, event)
  const accepted = arrivals.filter(({ isAnswered }) => isAnswered)
  const faults: string[] = []
  if (accepted.length > 1) faults.push(`was accepted ${accepted.length} times`)
  if (accepted.length === 0 && endsAt === null) faults.push('was never accepted')
  if (isWithheld && arrivals.length > 0) faults.push('arrived, and should never have been sent')
  if (arrivals.some(({ at }) => endsAt !== null && at > endsAt)) {
    faults.push(`arrived after ${endsAt?.toISOString()}, when nothing more was to be sent`)
  }
  if (arrivals.some(arrival => arrival.eventName !== eventName)) faults.push('has another name')
  const seconds = happensAt.getTime() / 1_000
  if (arrivals.some(arrival => arrival.eventTimeSeconds !== seconds)) {
    faults.push('has another time')
  }
  return faults.map(fault => `${eventId}: ${fault}`)
}

/** Compares the revenue of all live orders that arrived: the sample's sum and the platform's. */
export async function findRevenueErrors(
  { simulatorUrl }: TestService,
  history: MonthHistory,
): Promise<string[]> {
  const faults: string[] = []
  for (const { datasetId } of history.shops) {
    const arrived = history.events.filter(
      event =>
        event.datasetId === datasetId && findArrivals(history, event).some(({ isTest }) => !isTest),
    )
    const sold = sumCents(arrived.flatMap(({ dollars }) => dollars ?? []))
    const { value_by_currency: values } = await readSimulatorSummary(simulatorUrl, datasetId)
    const counted = Object.keys(values).join() === 'USD' ? toCents(values.USD ?? '') : null
    if (counted !== sold) faults.push(`${datasetId}: sold ${sold} cents, counted ${counted}`)
  }
  return faults
}

/** Scenarios without which a month proves nothing, one line for each that is missing. */
export function findMissingScenarios({ plan, editions, events, shops }: MonthHistory): string[] {
  const statuses = new Set(editions.map(({ report }) => report.status))
  const buckets = BUCKET_NAMES.filter(name =>
    editions.every(({ report }) => report.buckets[name].count === 0),
  )
  const perDay = events.filter(({ dollars }) => dollars !== null).length / plan.days.length
  return [
    ...['matched', 'explained', 'pending', 'unavailable'].filter(status => !statuses.has(status)),
    ...buckets,
    ...(perDay < 24 ? [`${perDay} orders a day`] : []),
    ...shops.flatMap(({ datasetId }) =>
      editions.some(edition => edition.datasetId === datasetId) ? [] : [datasetId],
    ),
  ].map(missing => `the month has no ${missing}`)
}
