import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { stopErasedDeliveries } from '../delivery/stop-erased-deliveries.ts'
import {
  type ErasureCounts,
  eraseEvents,
  eraseSessionsAndWithdrawals,
} from '../events/erase-store.ts'
import { eventRefKey } from '../events/event-columns.ts'
import { listFreeTextDigests } from '../events/free-text.ts'
import { backfillIndexKeys } from '../events/payload-index-store.ts'
import {
  type ErasablePayload,
  findPayloadRefs,
  findPayloadsByVisitor,
  readPayloads,
} from '../events/payload-search-store.ts'
import {
  IDENTIFYING_KEYS,
  type IdentifyingKey,
  listDigestsOfKey,
  listOtherForms,
  listVisitorDigests,
  matchesPerson,
} from '../events/person-identifiers.ts'
import { findWithdrawnVisitors } from '../events/withdrawal-store.ts'

import { storeErasureMessages } from './erasure-message-store.ts'
import { addMinutes, ERASURE_DELAY_MINUTES } from './send-erasures.ts'

/** The person to erase, by the digest of one identifier. */
interface ErasureSubject {
  trackerId: string
  digest: string
  /** The keys under which the digest is searched. */
  keys: readonly IdentifyingKey[]
}

const PAGE_EVENTS = 1_000
/** 50,000 events per request; a person has dozens. */
const PAGES_MAX = 50
/** A hundred events a day over the retention of payloads. An ID with more is not one person's. */
const VISITOR_EVENTS_MAX = 10_000
/** A household. A visitor ID with more people is a cash register or a constant. */
const VISITOR_PEOPLE_MAX = 10
/** An identifier has a handful of forms. */
const FORMS_MAX = 50

/**
 * Erases the events that identify the person, and the events of the same visitors that identify no
 * one else, such as page views before a sign-in. The latter go first, because nothing leads to them
 * afterwards; for the same reason the events go first that have another form of the identifier, to
 * which these events lead. Throws a 503 refusal when one request cannot erase everything.
 */
export async function erasePerson(
  context: ErasureContext,
  person: ErasureSubject,
): Promise<ErasureCounts> {
  const progress: ErasureProgress = {
    total: { events: 0, sessions: 0 },
    visitors: new Set(),
    forms: new Set([person.digest]),
    pages: 0,
  }
  await eraseForm(context, person, { progress, searched: [] })
  return progress.total
}

interface ErasureProgress {
  total: ErasureCounts
  /** The visitors searched so far. */
  visitors: Set<string>
  /** The digests of the person's identifier so far: that of the request, and its other forms. */
  forms: Set<string>
  pages: number
}

interface FormSearch {
  progress: ErasureProgress
  /** The forms that led to this one. Events that have one of them are erased with it. */
  searched: readonly string[]
}

async function eraseForm(
  context: ErasureContext,
  person: ErasureSubject,
  { progress, searched }: FormSearch,
): Promise<void> {
  const { trackerId, digest, keys } = person
  const { total } = progress
  const limit = (PAGES_MAX - progress.pages) * PAGE_EVENTS + 1
  const search = { trackerId, digest, freeTextDigest: context.toKeyed(digest), limit }
  const refs = await findPayloadRefs(context.database, search)
  for (let first = 0; first < refs.length; first += PAGE_EVENTS) {
    if (progress.pages === PAGES_MAX)
      throw Refusal.unavailable('More events remain to be erased; try again.', 1)
    progress.pages += 1
    const ofPage = refs.slice(first, first + PAGE_EVENTS)
    const page = await readPayloads(context.database, trackerId, ofPage)
    const names = (payload: ErasablePayload, form: string) =>
      matchesPerson(payload, { digest: form, keys }) || isInFreeText(context, payload, form)
    const matching = page.filter(payload => names(payload, digest))
    await backfillIndexKeys(context.database, trackerId, listUnindexed(page, matching))
    await eraseOtherForms(context, person, { matching, progress, searched })
    const erasure = { trackerId, digests: [...progress.forms] }
    const leadsHere = (payload: ErasablePayload) => searched.some(form => names(payload, form))
    const named = matching.filter(payload => !leadsHere(payload))
    for await (const related of findRelatedPayloads(context, person, { named, progress })) {
      const others = related.filter(payload => !leadsHere(payload))
      addCounts(total, await eraseEventsAndDeliveries(context, erasure, others))
    }
    addCounts(total, await eraseEventsAndDeliveries(context, erasure, named))
  }
  total.sessions += await eraseVisitors(context, person, progress)
}

/** The text of an event names the person, who may not be the one whose event it is. */
function isInFreeText({ toKeyed }: ErasureContext, payload: ErasablePayload, digest: string) {
  const named = listFreeTextDigests(payload)
  return named.length > 0 && named.includes(toKeyed(digest))
}

function listUnindexed(
  page: readonly ErasablePayload[],
  matching: readonly ErasablePayload[],
): ErasablePayload[] {
  return page.filter(payload => payload.isUnindexed && !matching.includes(payload))
}

/**
 * Erases the events with other forms of the identifier that these events know. Each form is
 * suppressed first, as the digest of the request is, so that new events do not escape.
 */
