import type { Database, Transaction } from '../../runtime/db/database.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import { formatDateTime, MINUTE_SECONDS } from '../../runtime/util/time.ts'
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
/** A shorter outage ends by itself, and the deliveries are retried anyway. */
const UNREACHABLE_SECONDS = 15 * MINUTE_SECONDS

/** What the members who manage deliveries should know. */
export interface AlertNotification {
  workspaceId: number
  topic: 'destinations' | 'match_quality' | 'reconciliation'
  type: string
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
  const unreachableSince = new Date(at.getTime() - UNREACHABLE_SECONDS * 1_000)
  const limit = WORKSPACES_PER_RUN_MAX
  const changed = await findWorkspacesToUpdate(database, { unreachableSince, limit })
  for (const workspaceId of changed) {
    await database.query
      .transaction()
      .execute(query =>
        announceWorkspace({ query }, announcer, { workspaceId, unreachableSince, at }),
      )
  }
  return { workspaces: changed.length, more: changed.length === limit }
}

interface WorkspaceRun {
  workspaceId: number
  unreachableSince: Date
  at: Date
}

async function announceWorkspace(
  transaction: Transaction,
  announcer: AlertAnnouncer,
  { workspaceId, unreachableSince, at }: WorkspaceRun,
): Promise<void> {
  // Of concurrent runs the later one reads what the earlier one announced.
  await announcer.lock(transaction, workspaceId)
  const search = { workspaceId, unreachableSince, limit: PROBLEMS_MAX }
  const problems = await listProblems(transaction, search)
  const announced = await listAnnouncedAlerts(transaction, workspaceId, PROBLEMS_MAX)
  const openKeys = new Set(problems.map(({ key }) => key))
  const knownKeys = new Set(announced.map(({ key }) => key))
  const resolved = announced.filter(({ key }) => !openKeys.has(key))
  const raise = (alert: AnnouncedAlert, change: Pick<Transition, 'transition' | 'text'>) =>
    announcer.raise(transaction, toNotification(alert, { workspaceId, at, ...change }))
  for (const alert of resolved.slice(0, CHANGES_PER_RUN_MAX)) {
    await deleteAnnouncedAlert(transaction, { workspaceId, key: alert.key })
    const text = `${alert.place} ${resolutionOf(alert.kind)}.`
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
  transition: 'raised' | 'resolved'
  text: string
  at: Date
}

function toNotification(
  { kind, destinationId, path }: AnnouncedAlert,
  { workspaceId, transition, text, at }: Transition,
): AlertNotification {
  return {
    workspaceId,
    topic: topicOf(kind),
    type: `alert.${kind}.${transition}`,
    recipients: { permission: 'manage_deliveries', userId: null },
    subject: { type: 'destination', id: destinationId },
    text,
    path,
    at,
  }
}

function toAlert(problem: Problem, workspaceId: number): AnnouncedAlert {
  const { key, kind, trackerId, trackerName, destinationId, platform, config } = problem
  const page = topicOf(kind) === 'destinations' ? 'destinations' : 'reports'
  return {
    key,
    kind,
    destinationId,
    place: `${plainName(trackerName)}: destination ${platform} ${plainName(formatTarget(config))}`,
    path: `/w/${workspaceId}/${page}?tracker=${trackerId}`,
  }
}

/** A kind of a later version is about destinations until this one knows better. */
function topicOf(kind: string): AlertNotification['topic'] {
  switch (kind) {
    case 'emq_fell':
    case 'emq_low':
      return 'match_quality'
    case 'reconciliation_unexplained':
      return 'reconciliation'
    default:
      return 'destinations'
  }
}

/** Contains our own words only: the reason of the platform stays on the page. */
function describeProblem({ kind, reason, since }: Problem, place: string): string {
  switch (kind) {
    case 'destination_inactive':
      return `${place} is inactive: ${inactiveCause(reason)}. Its deliveries wait.`
    case 'destination_unreachable':
      return (
        `${place} cannot be reached${since ? ` since ${formatDateTime(since)}` : ''}. ` +
        'Its deliveries are retried.'
      )
    default:
      return `${place}: ${reason}`
  }
}

function inactiveCause(reason: string | null): string {
  const known = /^The (platform rejects the (?:credential|configuration))\b/.exec(reason ?? '')
  return known?.[1] === undefined ? 'its credential cannot be used' : `the ${known[1]}`
}

function resolutionOf(kind: string): string {
  switch (kind) {
    case 'destination_inactive':
      return 'is active again'
    case 'destination_unreachable':
      return 'can be reached again'
    case 'emq_fell':
    case 'emq_low':
      return 'has no problem with its match quality any more'
    case 'reconciliation_unexplained':
      return 'has no unexplained difference to the platform any more'
    default:
      return 'has one problem fewer'
  }
}
