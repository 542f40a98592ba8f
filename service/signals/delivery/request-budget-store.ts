import type { Database } from '../../runtime/db/database.ts'
import { utcDay } from '../../runtime/db/sql-fragments.ts'
import { DAY_MILLISECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import type { RequestBudget } from '../platforms/platform.ts'

/** A limit of requests, and the platform that has it. */
export interface PlatformBudget extends RequestBudget {
  platform: string
}

/** A process reserves at most this share of a minute at once, so that others get theirs. */
const CHUNK_SHARE = 0.1
const MINUTE_MILLISECONDS = MINUTE_SECONDS * 1_000
const KEYS_MAX = 10_000

/** What this process has reserved of one limit, in one minute. */
interface Reservation {
  minute: number
  requestsLeft: number
  /** Doubled with each reservation of the minute, so that little is reserved and not used. */
  nextChunk: number
  /** None is left for any process until then. */
  emptyUntil: number
}

/**
 * The limits of requests that destinations share, over all processes. Requests are reserved in
 * chunks, so that most take no statement; what is not used in its minute is lost. Windows are
 * minutes and UTC days.
 */
export class RequestBudgets {
  readonly #database: Database
  readonly #reservations = new Map<string, Reservation>()

  /** On a cluster, the coordinator. */
  constructor(database: Database) {
    this.#database = database
  }

  /** Takes one request. Returns 0, or how many seconds to wait because none is left. */
  async take(budget: PlatformBudget, now: Date): Promise<number> {
    const own = this.#reservationOf(budget, now)
    // Another request of this process may take what this one reserved.
    while (own.emptyUntil <= now.getTime() && own.requestsLeft === 0) {
      await this.#reserve(budget, own, now)
    }
    if (own.requestsLeft === 0) return Math.max(1, (own.emptyUntil - now.getTime()) / 1_000)
    own.requestsLeft -= 1
    return 0
  }

  #reservationOf({ platform, key }: PlatformBudget, now: Date): Reservation {
    const minute = Math.floor(now.getTime() / MINUTE_MILLISECONDS)
    const name = `${platform} ${key}`
    const found = this.#reservations.get(name)
    if (found?.minute === minute) return found
    // A clock that was set back starts anew: it must not wait for the time that it showed before.
    const emptyUntil = found && found.minute < minute ? found.emptyUntil : 0
    const started = { minute, requestsLeft: 0, nextChunk: 1, emptyUntil }
    this.#reservations.delete(name)
    this.#reservations.set(name, started)
    // The oldest is of a past minute, or it is read again by the next request.
    const [oldest] = this.#reservations.keys()
    if (this.#reservations.size > KEYS_MAX && oldest !== undefined) {
      this.#reservations.delete(oldest)
    }
    return started
  }

  async #reserve(budget: PlatformBudget, own: Reservation, now: Date): Promise<void> {
    const chunkMax = Math.max(1, Math.floor(budget.perMinute * CHUNK_SHARE))
    for (const count of new Set([own.nextChunk, 1])) {
      const reserved = await reserveRequests(this.#database, budget, { count, at: now })
      if (!reserved) continue
      own.requestsLeft += count
      own.nextChunk = Math.min(own.nextChunk * 2, chunkMax)
      return
    }
    // Another request of this process may have reserved meanwhile.
    if (own.requestsLeft > 0) return
    const isDayUsed = await isDayUsedUp(this.#database, budget, now)
    own.emptyUntil = isDayUsed ? nextDay(now) : (own.minute + 1) * MINUTE_MILLISECONDS
  }
}

/** At most an hour, since a limit may be raised, and the platform's day may be another one. */
function nextDay(now: Date): number {
  const midnight = (Math.floor(now.getTime() / DAY_MILLISECONDS) + 1) * DAY_MILLISECONDS
  return Math.min(midnight, now.getTime() + HOUR_SECONDS * 1_000)
}

const DAY = utcDay('$3::timestamptz')

/**
 * A process whose clock is behind counts in the later window, up to five minutes. A window that is
 * further ahead was opened by a clock that was wrong, once or still: it would take the requests of
 * hours, so a new one begins. Clocks that stay so far apart have a limit each, and the platform's
 * own limit is left.
 */
const IS_FAR_AHEAD = `budget.minute > excluded.minute + interval '5 minutes'`
const USED_OF_MINUTE = `case when budget.minute >= excluded.minute and not ${IS_FAR_AHEAD}
               then budget.minute_reserved else 0 end`
const USED_OF_DAY = `case when budget.day >= excluded.day and not ${IS_FAR_AHEAD}
               then budget.day_reserved else 0 end`

/** False when this minute or this day has too few left, for all processes together. */
async function reserveRequests(
  { pool }: Database,
  { platform, key, perMinute, perDay }: PlatformBudget,
  { count, at }: { count: number; at: Date },
): Promise<boolean> {
  if (count > Math.min(perMinute, perDay)) return false
  const { rows } = await pool.query({
    name: 'reserve-requests',
    text: `insert into request_budgets as budget
             (platform, key, minute, minute_reserved, day, day_reserved)
           values ($1::text, $2::text, date_trunc('minute', $3::timestamptz, 'UTC'),
             $4::integer, ${DAY}, $4::integer)
           on conflict (platform, key) do update set
             minute = case when ${IS_FAR_AHEAD} then excluded.minute
               else greatest(budget.minute, excluded.minute) end,
             minute_reserved = ${USED_OF_MINUTE} + excluded.minute_reserved,
             day = case when ${IS_FAR_AHEAD} then excluded.day
               else greatest(budget.day, excluded.day) end,
             day_reserved = ${USED_OF_DAY} + excluded.day_reserved
           where ${USED_OF_MINUTE} + excluded.minute_reserved <= $5::integer
             and ${USED_OF_DAY} + excluded.day_reserved <= $6::integer
           returning platform`,
    values: [platform, key, at, count, perMinute, perDay],
  })
  return rows.length > 0
}

async function isDayUsedUp(
  { pool }: Database,
  { platform, key, perDay }: PlatformBudget,
  at: Date,
): Promise<boolean> {
  const { rows } = await pool.query({
    text: `select day_reserved >= $4::integer as is_used from request_budgets
           where platform = $1::text and key = $2::text and day >= ${DAY}`,
    values: [platform, key, at, perDay],
  })
  return rows[0]?.is_used ?? perDay < 1
}
