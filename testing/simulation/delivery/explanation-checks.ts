import { DAY_MILLISECONDS } from '../../../service/runtime/util/time.ts'
import type { TestService } from '../../fixtures/service.ts'

/** Deliveries that are checked after each step; each costs one read and one list of receipts. */
const SAMPLE_SIZE = 6
const WINDOW_MILLISECONDS = 7 * DAY_MILLISECONDS
const WINDOW_MARGIN_MILLISECONDS = 60_000

/** What the store and the platform know of one delivery, read without the code under test. */
interface Facts {
  trackerId: string
  eventId: string
  status: string
  attemptCount: number
  isTestPurchase: boolean
  isPaused: boolean
  backoffCause: string | null
  backoffUntil: Date | null
  nextAttemptAt: Date | null
  changedAt: Date
  eventTime: Date
  hasPayload: boolean
  lacksTestCode: boolean
  leaseSecondsLeft: number | null
  /** Attempts that ended without a known answer: no usable answer, or a lost worker. */
  unknownAttempts: number
  /** Copies that the platform received. */
  copies: number
}

interface SampledDeliveries {
  /** The secret of each tracker by its ID. */
  secrets: ReadonlyMap<string, string>
  /** Chooses the deliveries. */
  seed: string
}

/** Reads some deliveries as a caller does, and returns what is untrue in their explanations. */
export async function findUntrueExplanations(
  service: TestService,
  { secrets, seed }: SampledDeliveries,
): Promise<string[]> {
  const untrue: string[] = []
  for (const facts of await sampleFacts(service, seed)) {
    const path = `/api/v1/events/${facts.eventId}`
    const { body } = await service.request('GET', path, {
      secret: secrets.get(facts.trackerId) ?? null,
    })
    const text: string = body.deliveries[0].explanation
    const problems = [
      ...checkTimes(text, service.clock.now()),
      ...checkStatus(text, facts),
      ...checkWaiting(text, facts, service.clock.now()),
      ...checkReceipts(text, facts),
    ]
    const where = `${facts.eventId} (${facts.status}) at ${service.clock.now().toISOString()}`
    untrue.push(...problems.map(problem => `${where}: ${problem}: ${text}`))
  }
  return untrue
}

const BEFORE_UPCOMING_TIMES = [
  'tried again at',
  'tries it at',
  'sent before',
  'sent after',
  'tries it after',
  'sends it after',
  'pause until',
  'accepts the event until',
]
const UPCOMING_TIMES = new RegExp(`(?:${BEFORE_UPCOMING_TIMES.join('|')}) (\\S+Z)`, 'g')

/** A next time is in the future, and one that is told as past is past. */
function checkTimes(text: string, now: Date): string[] {
  const past = /(?:was due at|began to send it at|answer since|was replayed at) (\S+Z)/g
  const timesOf = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, time]) => String(time))
  // What was written before the clock was set back lies in the future until it catches up.
  const tellsOfClock = /clock/.test(text)
  return [
    ...timesOf(UPCOMING_TIMES).filter(time => Date.parse(time) <= now.getTime()),
    ...(tellsOfClock ? [] : timesOf(past).filter(time => isFarAhead(new Date(time), now))),
  ].map(time => `${time} is on the wrong side of now`)
}

/** How the explanation of each status begins. */
export const STATUS_OPENINGS: Record<string, RegExp> = {
  queued: /^(Waiting|It is sent after|It will not be sent|Its request sends it)/,
  sent: /^(Being sent|A worker began to send it)/,
  retrying: /^(The first attempt|The last of \d+ attempts) failed\./,
  accepted: /^The platform accepted the event/,
  expired: /^Not sent/,
  'skipped:consent': /^Not sent/,
  'failed:permanent': /^(The platform rejected the event permanently|Not sent)/,
  'failed:auth': /^(The platform rejected the destination|Not sent)/,
  'failed:unknown': /^(Given up after|The platform did not accept|Not sent)/,
}

function checkStatus(text: string, { status, attemptCount, leaseSecondsLeft }: Facts): string[] {
  const problems: string[] = []
  if (!STATUS_OPENINGS[status]?.test(text)) problems.push('does not fit the status')
  if (/^Not sent(?! again)/.test(text) && attemptCount > 0) problems.push('it was tried')
  if (status === 'sent') {
    const isLost = (leaseSecondsLeft ?? 0) <= 0
    if (isLost !== text.includes('was lost')) problems.push('the lease says otherwise')
  }
  return problems
}

