import { randomUUID } from 'node:crypto'
import type { CreatedTracker, TrackerSubmission } from '@signalbox/contract/session/trackers.ts'
import { commitAudited } from '../audit/commit-audited.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { FieldErrorList } from '../runtime/http/validator.ts'
import { normalizeOriginPattern } from '../signals/access/origin-pattern.ts'
import { createKey, type KeyKind } from '../signals/access/tracker-keys.ts'
import {
  insertTracker,
  listNamedTrackers,
  TRACKERS_MAX,
  type TrackerIdentity,
  updateTrackerName,
} from '../signals/access/tracker-store.ts'
import { NAME_ERROR, parseName } from '../workspaces/users/display-name.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { lockMembers } from '../workspaces/users/workspace-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

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
  const { name, origins } = validateSubmission(submission)
  const [trackerId, at, actor] = [randomUUID(), context.now(), userActor(user)]
  const keys = await commitAudited(context, async (transaction, record) => {
    await lockMembers(transaction, workspaceId)
    const existing = await listNamedTrackers(transaction, workspaceId)
    if (existing.length >= TRACKERS_MAX) {
      throw Refusal.ofFields({ name: [`A workspace has at most ${TRACKERS_MAX} trackers.`] })
    }
    await insertTracker(transaction, { id: trackerId, workspaceId, name, createdAt: at })
    const subject = { type: 'tracker', id: trackerId } as const
    record({ workspaceId, at, actor, action: 'tracker.created', subject, details: {} })
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
  return { id: trackerId, name, created_at: at.toISOString(), keys }
}

function validateSubmission({ name: input, origins = [] }: TrackerSubmission) {
  const errors = new FieldErrorList()
  const name = parseName(input)
  if (name === null) errors.add('name', NAME_ERROR)
  const patterns = origins.map((origin, index) => {
    const pattern = normalizeOriginPattern(origin.trim())
    if (pattern === null) errors.add(`origins.${index}`, ORIGIN_ERROR)
    return pattern
  })
  if (name === null || !errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return { name, origins: [...new Set(patterns.filter(pattern => pattern !== null))] }
}

const ORIGIN_ERROR =
  'Enter what browsers send, such as https://shop.example, or a wildcard such as ' +
  'https://*.shop.example.'

interface TrackerRenaming {
  user: CurrentUser
  tracker: TrackerIdentity
  name: string
}

/** Renames a tracker. The log of the workspace says who did, but not the names. */
export async function renameTracker(
  context: DashboardContext,
  { user, tracker, name: input }: TrackerRenaming,
): Promise<void> {
  const name = parseName(input)
  if (name === null) throw Refusal.ofFields({ name: [NAME_ERROR] })
  const { trackerId, workspaceId } = tracker
  await commitAudited(context, async (transaction, record) => {
    if (!(await updateTrackerName(transaction, { ...tracker, name }))) return
    const [at, actor] = [context.now(), userActor(user)]
    const subject = { type: 'tracker', id: trackerId } as const
    record({ workspaceId, at, actor, action: 'tracker.renamed', subject, details: {} })
  })
}