async function eraseOtherForms(
  context: ErasureContext,
  person: ErasureSubject,
  { matching, progress, searched }: FormSearch & { matching: readonly ErasablePayload[] },
): Promise<void> {
  const { digest, keys } = person
  const { forms } = progress
  const found = matching.flatMap(payload => listOtherForms(payload, new Set([digest]), keys))
  const added = [...new Set(found)]
    .filter(form => !forms.has(form))
    .slice(0, FORMS_MAX - forms.size)
  if (added.length === 0) return
  for (const form of added) forms.add(form)
  await context.suppress(added)
  for (const form of added) {
    const other = { ...person, digest: form }
    await eraseForm(context, other, { progress, searched: [...searched, digest] })
  }
}

/** Deletes what belongs to no event: sessions and withdrawals under the digest. */
async function eraseVisitors(
  { database }: ErasureContext,
  { trackerId, digest }: ErasureSubject,
  { visitors }: ErasureProgress,
): Promise<number> {
  const visitorIds = [...visitors].filter(visitorId =>
    listVisitorDigests(visitorId).includes(digest),
  )
  visitorIds.push(...(await findWithdrawnVisitors(database, trackerId, digest)))
  return eraseSessionsAndWithdrawals(database, { trackerId, digest, visitorIds })
}

interface VisitorSearch {
  /** The events that identify the person. */
  named: readonly ErasablePayload[]
  progress: ErasureProgress
}

/** The other events of the visitors in `named`, in pages. */
async function* findRelatedPayloads(
  { database }: ErasureContext,
  { trackerId, digest, keys }: ErasureSubject,
  { named, progress: { visitors, forms } }: VisitorSearch,
): AsyncGenerator<ErasablePayload[]> {
  const namedRefs = new Set(named.map(eventRefKey))
  const isIdentified = (payload: ErasablePayload) => matchesPerson(payload, { digest, keys })
  const identified = keys.filter(key =>
    named.some(payload => listDigestsOfKey(payload, key).includes(digest)),
  )
  // Free text may name a third person: it leads to the visitor only where nothing else names one.
  const own = named.filter(
    payload => isIdentified(payload) || listDigestsOfKeys(payload, IDENTIFYING_KEYS).length === 0,
  )
  for (const payload of own) {
    const { visitorId } = payload
    const namedBy = isIdentified(payload) ? identified : IDENTIFYING_KEYS
    if (visitorId === null || visitors.has(visitorId)) continue
    visitors.add(visitorId)
    const limit = VISITOR_EVENTS_MAX + 1
    const found = await findPayloadsByVisitor(database, { trackerId, visitorId, limit })
    if (found.length === limit || isSharedVisitor(found)) continue
    const others = found.filter(
      other =>
        !namedRefs.has(eventRefKey(other)) && !identifiesAnotherPerson(other, { forms, namedBy }),
    )
    for (let index = 0; index < others.length; index += PAGE_EVENTS) {
      yield others.slice(index, index + PAGE_EVENTS)
    }
  }
}

function listDigestsOfKeys(payload: ErasablePayload, keys: readonly IdentifyingKey[]): string[] {
  return keys.flatMap(key => listDigestsOfKey(payload, key))
}

function isSharedVisitor(found: readonly ErasablePayload[]): boolean {
  return IDENTIFYING_KEYS.some(key => {
    const people = new Set(found.map(one => listDigestsOfKey(one, key)[0]).filter(Boolean))
    return people.size > VISITOR_PEOPLE_MAX
  })
}

/** Two people share a browser: the event has another identifier of the same kind. */
function identifiesAnotherPerson(
  payload: ErasablePayload,
  { forms, namedBy }: { forms: ReadonlySet<string>; namedBy: readonly IdentifyingKey[] },
): boolean {
  return namedBy.some(key => {
    const given = listDigestsOfKey(payload, key)
    return given.length > 0 && !given.some(digest => forms.has(digest))
  })
}

function addCounts(total: ErasureCounts, { events, sessions }: ErasureCounts): void {
  total.events += events
  total.sessions += sessions
}

interface ErasureContext {
  database: Database
  /** The names of the platforms that take erasures. */
  platforms?: readonly string[]
  now: () => Date
  /** Suppresses digests in new events, and waits for events that are being stored. */
  suppress: (digests: readonly string[]) => Promise<void>
  /** See `computeKeyedDigest`: events that name the person in free text have these. */
  toKeyed: (digest: string) => string
}

/**
 * Erases these events everywhere: stops queued deliveries, deletes the answers of the platform, and
 * deletes the payloads last, because a repeated request needs them to find the rest after an
 * interruption. A worker may send one of the events in between, so deliveries are stopped a second
 * time; a later answer finds no payload (stop-erased-deliveries.ts).
 */
async function eraseEventsAndDeliveries(
  context: ErasureContext,
  { trackerId, digests }: { trackerId: string; digests: readonly string[] },
  payloads: readonly ErasablePayload[],
): Promise<ErasureCounts> {
  if (payloads.length === 0) return { events: 0, sessions: 0 }
  const stopping = { trackerId, events: payloads }
  const mayBeAnswered = await stopErasedDeliveries(context, stopping)
  const { database, platforms = [], now } = context
  const at = now()
  const dueAt = addMinutes(at, ERASURE_DELAY_MINUTES)
  const told = { trackerId, events: payloads, digests, platforms, at, dueAt }
  await storeErasureMessages(database, told)
  const erased = await eraseEvents(database, trackerId, payloads)
  if (mayBeAnswered) await stopErasedDeliveries(context, stopping)
  return erased
}
