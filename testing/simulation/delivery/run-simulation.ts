import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { ProvisionedTracker } from '../../../service/program/provisioning/provision-tracker.ts'
import { createSimulatorPlatforms } from '../../../service/signals/platforms/registry.ts'
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
import { findUntrueExplanations } from './explanation-checks.ts'
import {
  type FaultSchedule,
  type PlannedEvent,
  type Step,
  TRACKER_COUNT,
} from './fault-schedule.ts'
import type { Observations, RecordedResponse } from './invariants.ts'

/** What a simulation observed. */
interface SimulationResult extends Observations {
  /** Requests with an event of a visitor who had withdrawn before the step began. */
  sentAfterWithdrawal: readonly string[]
  /** Explanations that were untrue when they were read, after any step. */
  untrueExplanations: readonly string[]
}

/** Short, so that slow responses do not delay the test. */
const RESPONSE_TIMEOUT_MILLISECONDS = 200

/**
 * Runs a schedule with workers of this process, then clears all faults and delivers until nothing
 * is pending. Throws on an unexpected response or when deliveries never finish.
 */
export async function simulateDelivery(
  service: TestService,
  { steps }: FaultSchedule,
  seed: number,
): Promise<SimulationResult> {
  const responses: (RecordedResponse & { at: number })[] = []
  const trackers = await createTrackers(service)
  const secrets = new Map(trackers.map(tracker => [tracker.trackerId, tracker.trackerSecret]))
  const untrueExplanations: string[] = []
  let at = 0
  const onResponse = (answer: RecordedResponse) => void responses.push({ ...answer, at })
  service.delivery.platforms = service.delivery.platforms.map(platform =>
    recordPlatformResponses(platform, 'the service', onResponse),
  )
  const workers = new CrashableWorkerPool(service, {
    seed,
    trackerIds: trackers.map(({ trackerId }) => trackerId),
    context: { platforms: impatientPlatforms(service) },
    onResponse,
  })
  const simulation = { service, trackers, workers }
  try {
    for (const step of steps) {
      await runStep(simulation, step)
      const sampled = { secrets, seed: `${seed} ${at}` }
      untrueExplanations.push(...(await findUntrueExplanations(service, sampled)))
      at += 1
    }
    await drainDeliveries(service, () => workers.work([null]))
  } finally {
    await workers.close()
  }
  const sentAfterWithdrawal = findWithdrawalViolations(steps, trackers, responses)
  const { lostWorkers } = workers
  return { lostWorkers, responses, sentAfterWithdrawal, untrueExplanations }
}

/** A tracker with its dataset and access token. */
interface SimulatedTracker extends ProvisionedTracker {
  datasetId: string
  accessToken: string
}

interface SimulationContext {
  service: TestService
  trackers: readonly SimulatedTracker[]
  workers: CrashableWorkerPool
}

async function createTrackers(service: TestService): Promise<SimulatedTracker[]> {
  const trackers: SimulatedTracker[] = []
  for (let number = 0; number < TRACKER_COUNT; number += 1) {
    const tracker = number === 0 ? service.tracker : await service.newTracker()
    trackers.push({ ...tracker, ...(await findPlatformTarget(service, tracker)) })
  }
  return trackers
}

function impatientPlatforms({ simulatorUrl: baseUrl }: TestService) {
  const timeoutMilliseconds = RESPONSE_TIMEOUT_MILLISECONDS
  return createSimulatorPlatforms({
    simulatorUrl: baseUrl,
    timeoutMilliseconds,
    now: () => new Date(),
  })
}

