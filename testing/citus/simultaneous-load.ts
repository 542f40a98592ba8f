import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { samplePageView, samplePurchase } from '../fixtures/sample-events.ts'
import type { TestService } from '../fixtures/service.ts'

/** What a tracker got for all of its requests. */
export interface TrackerAnswers {
  /** Events that were sent. */
  events: number
  /** IDs that got 202. */
  accepted: string[]
  /** Requests of any kind, by their name and status, without successes. */
  refused: Map<string, number>
}

export type Answers = ReadonlyMap<string, TrackerAnswers>

interface Request {
  name: string
  method: string
  path: string
  secret: string
  body?: Record<string, unknown>
}

/** Longer than keys and destinations are cached, so that every round looks them up again. */
const ROUND_PAUSE_MILLISECONDS = 550
const REPLAY_EACH_ROUNDS = 5

/** Events that each tracker sends in a round. */
export const EVENTS_PER_ROUND = 4

/**
 * Sends from all trackers at the same moment, round by round, so that the lookups of all of them
 * meet. In each round a tracker sends two events with its secret and two with its publishable key,
 * reads one of its events and lists them; now and then it replays.
 */
export async function sendInRounds(
  service: TestService,
  trackers: readonly ProvisionedTracker[],
  rounds: readonly string[],
): Promise<Answers> {
  const answers = new Map(trackers.map(({ trackerId }) => [trackerId, noAnswers()]))
  for (const [index, round] of rounds.entries()) {
    await pause(ROUND_PAUSE_MILLISECONDS)
    const sends = trackers.flatMap(tracker =>
      listRequests(tracker, round, index % REPLAY_EACH_ROUNDS === 0).map(request =>
        send(service, request, answers.get(tracker.trackerId) as TrackerAnswers),
      ),
    )
    await Promise.all(sends)
  }
  return answers
}

/** What these trackers got together. */
export function countAnswers(answers: Answers, trackers: readonly ProvisionedTracker[]) {
  const total = { events: 0, accepted: 0, refused: {} as Record<string, number> }
  for (const { trackerId } of trackers) {
    const own = answers.get(trackerId) ?? noAnswers()
    total.events += own.events
    total.accepted += own.accepted.length
    for (const [answer, count] of own.refused) {
      total.refused[answer] = (total.refused[answer] ?? 0) + count
    }
  }
  return total
}

/** Every acknowledged event is stored once, with one delivery that the platform accepted. */
export async function assertSentOnce(
  { database: { pool } }: TestService,
  runs: readonly Answers[],
): Promise<void> {
  for (const trackerId of runs[0]?.keys() ?? []) {
    const accepted = runs.flatMap(answers => answers.get(trackerId)?.accepted ?? [])
    const { rows } = await pool.query(
      `select event_id, array_agg(status) as statuses from all_deliveries
       where tracker_id = $1::uuid group by event_id order by event_id`,
      [trackerId],
    )
    const expected = ['first', ...accepted].sort()
    assert.deepEqual(
      rows.map(row => [row.event_id, row.statuses]),
      expected.map(id => [id, ['accepted']]),
    )
  }
}

/** The event that every tracker must have before `sendInRounds`, which reads it. */
export function firstEvent() {
  return samplePurchase({ event_id: 'first', visitor_id: 'first' })
}

function listRequests(
  { trackerSecret, publishableKey }: ProvisionedTracker,
  round: string,
  isReplaying: boolean,
): Request[] {
  const post = { method: 'POST', path: '/api/v1/events' }
  // The platform refuses an event without identity.
  const user_data = { em: 'jane@example.com' }
  const purchases = [1, 2].map(n => ({
    ...post,
    name: 'event with a secret',
    secret: trackerSecret,
    body: samplePurchase({ event_id: `${round}-purchase-${n}`, visitor_id: `${round}-${n}` }),
  }))
  const views = [1, 2].map(n => ({
    ...post,
    name: 'event with a publishable key',
    secret: publishableKey,
    body: samplePageView({
      event_id: `${round}-view-${n}`,
      visitor_id: `${round}-${n}`,
      user_data,
    }),
  }))
  const read = { method: 'GET', secret: trackerSecret }
  const reads = [
    { ...read, name: 'read', path: '/api/v1/events/first' },
    { ...read, name: 'list', path: '/api/v1/dashboard/events' },
  ]
  const replay = { ...post, name: 'replay', path: '/api/v1/deliveries/replay' }
  const replays = isReplaying ? [{ ...replay, secret: trackerSecret, body: {} }] : []
  return [...purchases, ...views, ...reads, ...replays]
}

async function send(
  service: TestService,
  { name, method, path, secret, body }: Request,
  answers: TrackerAnswers,
): Promise<void> {
  const { status } = await service.request(method, path, { secret, body })
  const isEvent = path === '/api/v1/events'
  if (isEvent) answers.events += 1
  if (status >= 300) {
    const answer = `${name}: ${status}`
    answers.refused.set(answer, (answers.refused.get(answer) ?? 0) + 1)
  } else if (isEvent) answers.accepted.push(String(body?.event_id))
}

function noAnswers(): TrackerAnswers {
  return { events: 0, accepted: [], refused: new Map() }
}
