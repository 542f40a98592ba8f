import type { AlertTransition, NotificationType, ProblemKind } from '@signalbox/contract/alerts.ts'
import { isRecognized, type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import type { PauseReason } from '@signalbox/contract/reasons.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import { findPauseReason } from '../delivery/destination-health.ts'
import { formatTarget } from '../delivery/destination-resource.ts'
import {
  type AnnouncedAlert,
  deleteAnnouncedAlert,
  findWorkspacesToUpdate,
  insertAnnouncedAlert,
  listAnnouncedAlerts,
  listProblems,
  type Problem,
} from './alert-announcement-store.ts'

const WORKSPACES_PER_RUN_MAX = 200
/** Three kinds of alerts and one status, of up to 20 destinations, for a thousand trackers. */
const PROBLEMS_MAX = 80_000
/** The rest follows in the next run, so that the settings are not locked for long. */
const CHANGES_PER_RUN_MAX = 1_000

/** What the members who manage deliveries should know. */
export interface AlertNotification {
  workspaceId: number
  topic: 'destinations' | 'match_quality' | 'reconciliation'
  type: NotificationType
  recipients: { permission: 'manage_deliveries'; userId: null }
  subject: { type: 'destination'; id: string }
  text: string
  path: string
  at: Date
}

/** Stores notifications in the transaction of what they are about. */
export interface AlertAnnouncer {
  /** Until the transaction ends, concurrent runs for this workspace wait. */
  lock(transaction: Transaction, workspaceId: number): Promise<unknown>
  raise(transaction: Transaction, notification: AlertNotification): Promise<void>
}

interface AlertContext {
  database: Database
  announcer: AlertAnnouncer
}

/**
 * Raises a notification for each alert that is new, and for each announced one that is resolved. It
 * compares the stored problems with what was announced, so a process that dies in between loses
 * nothing and repeats nothing. A problem that ends before it is seen is not announced.
 */
export async function announceAlerts(
  { database, announcer }: AlertContext,
  { now: at }: { now: Date },
): Promise<{ workspaces: number; more: boolean }> {
  const limit = WORKSPACES_PER_RUN_MAX
  const changed = await findWorkspacesToUpdate(database, { at, limit })
  for (const workspaceId of changed) {
    await database.query
      .transaction()
      .execute(query => announceWorkspace({ query }, announcer, { workspaceId, at }))
  }
  return { workspaces: changed.length, more: changed.length === limit }
}

interface WorkspaceRun {
  workspaceId: number
  at: Date
}

async function announceWorkspace(
  transaction: Transaction,
  announcer: AlertAnnouncer,
  { workspaceId, at }: WorkspaceRun,
): Promise<void> {
  // Of concurrent runs the later one reads what the earlier one announced.
  await announcer.lock(transaction, workspaceId)
  const search = { workspaceId, at, limit: PROBLEMS_MAX }
  const problems = await listProblems(transaction, search)
  const announced = await listAnnouncedAlerts(transaction, workspaceId, PROBLEMS_MAX)
  const openKeys = new Set(problems.map(({ key }) => key))
  const knownKeys = new Set(announced.map(({ key }) => key))
  const resolved = announced.filter(({ key }) => !openKeys.has(key))
  const raise = (alert: AnnouncedAlert, change: Pick<Transition, 'transition' | 'text'>) =>
    announcer.raise(transaction, toNotification(alert, { workspaceId, at, ...change }))
  for (const alert of resolved.slice(0, CHANGES_PER_RUN_MAX)) {
    await deleteAnnouncedAlert(transaction, { workspaceId, key: alert.key })
    const text = `${alert.place} ${textsOf(alert.kind).resolution}.`
    await raise(alert, { transition: 'resolved', text })
  }
  const raised = problems.filter(({ key }) => !knownKeys.has(key))
  for (const problem of raised.slice(0, CHANGES_PER_RUN_MAX)) {
    const alert = toAlert(problem, workspaceId)
    await insertAnnouncedAlert(transaction, { ...alert, workspaceId, at })
    await raise(alert, { transition: 'raised', text: describeProblem(problem, alert.place) })
  }
}

interface Transition {
  workspaceId: number
  transition: AlertTransition
  text: string
  at: Date
}

function toNotification(
  { kind, destinationId, path }: AnnouncedAlert,
  { workspaceId, transition, text, at }: Transition,
): AlertNotification {
  return {
    workspaceId,
    topic: textsOf(kind).topic,
    type: `alert.${storedText(kind)}.${transition}`,
    recipients: { permission: 'manage_deliveries', userId: null },
    subject: { type: 'destination', id: destinationId },
    text,
    path,
    at,
  }
}

function toAlert(problem: Problem, workspaceId: number): AnnouncedAlert {
  const { key, kind, trackerId, trackerName, destinationId, platform, config } = problem
  const page = textsOf(kind).topic === 'destinations' ? 'destinations' : 'reports'
  return {
    key,
    kind,
    destinationId,
    place: `${plainName(trackerName)}: destination ${platform} ${plainName(formatTarget(config))}`,
    path: `/w/${workspaceId}/${page}?tracker=${trackerId}`,
  }
}

interface ProblemTexts {
  topic: AlertNotification['topic']
  /** What is true again, after the place. */
  resolution: string
}

const QUALITY: ProblemTexts = {
  topic: 'match_quality',
  resolution: 'has no problem with its match quality any more',
}

const PROBLEM_TEXTS: Record<ProblemKind, ProblemTexts> = {
  emq_fell: QUALITY,
  emq_low: QUALITY,
  reconciliation_unexplained: {
    topic: 'reconciliation',
    resolution: 'has no unexplained difference to the platform any more',
  },
  destination_inactive: { topic: 'destinations', resolution: 'is active again' },
  destination_unreachable: { topic: 'destinations', resolution: 'can be reached again' },
}

/** A kind of a later version is about destinations until this one knows better. */
function textsOf(kind: Stored<ProblemKind>): ProblemTexts {
  return isRecognized(kind)
    ? PROBLEM_TEXTS[kind]
    : { topic: 'destinations', resolution: 'has one problem fewer' }
}

/** Contains our own words only: the reason of the platform stays on the page. */
function describeProblem({ kind, reason, since }: Problem, place: string): string {
  if (!isRecognized(kind)) return `${place}: ${reason}`
  switch (kind) {
    case 'destination_inactive':
      return `${place} is inactive: ${inactiveCause(reason)}. Its deliveries wait.`
    case 'destination_unreachable':
      return (
        `${place} cannot be reached${since ? ` since ${formatDateTime(since)}` : ''}. ` +
        'Its deliveries are retried.'
      )
    case 'emq_fell':
    case 'emq_low':
    case 'reconciliation_unexplained':
      return `${place}: ${reason}`
  }
}

const UNUSABLE = 'its credential cannot be used'

const INACTIVE_CAUSES: Record<PauseReason, string> = {
  paused_by_user: 'a person paused it',
  destination_disconnected: 'a person disconnected it',
  credential_rejected: 'the platform rejects the credential',
  configuration_rejected: 'the platform rejects the configuration',
  credential_unreadable: UNUSABLE,
  configuration_invalid: UNUSABLE,
  platform_not_installed: UNUSABLE,
}

function inactiveCause(reason: string | null): string {
  const pause = findPauseReason(reason)
  return pause === null ? UNUSABLE : INACTIVE_CAUSES[pause]
}
