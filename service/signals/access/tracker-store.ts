import type { Database, Transaction } from '../../runtime/db/database.ts'
import { indexCategories } from '../consent/consent-forms.ts'
import type { CategoryMeanings } from '../consent/consent-names.ts'

/** A tracker, as a key or a user is authorized for it. */
export interface TrackerIdentity {
  trackerId: string
  workspaceId: number
  /** What its own consent categories mean; left out without any. Only of authenticated requests. */
  consentCategories?: CategoryMeanings
  /** It has a publishable key that pages can use. Only of authenticated requests. */
  hasPages?: boolean
}

export interface NewTracker {
  id: string
  workspaceId: number
  name: string
  createdAt: Date
  /** Default: true. */
  sharesPageIds?: boolean
}

export async function insertTracker({ query }: Transaction, tracker: NewTracker): Promise<void> {
  await query
    .insertInto('trackers')
    .values({
      id: tracker.id,
      workspace_id: tracker.workspaceId,
      name: tracker.name,
      created_at: tracker.createdAt,
      share_page_ids: tracker.sharesPageIds ?? true,
    })
    .execute()
}

/** Held until the transaction ends: two requests must not both issue the last key of a kind. */
export async function lockTracker({ query }: Transaction, trackerId: string): Promise<void> {
  await query.selectFrom('trackers').select('id').where('id', '=', trackerId).forUpdate().execute()
}

export async function findTracker(
  { query }: Database,
  trackerId: string,
): Promise<TrackerIdentity | null> {
  const row = await query
    .selectFrom('trackers')
    .select('workspace_id')
    .where('id', '=', trackerId)
    .executeTakeFirst()
  return row ? { trackerId, workspaceId: row.workspace_id } : null
}

/** A tracker of a session with what acceptance needs, as a key has it. */
export async function findSubmittingTracker(
  { pool }: Database,
  tracker: TrackerIdentity,
): Promise<TrackerIdentity> {
  const { rows } = await pool.query(
    `select tracker.consent_categories, pages.has_pages from trackers tracker
     left join lateral (${selectPages('tracker.id')}) pages on true
     where tracker.id = $1::uuid`,
    [tracker.trackerId],
  )
  return { ...tracker, ...toSubmissionRules(rows[0]) }
}

/** SQL for whether a tracker has a publishable key that pages can use. */
export function selectPages(trackerId: string): string {
  return `
             select true as has_pages from tracker_keys
             where tracker_id = ${trackerId} and kind = 'publishable' and origins <> '{}' limit 1`
}

interface SubmissionRow {
  consent_categories: Parameters<typeof indexCategories>[0]
  has_pages: boolean | null
}

export function toSubmissionRules({ consent_categories: categories, has_pages }: SubmissionRow) {
  const consentCategories = indexCategories(categories)
  return {
    ...(consentCategories && { consentCategories }),
    ...(has_pages && { hasPages: true }),
  }
}

const LISTED_TRACKERS_MAX = 10

/** Mostly one; the oldest first. */
export async function listTrackersOfWorkspace(
  { query }: Database,
  workspaceId: number,
): Promise<TrackerIdentity[]> {
  const rows = await query
    .selectFrom('trackers')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .limit(LISTED_TRACKERS_MAX)
    .execute()
  return rows.map(({ id }) => ({ trackerId: id, workspaceId }))
}

/** The oldest tracker: the demo's, when `npm start` created the store. */
export async function findFirstTracker(database: Database): Promise<TrackerIdentity | null> {
  const [first = null] = await listFirstTrackers(database, 1)
  return first
}

/** At most `limit` trackers of the store, those of the oldest workspace first. */
export async function listFirstTrackers(
  { query }: Database,
  limit: number,
): Promise<TrackerIdentity[]> {
  const rows = await query
    .selectFrom('trackers')
    .select(['id', 'workspace_id'])
    .orderBy('workspace_id')
    .limit(limit)
    .execute()
  return rows.map(row => ({ trackerId: row.id, workspaceId: row.workspace_id }))
}

/** More would not fit on one page, and every one of them costs the caches a place. */
export const TRACKERS_MAX = 200

/** The trackers of a workspace with their names, oldest first. */
export async function listNamedTrackers({ query }: Transaction, workspaceId: number) {
  const rows = await query
    .selectFrom('trackers')
    .select(['id', 'name', 'created_at', 'consent_categories', 'share_page_ids'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(TRACKERS_MAX)
    .execute()
  return rows.map(({ consent_categories, ...row }) => ({
    ...row,
    consent_categories: toCategories(consent_categories),
  }))
}

/** Categories by name, each with its purpose. */
export type ConsentCategories = Record<string, string>

/** The tables declare json as text, as it is written; it is read as an object. */
function toCategories(column: string): ConsentCategories {
  return column as unknown as ConsentCategories
}

export async function findConsentCategories(
  { query }: Pick<Transaction, 'query'>,
  trackerId: string,
): Promise<ConsentCategories> {
  const row = await query
    .selectFrom('trackers')
    .select('consent_categories')
    .where('id', '=', trackerId)
    .executeTakeFirst()
  return row ? toCategories(row.consent_categories) : {}
}

export async function updateConsentCategories(
  { query }: Transaction,
  trackerId: string,
  categories: ConsentCategories,
): Promise<void> {
  await query
    .updateTable('trackers')
    .set({ consent_categories: JSON.stringify(categories) })
    .where('id', '=', trackerId)
    .execute()
}

/** Whether events of pages are sent under their own IDs; null for an unknown tracker. */
export async function findSharesPageIds(
  { query }: Pick<Transaction, 'query'>,
  trackerId: string,
): Promise<boolean | null> {
  const row = await query
    .selectFrom('trackers')
    .select('share_page_ids')
    .where('id', '=', trackerId)
    .executeTakeFirst()
  return row?.share_page_ids ?? null
}

/** False when the tracker has this setting already. */
export async function updateSharesPageIds(
  { query }: Transaction,
  trackerId: string,
  sharesPageIds: boolean,
): Promise<boolean> {
  const changed = await query
    .updateTable('trackers')
    .set({ share_page_ids: sharesPageIds })
    .where('id', '=', trackerId)
    .where('share_page_ids', '<>', sharesPageIds)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/** One tracker of a workspace. */
interface TrackerName {
  trackerId: string
  workspaceId: number
  name: string
}

/** False when the workspace has no such tracker, or the tracker has this name already. */
export async function updateTrackerName(
  { query }: Transaction,
  { trackerId, workspaceId, name }: TrackerName,
): Promise<boolean> {
  const changed = await query
    .updateTable('trackers')
    .set({ name })
    .where('id', '=', trackerId)
    .where('workspace_id', '=', workspaceId)
    .where('name', '<>', name)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}
