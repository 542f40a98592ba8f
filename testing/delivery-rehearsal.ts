import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import { createPlatforms } from '../service/platforms/registry.ts'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import type { HeardAnswer, Witnesses } from './delivery-promises.ts'
import { type PlannedEvent, type Schedule, type Step, TRACKERS } from './delivery-schedule.ts'
import { drainDeliveries } from './drain-deliveries.ts'
import { endLeases } from './end-leases.ts'
import { MortalCrew } from './mortal-crew.ts'
import { heardPlatform } from './mortal-worker.ts'
import { samplePurchase } from './sample-purchase.ts'
import type { Reply, ServiceUnderTest } from './service-under-test.ts'
import { platformTargetOf, restoreTokens, revokeToken, scriptFaults } from './simulator-controls.ts'

/** What a rehearsal saw, for the promises and beyond them. */
export interface Rehearsal extends Witnesses {
  /** Requests with an event of somebody who had withdrawn before the step began. */
  sentAfterWithdrawal: readonly string[]
}

/** So short that a platform which is too slow holds nobody up for long. */
const ANSWER_MILLISECONDS_MAX = 200

/**
 * Plays a schedule with workers of this process, then heals everything and delivers until nothing
 * waits. Throws when an operation gives an answer that it should not, or when there is no end.
 */
export async function rehearse(
  service: ServiceUnderTest,
  { steps }: Schedule,
  seed: number,
): Promise<Rehearsal> {
  const heard: (HeardAnswer & { at: number })[] = []
  const actors = await actorsOf(service)
  let at = 0
  const onHeard = (answer: HeardAnswer) => void heard.push({ ...answer, at })
  service.delivery.platforms = service.delivery.platforms.map(platform =>
    heardPlatform(platform, 'the service', onHeard),
  )
  const crew = new MortalCrew(service, {
    seed,
    trackerIds: actors.map(({ trackerId }) => trackerId),
    context: { platforms: hastyPlatforms(service) },
    onHeard,
  })
  const stage = { service, actors, crew }
  try {
    for (const step of steps) {
      await perform(stage, step)
      at += 1
    }
    await drainDeliveries(service, () => crew.work([null]))
  } finally {
    await crew.close()
  }
  const sentAfterWithdrawal = withdrawalsBroken(steps, actors, heard)
  return { lostWorkers: crew.lostWorkers, heard, sentAfterWithdrawal }
}

/** A tracker with what its platform knows it by. */
interface Actor extends ProvisionedTracker {
  datasetId: string
  accessToken: string
}

interface Stage {
  service: ServiceUnderTest
  actors: readonly Actor[]
  crew: MortalCrew
}

async function actorsOf(service: ServiceUnderTest): Promise<Actor[]> {
  const actors: Actor[] = []
  for (let number = 0; number < TRACKERS; number += 1) {
    const tracker = number === 0 ? service.tracker : await service.newTracker()
    actors.push({ ...tracker, ...(await platformTargetOf(service, tracker)) })
  }
  return actors
}

function hastyPlatforms({ simulatorUrl: baseUrl }: ServiceUnderTest) {
  const timeoutMilliseconds = ANSWER_MILLISECONDS_MAX
  return createPlatforms({ baseUrl, version: 'v26.0', timeoutMilliseconds, now: () => new Date() })
}

async function perform({ service, actors, crew }: Stage, step: Step): Promise<void> {
  const { simulatorUrl, clock, database } = service
  const actorOf = ({ tracker }: { tracker: number }) => actors[tracker] as Actor
  switch (step.step) {
    case 'submit':
      for (const event of step.events) await submit(service, actorOf(event), event)
      return
    case 'withdraw':
      return withdraw(service, actorOf(step), step.visitor)
    case 'switch test mode':
      return switchTestMode(service, actorOf(step), step.enabled)
    case 'test purchase':
      return buyTest(service, actorOf(step))
    case 'replay':
      return replay(service, actorOf(step), step.body)
    case 'fail':
      return scriptFaults(simulatorUrl, step.rules.map(aimedAt(actors)))
    case 'revoke token':
      return revokeToken(simulatorUrl, actorOf(step).accessToken)
    case 'restore tokens':
      return restoreTokens(simulatorUrl)
    case 'move clock':
      return step.seconds < 0 ? clock.back(-step.seconds) : clock.forward(step.seconds)
    case 'work':
      return crew.work(step.deaths)
    case 'freeze a worker':
      return crew.freezeOne()
    case 'end leases':
      return endLeases(database)
  }
}

