import { hash } from 'node:crypto'
import type { Leaving, MonthEvent } from './month-events.ts'
import { type MonthStage, requireStatus } from './month-stage.ts'

/** Customers of the first shop leave in one of these ways: nothing of theirs is sent any more. */
export async function leaveMonth(
  stage: MonthStage,
  events: readonly MonthEvent[],
  ways: readonly Leaving[],
): Promise<void> {
  for (const event of events.filter(({ leaving }) => leaving !== null && ways.includes(leaving))) {
    await (event.leaving === 'is forgotten' ? forget : withdraw)(stage, event)
  }
}

async function withdraw(stage: MonthStage, { eventId }: MonthEvent): Promise<void> {
  const { service, shops } = stage
  const body = {
    event_name: 'consent_withdrawal',
    visitor_id: `visitor-of-${eventId}`,
    consent_basis: 'legitimate_interest',
  }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
  endEvents(stage, id => id === eventId)
}

async function forget(stage: MonthStage, { purchase }: MonthEvent): Promise<void> {
  const { service, shops, bodies, forgotten } = stage
  const customer = purchase?.customer ?? ''
  const body = { identifier_hash: hash('sha256', customer), identifier_type: 'external_id' }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('DELETE', '/api/v1/user-data', { secret, body }), 200)
  forgotten.add(customer)
  const theirs = [...bodies.keys()].filter(event => event.purchase?.customer === customer)
  const ids = new Set(theirs.map(({ eventId }) => eventId))
  endEvents(stage, id => ids.has(id))
}

function endEvents({ events, service }: MonthStage, isTheirs: (eventId: string) => boolean): void {
  for (const event of events.filter(({ eventId }) => isTheirs(eventId))) {
    event.endsAt ??= service.clock.now()
  }
}