/** What a waiting delivery waits for, by the rules of the worker. */
function checkWaiting(text: string, facts: Facts, now: Date): string[] {
  const { status, leaseSecondsLeft, nextAttemptAt } = facts
  const isLost = status === 'sent' && (leaseSecondsLeft ?? 0) <= 0
  const waits = status === 'queued' || status === 'retrying' || isLost
  const ends = waits && willEndUnsent(facts, now)
  const isPaused = waits && !ends && facts.isPaused
  const isDue = waits && nextAttemptAt !== null && nextAttemptAt <= now
  const isActive = waits && !ends && !facts.isPaused
  const hasOutage = isActive && facts.backoffCause === 'unreachable'
  const isAsked = ['throttled', 'request_limit'].includes(facts.backoffCause ?? '')
  const isThrottled = isActive && isDue && isAsked && isAfter(facts.backoffUntil, now)
  const expected: [RegExp, boolean, string][] = [
    [/It will not be sent/, ends, 'that it will not be sent'],
    [/destination is paused/, isPaused, 'the pause of the destination'],
    [/no usable answer/, hasOutage, 'the outage'],
    [
      /with the next batch|Waiting to be sent again/,
      isActive && isDue && !hasOutage && !isThrottled,
      'the next batch',
    ],
  ]
  const problems = expected
    .filter(([pattern, isTrue]) => pattern.test(text) !== isTrue)
    .map(([, isTrue, what]) => `${isTrue ? 'does not tell' : 'tells'} ${what}`)
  if (isThrottled && !/asked for a pause until|are used up, and/.test(text))
    problems.push('does not tell the pause')
  const isAhead = isActive && !isDue && isFarAhead(facts.changedAt, now)
  if (isAhead && !/clock|Its request/.test(text)) problems.push('does not tell of the clock')
  return problems
}

function willEndUnsent({ hasPayload, lacksTestCode, eventTime }: Facts, now: Date): boolean {
  const sentUntil = eventTime.getTime() + WINDOW_MILLISECONDS - WINDOW_MARGIN_MILLISECONDS
  return !hasPayload || lacksTestCode || now.getTime() >= sentUntil
}

/** Whether the platform may have the event, and may have it twice. */
export function checkReceipts(
  text: string,
  facts: Pick<Facts, 'status' | 'copies' | 'unknownAttempts' | 'isTestPurchase'>,
): string[] {
  const { status, copies, unknownAttempts, isTestPurchase } = facts
  if (/count it twice\.$/.test(text)) return []
  const [, said = '0'] = /(One|\d+) attempts? ended without a known answer/.exec(text) ?? []
  const count = said === 'One' ? 1 : Number(said)
  // Attempts of a test purchase count differently, so a few may be left out, but none is made up.
  const isRight = isTestPurchase ? count <= unknownAttempts : count === unknownAttempts
  const problems = isRight ? [] : [`tells ${count} of ${unknownAttempts} unknown attempts`]
  if (status === 'sent') return problems
  if (copies > (status === 'accepted' ? 1 : 0) && !text.includes('may have')) {
    problems.push(`the platform received ${copies} copies`)
  }
  return problems
}

/** More than the clocks of two machines may differ. */
function isFarAhead(time: Date, now: Date): boolean {
  return time.getTime() - now.getTime() > 5_500
}

function isAfter(time: Date | null, now: Date): boolean {
  return time !== null && time > now
}

async function sampleFacts(service: TestService, seed: string): Promise<Facts[]> {
  const { rows } = await service.database.pool.query(
    `select delivery.*, event.event_time, event.event_class, destination.status as state,
       destination.backoff_cause, destination.backoff_until,
       destination.config ->> 'dataset_id' as dataset_id,
       delivery.is_test and destination.test_event_code is null as lacks_test_code,
       coalesce(delivery.updated_at, delivery.created_at) as changed_at,
       extract(epoch from delivery.leased_until - statement_timestamp())::double precision
         as lease_seconds_left,
       exists (
         select from event_payloads payload
         where payload.tracker_id = delivery.tracker_id and payload.event_id = delivery.event_id
       ) as has_payload,
       (select count(*) from send_attempts attempt
        where attempt.id = any(delivery.attempt_ids) and attempt.outcome = 'unknown') as unanswered,
       (select count(*) from recorded_transitions move
        where move.tracker_id = delivery.tracker_id and move.event_id = delivery.event_id
          and move.id = delivery.id and move.is_claim and move.status_before = 'sent') as takeovers
     from all_deliveries delivery
     join events event using (tracker_id, event_id)
     join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     order by md5($1 || delivery.tracker_id::text || delivery.id::text) limit $2`,
    [seed, SAMPLE_SIZE],
  )
  return Promise.all(rows.map(row => toFacts(service, row)))
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
async function toFacts({ simulatorUrl }: TestService, row: any): Promise<Facts> {
  const query = new URLSearchParams({ dataset: row.dataset_id, event_id: row.event_id, limit: '0' })
  const received = await fetch(`${simulatorUrl}/_simulator/received?${query}`)
  const { count } = (await received.json()) as { count: number }
  const isLost = row.status === 'sent' && row.lease_seconds_left <= 0
  return {
    trackerId: row.tracker_id,
    eventId: row.event_id,
    status: row.status,
    attemptCount: row.attempt_count,
    isTestPurchase: row.event_class === 'test',
    isPaused: row.state === 'inactive',
    backoffCause: row.backoff_cause,
    backoffUntil: row.backoff_until,
    nextAttemptAt: row.next_attempt_at,
    changedAt: row.changed_at,
    eventTime: row.event_time,
    hasPayload: row.has_payload,
    lacksTestCode: row.lacks_test_code,
    leaseSecondsLeft: row.lease_seconds_left,
    unknownAttempts: Number(row.unanswered) + Number(row.takeovers) + (isLost ? 1 : 0),
    copies: count,
  }
}
