import type { Database } from '../../runtime/db/database.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import { skipWaitingOfPerson } from '../delivery/skip-store.ts'
import { isOfPage } from '../events/event-columns.ts'
import { findEventsById } from '../events/event-store.ts'
import {
  addPageWithdrawalKeys,
  erasePageWithdrawals,
  findPageWithdrawals,
  type PageWithdrawal,
  storePageWithdrawal,
} from '../events/page-withdrawal-store.ts'
import { findPayloadsByVisitor } from '../events/payload-search-store.ts'
import {
  computeKeyedDigest,
  countIdentifiers,
  KEYED_WITHDRAWALS_MARKER,
  listPlainWithdrawalKeys,
  listVisitorDigests,
  listWithdrawableGroups,
  toKeyedWithdrawalKey,
} from '../events/person-identifiers.ts'
import { isUnguessableVisitorId } from '../events/session-store.ts'
import { findSuppressedDigests, findTrackersWithErasures } from '../events/suppression-store.ts'
import {
  addWithdrawalKeys,
  listPlatformKeys,
  toPageVisitorKey,
} from '../events/withdrawal-store.ts'
import type { EventDraft } from './event-draft.ts'
import {
  finishSecretWithdrawal,
  prepareSecretWithdrawal,
  tellReach,
  type WithdrawalContext,
  waitForWriters,
} from './withdraw-consent.ts'

/** Adds to the draft of a withdrawal what the commit stores, and what the trace tells. */
export function prepareWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
  origin: string | null,
): Promise<EventDraft> {
  return draft.space === 'publishable'
    ? preparePageWithdrawal(context, draft, origin)
    : prepareSecretWithdrawal(context, draft)
}

/** Completes a withdrawal once its event is committed, or was before. */
export function finishWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
  isNew: boolean,
): Promise<void> {
  return draft.space === 'publishable'
    ? completePageWithdrawal(context, draft)
    : finishSecretWithdrawal(context, draft, isNew)
}

/** Anyone may send a page's withdrawal, so it reads little: a visitor has some fifty events. */
const PAGE_EVENTS_MAX = 500
/** Identifiers of one visitor; one with more is not one person. */
const PAGE_GROUPS_MAX = 20

/** What a page's withdrawal reaches besides the visitor ID. */
interface PageReach {
  digests: string[]
  identifiers: number
  /** The same digests, keyed, which events that name the person in free text have. */
  freeTextDigests: string[]
  /** The keys under which it is stored. */
  keys: string[]
}

/**
 * Finds what a page's withdrawal reaches. A visitor ID that nobody guesses is reached in both
 * spaces, with the identifiers that the shop's back end knows of the visitor: a page that names
 * them itself could name anyone. Any other visitor ID is reached in events of pages only.
 */
async function findPageReach(
  { database, erasureKey }: WithdrawalContext,
  { trackerId, visitorId }: { trackerId: string; visitorId: string },
): Promise<PageReach> {
  if (!isUnguessableVisitorId(visitorId)) {
    const keys = [toPageVisitorKey(visitorId)]
    return { digests: [], identifiers: 0, freeTextDigests: [], keys }
  }
  const search = { trackerId, visitorId, limit: PAGE_EVENTS_MAX }
  const groups = new Map<string, string[]>()
  for (const payload of await findPayloadsByVisitor(database, search)) {
    if (isOfPage(payload)) continue
    const { digests, lookup } = payload
    for (const group of listWithdrawableGroups({ visitorId: null, digests, lookup })) {
      groups.set(group.join(), group)
    }
  }
  const kept = [...groups.values()].slice(0, PAGE_GROUPS_MAX)
  const digests = [...new Set(kept.flat())]
  const keys = listPlainWithdrawalKeys({ visitorId, digests: {} })
  const key = digests.length > 0 ? await erasureKey() : null
  const freeTextDigests = key
    ? digests.map(digest => computeKeyedDigest(key, trackerId, digest))
    : []
  keys.push(...freeTextDigests.map(toKeyedWithdrawalKey))
  return { digests, identifiers: countIdentifiers(kept), freeTextDigests, keys }
}

/** The same keys, or those of the platform that the withdrawal is for. */
async function toStoredKeys(
  { erasureKey }: WithdrawalContext,
  { trackerId, platform }: { trackerId: string; platform: string | null },
  keys: readonly string[],
): Promise<readonly string[]> {
  return platform === null
    ? keys
    : listPlatformKeys(await erasureKey(), { trackerId, platform }, keys)
}

/** The platforms that a page's withdrawal names, each of which is stored apart; null: every one. */
function listPlatforms({ withdrawnPlatforms }: EventDraft): readonly (string | null)[] {
  return withdrawnPlatforms.length > 0 ? withdrawnPlatforms : [null]
}

