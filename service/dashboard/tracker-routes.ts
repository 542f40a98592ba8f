import { randomUUID } from 'node:crypto'
import * as operations from '@signalbox/contract/session/tracker-operations.ts'
import {
  type CreatedTracker,
  TrackerChange,
  TrackerSubmission,
} from '@signalbox/contract/session/trackers.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { FieldErrorList, readPathParameters, Validator } from '../runtime/http/validator.ts'
import { normalizeOriginPattern } from '../signals/access/authenticate-publishable-key.ts'
import { createKey, type KeyKind } from '../signals/access/tracker-keys.ts'
import {
  insertTracker,
  listNamedTrackers,
  TRACKERS_MAX,
  type TrackerIdentity,
  updateConsentCategories,
  updateSharesPageIds,
  updateTrackerName,
} from '../signals/access/tracker-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { NAME_ERROR, parseName } from '../workspaces/users/user-input.ts'
import { lockMembers } from '../workspaces/users/workspace-store.ts'
import { requireRole, userActor } from '../workspaces/users/workspaces.ts'
import { type DashboardContext, requireTracker } from './dashboard-context.ts'

const trackerValidator = new Validator(TrackerSubmission)
const trackerChangeValidator = new Validator(TrackerChange)

/** The trackers of a workspace. */
export function trackerRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database } = context

  app.route({
    ...operations.listTrackers,
    async handler({ user, params }) {
      const intent = { workspaceId: workspaceOf(params), action: 'view_events' } as const
      const membership = await requireRole(database, user, intent)
      const rows = await listNamedTrackers(database, membership.workspaceId)
      return {
        trackers: rows.map(row => ({ ...row, created_at: row.created_at.toISOString() })),
      }
    },
  })
  app.route({
    ...operations.createTracker,
    async handler({ user, params, body }, reply) {
      const intent = { workspaceId: workspaceOf(params), action: 'manage_trackers' } as const
      const { workspaceId } = await requireRole(database, user, intent)
      const submission = trackerValidator.validate(body)
      return reply.code(201).send(await createTracker(context, { user, workspaceId, submission }))
    },
  })
  app.route({
    ...operations.renameTracker,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const change = trackerChangeValidator.validate(request.body)
      await changeTracker(context, { user: request.user, tracker, change })
      return reply.code(204).send()
    },
  })
}

function workspaceOf(params: unknown): string {
  return readPathParameters(params, 'workspace').workspace
}

interface TrackerCreation {
  user: CurrentUser
  workspaceId: number
  submission: TrackerSubmission
}

/**
 * Creates a tracker with a secret and, when it names websites, a publishable key for them and a
 * forwarding secret, all in one transaction. The keys are in the answer and nowhere else. Throws a
 * 403 refusal until the person has confirmed their identity, because a stolen session must not
 * create access, and a 422 refusal that names every invalid field.
 */
export async function createTracker(
  context: DashboardContext,
  { user, workspaceId, submission }: TrackerCreation,
): Promise<CreatedTracker> {
  requireRecentAuthentication(user, context.now())
  const { name, origins, sharesPageIds } = validateSubmission(submission)
  const [trackerId, at, actor] = [randomUUID(), context.now(), userActor(user)]
  const keys = await commitAudited(context, async (transaction, record) => {
    await lockMembers(transaction, workspaceId)
    const existing = await listNamedTrackers(transaction, workspaceId)
    if (existing.length >= TRACKERS_MAX) {
      throw Refusal.ofFields({ name: [`A workspace has at most ${TRACKERS_MAX} trackers.`] })
    }
    const tracker = { id: trackerId, workspaceId, name, createdAt: at, sharesPageIds }
    await insertTracker(transaction, tracker)
    const subject = { type: 'tracker', id: trackerId } as const
    const details = { share_page_ids: sharesPageIds }
    record({ workspaceId, at, actor, action: 'tracker.created', subject, details })
    const issue = async (kind: KeyKind) => {
      const request = { trackerId, workspaceId, kind, issuedAt: at, actor }
      const ofPages = kind === 'publishable' ? { origins } : {}
      const { token, entry } = await createKey(transaction, { ...request, ...ofPages })
      record(entry)
      return token
    }
    const secret = await issue('tracker_secret')
    if (origins.length === 0) return { secret, publishable: null, forwarding: null }
    return {
      secret,
      publishable: await issue('publishable'),
      forwarding: await issue('forwarding'),
    }
  })
  return {
    id: trackerId,
    name,
    created_at: at.toISOString(),
    consent_categories: {},
    share_page_ids: sharesPageIds,
    keys,
  }
}

function validateSubmission({ name: input, origins = [], share_page_ids }: TrackerSubmission) {
  const errors = new FieldErrorList()
  const name = parseName(input)
  if (name === null) errors.add('name', NAME_ERROR)
  const patterns = origins.map((origin, index) => {
    const pattern = normalizeOriginPattern(origin.trim())
    if (pattern === null) errors.add(`origins.${index}`, ORIGIN_ERROR)
    return pattern
  })
  if (origins.length > 0 && share_page_ids === undefined) {
    errors.add('share_page_ids', SHARING_ERROR)
  }
  if (name === null || !errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return {
    name,
    origins: [...new Set(patterns.filter(pattern => pattern !== null))],
    sharesPageIds: share_page_ids ?? false,
  }
}

const SHARING_ERROR = 'Say whether pages share their event IDs with the tracker secret.'

const ORIGIN_ERROR =
  'Enter what browsers send, such as https://shop.example, or a wildcard such as ' +
  'https://*.shop.example.'

interface TrackerChanging {
  user: CurrentUser
  tracker: TrackerIdentity
  change: TrackerChange
}

/**
 * Renames a tracker, or sets its consent categories and the sharing of IDs with pages. The log of
 * the workspace says who did, but not the names.
 */
async function changeTracker(
  context: DashboardContext,
  { user, tracker, change }: TrackerChanging,
): Promise<void> {
  const { name: input, consent_categories: categories, share_page_ids: sharesPageIds } = change
  const name = input === undefined ? null : parseName(input)
  if (input !== undefined && name === null) throw Refusal.ofFields({ name: [NAME_ERROR] })
  const { trackerId, workspaceId } = tracker
  const [at, actor] = [context.now(), userActor(user)]
  const subject = { type: 'tracker', id: trackerId } as const
  await commitAudited(context, async (transaction, record) => {
    if (name !== null && (await updateTrackerName(transaction, { ...tracker, name }))) {
      record({ workspaceId, at, actor, action: 'tracker.renamed', subject, details: {} })
    }
    if (categories !== undefined) {
      await updateConsentCategories(transaction, trackerId, categories)
      const action = 'tracker.consent_categories_changed'
      record({ workspaceId, at, actor, action, subject, details: {} })
    }
    if (
      sharesPageIds !== undefined &&
      (await updateSharesPageIds(transaction, trackerId, sharesPageIds))
    ) {
      const action = 'tracker.page_id_sharing_changed'
      const details = { share_page_ids: sharesPageIds }
      record({ workspaceId, at, actor, action, subject, details })
    }
  })
}