async function runStep(
  { service, trackers, workers }: SimulationContext,
  step: Step,
): Promise<void> {
  const { simulatorUrl, clock, database } = service
  const trackerOf = ({ tracker }: { tracker: number }) => trackers[tracker] as SimulatedTracker
  switch (step.step) {
    case 'submit':
      for (const event of step.events) await submit(service, trackerOf(event), event)
      return
    case 'withdraw':
      return withdraw(service, trackerOf(step), step.visitor)
    case 'switch test mode':
      return switchTestMode(service, trackerOf(step), step.enabled)
    case 'test purchase':
      return sendTestPurchase(service, trackerOf(step))
    case 'replay':
      return replay(service, trackerOf(step), step.body)
    case 'inject faults':
      return scriptFaults(simulatorUrl, step.rules.map(targetDatasets(trackers)))
    case 'revoke token':
      return revokeToken(simulatorUrl, trackerOf(step).accessToken)
    case 'restore tokens':
      return restoreTokens(simulatorUrl)
    case 'move clock':
      return step.seconds < 0 ? clock.rewind(-step.seconds) : clock.advance(step.seconds)
    case 'work':
      return workers.work(step.crashPoints)
    case 'freeze worker':
      return workers.freezeOne()
    case 'end leases':
      return expireLeases(database)
  }
}

/** The event as its tracker sends it at this moment. */
function buildSubmission(event: PlannedEvent, now: Date): Record<string, unknown> {
  const { eventId, eventName, visitor, value, ageSeconds, isIncomplete } = event
  return samplePurchase({
    event_id: eventId,
    event_name: eventName,
    event_time: Math.floor(now.getTime() / 1_000) - ageSeconds,
    visitor_id: isIncomplete ? undefined : `visitor-${visitor}`,
    user_data: isIncomplete ? { country: 'de' } : { em: `visitor-${visitor}@shop.example` },
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

async function switchTestMode(service: TestService, tracker: SimulatedTracker, enabled: boolean) {
  const path = `/api/v1/destinations/${tracker.destinationId}/test-mode`
  const options = { secret: tracker.trackerSecret, body: { enabled } }
  requireStatus(await service.request('PATCH', path, options), 200)
}

/** 422 while test mode is off, 502 when the platform did not accept it. */
async function sendTestPurchase(service: TestService, tracker: SimulatedTracker) {
  const path = `/api/v1/destinations/${tracker.destinationId}/test-purchase`
  const options = { secret: tracker.trackerSecret }
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

function targetDatasets(trackers: readonly SimulatedTracker[]) {
  return ({ match, ...rule }: FaultRule): FaultRule => {
    if (match?.dataset === undefined) return match ? { match, ...rule } : rule
    const { datasetId } = trackers[Number(match.dataset)] as SimulatedTracker
    return { match: { ...match, dataset: datasetId }, ...rule }
  }
}

/** A withdrawal is its own step, so every request of a later step must respect it. */
function findWithdrawalViolations(
  steps: readonly Step[],
  trackers: readonly SimulatedTracker[],
  responses: readonly (RecordedResponse & { at: number })[],
): string[] {
  const events = steps.flatMap(step => (step.step === 'submit' ? step.events : []))
  return steps.flatMap((step, withdrawnAt) => {
    if (step.step !== 'withdraw') return []
    const { tracker, visitor } = step
    const submitted = events.filter(event => event.tracker === tracker && event.visitor === visitor)
    const ofVisitor = new Set(
      submitted.flatMap(({ eventId, isIncomplete }) => (isIncomplete ? [] : eventId)),
    )
    return responses
      .filter(({ at, datasetId }) => at > withdrawnAt && datasetId === trackers[tracker]?.datasetId)
      .flatMap(({ eventIds }) => eventIds.filter(eventId => ofVisitor.has(eventId)))
      .map(eventId => `${eventId}: sent after its visitor had withdrawn`)
  })
}

const ROUNDS_MAX = 500

/**
 * Clears all faults, expires the leases of lost workers and delivers until nothing is pending,
 * advancing the clock to the next due delivery. Throws after too many rounds.
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
    // What is due now and was not delivered needs the clock to move.
    service.clock.advance(Math.max(seconds, 1))
  }
  throw new Error(`deliveries still wait after ${ROUNDS_MAX} rounds`)
}

/**
 * A paused queue is due at its next probe, another when its pause is over. Rounded up to the whole
 * millisecond.
 */
async function findNextDueTime({ database: { pool } }: TestService): Promise<Date | null> {
  const { rows } = await pool.query(
    `select min(greatest(delivery.next_attempt_at, destination.next_probe_at,
         destination.backoff_until))
       + interval '1 millisecond' as due_at
     from all_deliveries delivery
     join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     where delivery.next_attempt_at is not null`,
  )
  return rows[0].due_at
}