/**
 * Stores a page's withdrawal, in a table of its own, and tells in the trace how far it reaches. It
 * is stored before its event: should the event not follow, the visitor did withdraw. An event that
 * is stored already withdraws nothing again: see `completePageWithdrawal`.
 */
async function preparePageWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
  origin: string | null,
): Promise<EventDraft> {
  const { trackerId, eventId, receivedAt } = draft
  const visitorId = requireVisitor(draft)
  const stored = await findEventsById(context.database, trackerId, [eventId], ['publishable'])
  if (stored.length > 0) return draft
  const { identifiers, keys } = await findPageReach(context, { trackerId, visitorId })
  const reachesSecret = isUnguessableVisitorId(visitorId)
  const { withdrawnPlatforms } = draft
  const isKeyed = identifiers > 0 || withdrawnPlatforms.length > 0
  if (isKeyed) await markKeyed(context.database, { trackerId, at: receivedAt })
  const ids: string[] = []
  for (const platform of listPlatforms(draft)) {
    const withdrawal = {
      trackerId,
      visitorId,
      platform,
      id: generateUuidV7(receivedAt),
      eventId,
      origin,
      reachesSecret,
      identifiers,
      withdrawnAt: receivedAt,
      keys: await toStoredKeys(context, { trackerId, platform }, keys),
    }
    ids.push(await storePageWithdrawal(context.database, withdrawal))
  }
  await dropOfErased(context, { trackerId, visitorId, lookup: draft.lookup })
  const reaches = reachesSecret ? 'all_events' : 'page_events'
  const reach = { visitor: true, identifiers, reaches }
  return withdrawnPlatforms.length > 0
    ? tellReach(draft, { ...reach, platforms: withdrawnPlatforms, withdrawal_ids: ids })
    : tellReach(draft, { ...reach, withdrawal_id: ids[0] })
}

interface StoredVisitor extends Pick<EventDraft, 'trackerId' | 'lookup'> {
  visitorId: string
}

/**
 * Deletes the withdrawal again when its visitor was erased: nothing of them is sent anyway. It runs
 * after the withdrawal is stored, and an erasure suppresses before it deletes, so one of the two
 * sees the other.
 */
async function dropOfErased(
  { database, erasureKey }: WithdrawalContext,
  { trackerId, visitorId, lookup }: StoredVisitor,
): Promise<void> {
  if ((await findTrackersWithErasures(database, [trackerId])).size === 0) return
  const own = listVisitorDigests(visitorId)
  const digests = [...own, ...(lookup.visitor_id?.flat() ?? [])]
  const key = await erasureKey()
  const keyed = digests.map(digest => computeKeyedDigest(key, trackerId, digest))
  const suppressed = keyed.map(one => ({ trackerId, keyed: one }))
  if ((await findSuppressedDigests(database, suppressed)).size === 0) return
  for (const digest of own) await erasePageWithdrawals(database, trackerId, digest)
}

/** Tells processes that events of the tracker need keyed digests. */
async function markKeyed(
  database: Database,
  { trackerId, at }: { trackerId: string; at: Date },
): Promise<void> {
  const marker = { trackerId, visitorId: KEYED_WITHDRAWALS_MARKER, createdAt: at }
  await addWithdrawalKeys(database, [marker])
}

/**
 * Completes a page's withdrawal as `completeWithdrawal` does. A repeated event completes the
 * withdrawal that is stored for its visitor, unless that was lifted.
 */
async function completePageWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
): Promise<void> {
  const { database } = context
  const { trackerId } = draft
  const visitorId = requireVisitor(draft)
  const platforms = new Set(listPlatforms(draft))
  const stored = await findPageWithdrawals(database, { trackerId, visitorId })
  const isDue = ({ liftedAt, platform }: PageWithdrawal) =>
    liftedAt === null && platforms.has(platform)
  const due = stored.filter(isDue)
  if (due.length === 0) return
  await waitForWriters(database)
  const reach = await findPageReach(context, { trackerId, visitorId })
  const { digests, identifiers, freeTextDigests } = reach
  for (const { id, platform, withdrawnAt, reachesSecret } of due) {
    if (identifiers > 0) await markKeyed(database, { trackerId, at: withdrawnAt })
    const keys = await toStoredKeys(context, { trackerId, platform }, reach.keys)
    await addPageWithdrawalKeys(database, { trackerId, id, withdrawnAt, keys })
    await skipWaitingOfPerson(database, {
      trackerId,
      visitorId,
      digests,
      freeTextDigests,
      at: withdrawnAt,
      reason: 'withdrawn_by_page',
      isOfPagesOnly: !reachesSecret,
      platforms: platform === null ? [] : [platform],
    })
  }
}

function requireVisitor({ visitorId }: EventDraft): string {
  if (visitorId === null) throw new Error('the withdrawal of a page names no visitor')
  return visitorId
}
