import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import { createPlatforms } from '../../../service/platforms/registry.ts'
import type { ProvisionedTracker } from '../../../service/provisioning/provision-tracker.ts'
import { CrashableWorkerPool, recordPlatformResponses } from '../../crash/crashable-worker.ts'
import { expireLeases } from '../../fixtures/deliveries.ts'
import { samplePurchase } from '../../fixtures/sample-events.ts'
import type { Reply, TestService } from '../../fixtures/service.ts'
import {
  findPlatformTarget,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../fixtures/simulator.ts'
import {
  type FaultSchedule,
  type PlannedEvent,
  type Step,
  TRACKER_COUNT,
} from './fault-schedule.ts'
import type { Observations, RecordedResponse } from './invariants.ts'

/** What a rehearsal saw, for the promises and beyond them. */
interface SimulationResult extends Observations {
  /** Requests with an event of somebody who had withdrawn before the step began. */
  sentAfterWithdrawal: readonly string[]
}

/** So short that a platform which is too slow holds nobody up for long. */
const RESPONSE_TIMEOUT_MILLISECONDS = 200

/**
 * Plays a schedule with workers of this process, then heals everything and delivers until nothing
 * waits. Throws when an operation gives an answer that it should not, or when there is no end.
 */
export async function simulateDelivery(
  service: TestService,
  { steps }: FaultSchedule,
  seed: number,
): Promise<SimulationResult> {
  const heard: (RecordedResponse & { at: number })[] = []
  const actors = await createTrackers(service)
  let at = 0
  const onHeard = (answer: RecordedResponse) => void heard.push({ ...answer, at })
  service.delivery.platforms = service.delivery.platforms.map(platform =>
    recordPlatformResponses(platform, 'the service', onHeard),
  )
  const crew = new CrashableWorkerPool(service, {
    seed,
    trackerIds: actors.map(({ trackerId }) => trackerId),
    context: { platforms: hastyPlatforms(service) },
    onResponse: onHeard,
  })
  const stage = { service, actors, crew }
  try {
    for (const step of steps) {
      await runStep(stage, step)
      at += 1
    }
    await drainDeliveries(service, () => crew.work([null]))
  } finally {
    await crew.close()
  }
  const sentAfterWithdrawal = findWithdrawalViolations(steps, actors, heard)
  return { lostWorkers: crew.lostWorkers, responses: heard, sentAfterWithdrawal }
}

/** A tracker with what its platform knows it by. */
interface SimulatedTracker extends ProvisionedTracker {
  datasetId: string
  accessToken: string
}

interface SimulationContext {
  service: TestService
  actors: readonly SimulatedTracker[]
  crew: CrashableWorkerPool
}

async function createTrackers(service: TestService): Promise<SimulatedTracker[]> {
  const actors: SimulatedTracker[] = []
  for (let number = 0; number < TRACKER_COUNT; number += 1) {
    const tracker = number === 0 ? service.tracker : await service.newTracker()
    actors.push({ ...tracker, ...(await findPlatformTarget(service, tracker)) })
  }
  return actors
}

function hastyPlatforms({ simulatorUrl: baseUrl }: TestService) {
  const timeoutMilliseconds = RESPONSE_TIMEOUT_MILLISECONDS
  return createPlatforms({ baseUrl, version: 'v26.0', timeoutMilliseconds, now: () => new Date() })
}

async function runStep({ service, actors, crew }: SimulationContext, step: Step): Promise<void> {
  const { simulatorUrl, clock, database } = service
  const actorOf = ({ tracker }: { tracker: number }) => actors[tracker] as SimulatedTracker
  switch (step.step) {
    case 'submit':
      for (const event of step.events) await submit(service, actorOf(event), event)
      return
    case 'withdraw':
      return withdraw(service, actorOf(step), step.visitor)
    case 'switch test mode':
      return switchTestMode(service, actorOf(step), step.enabled)
    case 'test purchase':
      return sendTestPurchase(service, actorOf(step))
    case 'replay':
      return replay(service, actorOf(step), step.body)
    case 'fail':
      return scriptFaults(simulatorUrl, step.rules.map(targetDatasets(actors)))
    case 'revoke token':
      return revokeToken(simulatorUrl, actorOf(step).accessToken)
    case 'restore tokens':
      return restoreTokens(simulatorUrl)
    case 'move clock':
      return step.seconds < 0 ? clock.rewind(-step.seconds) : clock.advance(step.seconds)
    case 'work':
      return crew.work(step.crashPoints)
    case 'freeze a worker':
      return crew.freezeOne()
    case 'end leases':
      return expireLeases(database)
  }
}

/** The event as its tracker sends it at this moment. */
function buildSubmission(event: PlannedEvent, now: Date): Record<string, unknown> {
  const { eventId, eventName, visitor, value, ageSeconds, isIncomplete: isUnfit } = event
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
  service: TestService,
  { trackerSecret: secret }: SimulatedTracker,
  event: PlannedEvent,
) {
  const body = buildSubmission(event, service.clock.now())
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
  // Two events that are due at the same moment go out in any order, and a seed could not repeat it.
  service.clock.advance(0.001)
}

async function withdraw(
  service: TestService,
  { trackerSecret: secret }: SimulatedTracker,
  visitor: number,
) {
  const body = {
    event_name: 'consent_withdrawal',
    visitor_id: `visitor-${visitor}`,
    consent_basis: 'legitimate_interest',
  }
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
}

async function switchTestMode(service: TestService, actor: SimulatedTracker, enabled: boolean) {
  const path = `/api/v1/destinations/${actor.destinationId}/test-mode`
  const options = { secret: actor.trackerSecret, body: { enabled } }
  requireStatus(await service.request('PATCH', path, options), 200)
}

/** Refused while test mode is off, and told when the platform did not take it. */
async function sendTestPurchase(service: TestService, actor: SimulatedTracker) {
  const path = `/api/v1/destinations/${actor.destinationId}/test-purchase`
  const options = { secret: actor.trackerSecret }
  requireStatus(await service.request('POST', path, options), 200, 422, 502)
}

async function replay(
  service: TestService,
  { trackerSecret: secret }: SimulatedTracker,
  body: object,
) {
  requireStatus(await service.request('POST', '/api/v1/deliveries/replay', { secret, body }), 200)
}

function requireStatus({ status, text }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`answered ${status}: ${text}`)
}

