import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { skipWaitingOfPerson } from '../delivery/skip-store.ts'
import { findPayloadsByVisitor } from '../events/erase-store.ts'
import {
  type ErasureKeyProvider,
  IDENTIFYING_KEYS,
  KEYED_WITHDRAWALS_MARKER,
  listKeyedWithdrawalKeys,
  listWithdrawableDigests,
  type PersonIdentifiers,
} from '../events/person-identifiers.ts'
import { waitForPayloadWriters } from '../events/suppression-store.ts'
import { addWithdrawalKeys, findPersonWithdrawals } from '../events/withdrawal-store.ts'

export interface WithdrawalContext {
  database: Database
  erasureKey: ErasureKeyProvider
}

/** The person who withdraws consent, as the event names them. */
interface WithdrawingPerson extends PersonIdentifiers {
  trackerId: string
}

/** The identifiers that a withdrawal reaches besides the visitor ID. */
interface WithdrawalReach {
  /** Digests of email addresses, phone numbers and external IDs. */
  digests: string[]
  /** The keys under which the withdrawal is stored for them. */
  keyedKeys: string[]
}

/** A hundred events a day over the retention of payloads. */
const VISITOR_EVENTS_MAX = 10_000
/** A person has a handful; a visitor ID with more is a cash register or a constant. */
const DIGESTS_MAX = 1_000

/**
 * Finds the identifiers that a withdrawal reaches: those that it names, and those that events of
 * the visitor carried, because later events may name the person by these alone. They become keyed
 * digests, which remain when payloads expire or the person is erased.
 */
export async function findWithdrawalReach(
  { database, erasureKey }: WithdrawalContext,
  person: WithdrawingPerson,
): Promise<WithdrawalReach> {
  const { trackerId, visitorId } = person
  const found = new Set(listWithdrawableDigests(person))
  if (visitorId !== null) {
    const search = { trackerId, visitorId, limit: VISITOR_EVENTS_MAX }
    for (const { digests } of await findPayloadsByVisitor(database, search)) {
      for (const key of IDENTIFYING_KEYS) for (const digest of digests[key] ?? []) found.add(digest)
    }
  }
  const digests = [...found].slice(0, DIGESTS_MAX)
  if (digests.length === 0) return { digests, keyedKeys: [] }
  const keyed = listKeyedWithdrawalKeys(await erasureKey(), trackerId, digests)
  return { digests, keyedKeys: [KEYED_WITHDRAWALS_MARKER, ...keyed] }
}

const WAIT_SECONDS_MAX = 10

interface StoredWithdrawal {
  person: WithdrawingPerson
  withdrawnAt: Date
  /** The keys under which it is already stored. */
  storedKeys: readonly string[]
}

/**
 * Completes a withdrawal after its commit. Statements that began before the commit may have stored
 * events of the visitor with further identifiers, so it waits for them and looks again. Then it
 * skips what waits for delivery. Safe to repeat. Throws a 503 refusal when the wait takes too long:
 * a caller who repeats the event completes the withdrawal.
 */
export async function completeWithdrawal(
  context: WithdrawalContext,
  { person, withdrawnAt, storedKeys }: StoredWithdrawal,
): Promise<void> {
  const { database } = context
  const { trackerId, visitorId } = person
  if (visitorId !== null && !(await waitForPayloadWriters(database, WAIT_SECONDS_MAX, 'skip'))) {
    throw Refusal.unavailable(
      'Events are being stored too slowly to complete the withdrawal; try again.',
      1,
    )
  }
  const { digests, keyedKeys } = await findWithdrawalReach(context, person)
  const stored = new Set(storedKeys)
  const added = keyedKeys.filter(key => !stored.has(key))
  await addWithdrawalKeys(
    database,
    added.map(key => ({ trackerId, visitorId: key, createdAt: withdrawnAt })),
  )
  await skipWaitingOfPerson(database, { trackerId, visitorId, digests, at: withdrawnAt })
}

/**
 * Completes the withdrawal of a repeated event, whose first request may have been interrupted
 * between its commit and its answer. The body of a repeated event may differ from the first one and
 * counts for nothing, so only a withdrawal of the visitor that is stored is completed.
 */
export async function completeRepeatedWithdrawal(
  context: WithdrawalContext,
  { trackerId, visitorId }: WithdrawingPerson,
): Promise<void> {
  const { database, erasureKey } = context
  const person = { trackerId, visitorId, digests: {} }
  const { latest } = await findPersonWithdrawals(database, [person], erasureKey)
  const withdrawnAt = latest(person)
  if (visitorId === null || withdrawnAt === null) return
  await completeWithdrawal(context, { person, withdrawnAt, storedKeys: [] })
}