/** The event as its tracker sends it at this moment. */
function submissionOf(event: PlannedEvent, now: Date): Record<string, unknown> {
  const { eventId, eventName, visitor, value, ageSeconds, isUnfit } = event
  return samplePurchase({
    event_id: eventId,
    event_name: eventName,
    event_time: Math.floor(now.getTime() / 1_000) - ageSeconds,
    visitor_id: isUnfit ? undefined : `visitor-${visitor}`,
    user_data: isUnfit ? { country: 'de' } : { em: `visitor-${visitor}@shop.example` },
    value_data: value === null ? undefined : { value, currency: 'EUR' },
  })
}

async function submit(
  service: ServiceUnderTest,
  { trackerSecret: secret }: Actor,
  event: PlannedEvent,
) {
  const body = submissionOf(event, service.clock.now())
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
  // Two events that are due at the same moment go out in any order, and a seed could not repeat it.
  service.clock.forward(0.001)
}

async function withdraw(
  service: ServiceUnderTest,
  { trackerSecret: secret }: Actor,
  visitor: number,
) {
  const body = {
    event_name: 'consent_withdrawal',
    visitor_id: `visitor-${visitor}`,
    consent_basis: 'legitimate_interest',
  }
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
}

async function switchTestMode(service: ServiceUnderTest, actor: Actor, enabled: boolean) {
  const path = `/api/v1/destinations/${actor.destinationId}/test-mode`
  const options = { secret: actor.trackerSecret, body: { enabled } }
  requireStatus(await service.request('PATCH', path, options), 200)
}

/** Refused while test mode is off, and told when the platform did not take it. */
async function buyTest(service: ServiceUnderTest, actor: Actor) {
  const path = `/api/v1/destinations/${actor.destinationId}/test-purchase`
  const options = { secret: actor.trackerSecret }
  requireStatus(await service.request('POST', path, options), 200, 422, 502)
}

async function replay(service: ServiceUnderTest, { trackerSecret: secret }: Actor, body: object) {
  requireStatus(await service.request('POST', '/api/v1/deliveries/replay', { secret, body }), 200)
}

function requireStatus({ status, text }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`answered ${status}: ${text}`)
}

function aimedAt(actors: readonly Actor[]) {
  return ({ match, ...rule }: FaultRule): FaultRule => {
    if (match?.dataset === undefined) return match ? { match, ...rule } : rule
    const { datasetId } = actors[Number(match.dataset)] as Actor
    return { match: { ...match, dataset: datasetId }, ...rule }
  }
}

/** A withdrawal is a step of its own, so every request of a later step knew of it. */
function withdrawalsBroken(
  steps: readonly Step[],
  actors: readonly Actor[],
  heard: readonly (HeardAnswer & { at: number })[],
): string[] {
  const events = steps.flatMap(step => (step.step === 'submit' ? step.events : []))
  return steps.flatMap((step, withdrawnAt) => {
    if (step.step !== 'withdraw') return []
    const { tracker, visitor } = step
    const ofVisitor = events.filter(event => event.tracker === tracker && event.visitor === visitor)
    const theirs = new Set(ofVisitor.flatMap(({ eventId, isUnfit }) => (isUnfit ? [] : eventId)))
    return heard
      .filter(({ at, datasetId }) => at > withdrawnAt && datasetId === actors[tracker]?.datasetId)
      .flatMap(({ eventIds }) => eventIds.filter(eventId => theirs.has(eventId)))
      .map(eventId => `${eventId}: sent after its visitor had withdrawn`)
  })
}