function targetDatasets(actors: readonly SimulatedTracker[]) {
  return ({ match, ...rule }: FaultRule): FaultRule => {
    if (match?.dataset === undefined) return match ? { match, ...rule } : rule
    const { datasetId } = actors[Number(match.dataset)] as SimulatedTracker
    return { match: { ...match, dataset: datasetId }, ...rule }
  }
}

/** A withdrawal is a step of its own, so every request of a later step knew of it. */
function findWithdrawalViolations(
  steps: readonly Step[],
  actors: readonly SimulatedTracker[],
  heard: readonly (RecordedResponse & { at: number })[],
): string[] {
  const events = steps.flatMap(step => (step.step === 'submit' ? step.events : []))
  return steps.flatMap((step, withdrawnAt) => {
    if (step.step !== 'withdraw') return []
    const { tracker, visitor } = step
    const ofVisitor = events.filter(event => event.tracker === tracker && event.visitor === visitor)
    const theirs = new Set(
      ofVisitor.flatMap(({ eventId, isIncomplete: isUnfit }) => (isUnfit ? [] : eventId)),
    )
    return heard
      .filter(({ at, datasetId }) => at > withdrawnAt && datasetId === actors[tracker]?.datasetId)
      .flatMap(({ eventIds }) => eventIds.filter(eventId => theirs.has(eventId)))
      .map(eventId => `${eventId}: sent after its visitor had withdrawn`)
  })
}

const ROUNDS_MAX = 500

/**
 * Heals the platform, ends the leases of the dead, and delivers until nothing waits, moving the
 * clock on to what is due next. Throws when that has no end.
 */
export async function drainDeliveries(
  service: TestService,
  deliver: () => Promise<unknown> = service.deliver,
): Promise<void> {
  await scriptFaults(service.simulatorUrl, [])
  await restoreTokens(service.simulatorUrl)
  await expireLeases(service.database)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await deliver()
    const dueAt = await findNextDueTime(service)
    if (dueAt === null) return
    const seconds = (dueAt.getTime() - service.clock.now().getTime()) / 1_000
    // What is due now and was not delivered will not be by waiting for no time at all.
    service.clock.advance(Math.max(seconds, 1))
  }
  throw new Error(`deliveries still wait after ${ROUNDS_MAX} rounds`)
}

/** A paused lane is due at its next probe. Never before the whole millisecond is over. */
async function findNextDueTime({ database: { pool } }: TestService): Promise<Date | null> {
  const { rows } = await pool.query(
    `select min(greatest(delivery.next_attempt_at, destination.next_probe_at))
       + interval '1 millisecond' as due_at
     from all_deliveries delivery
     join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     where delivery.next_attempt_at is not null`,
  )
  return rows[0].due_at
}
