import type { AlertTransition } from '@signalbox/contract/alerts.ts'
import type { Database } from '../../runtime/db/database.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { listWithdrawalHours, type WithdrawalHour } from './withdrawal-count-store.ts'

/** An alert is resolved when the pages were quiet for so many hours, or the withdrawals lifted. */
const WATCHED_HOURS = 6

/** Alerts about workspaces whose pages send many withdrawals of consent. */
export interface WithdrawalAlerts {
  /** The workspaces with an open alert. */
  listOpen(): Promise<ReadonlySet<number>>
  /** Raises or resolves an alert. Raising an open one only updates its sentence. */
  update(change: WithdrawalAlert): Promise<void>
}

export interface WithdrawalAlert {
  workspaceId: number
  transition: AlertTransition
  /** One sentence for people; names in it are without links. */
  sentence: string
  details: Record<string, unknown>
  /** The page about it. */
  path: string
  at: Date
}

interface WatchContext {
  database: Database
  alerts: WithdrawalAlerts
  /** Withdrawals within an hour that raise the alert; 0: none do. */
  withdrawalsMin: number
}

/**
 * Raises an alert while the pages of a tracker send many withdrawals: anyone can copy the key of a
 * page, and a script with it silences what pages send about visitors whose IDs it knows.
 */
export async function watchPageWithdrawals(
  { database, alerts, withdrawalsMin }: WatchContext,
  now: Date,
): Promise<void> {
  const thisHour = Math.floor(now.getTime() / HOUR_MILLISECONDS)
  const from = new Date((thisHour - WATCHED_HOURS + 1) * HOUR_MILLISECONDS)
  const hours =
    withdrawalsMin === 0 ? [] : await listWithdrawalHours(database, { from, withdrawalsMin })
  const open = await alerts.listOpen()
  const byWorkspace = Map.groupBy(hours, ({ workspaceId }) => workspaceId)
  for (const [workspaceId, found] of byWorkspace) {
    await alerts.update({ workspaceId, ...describeRaised(found, withdrawalsMin), at: now })
  }
  for (const workspaceId of open) {
    if (byWorkspace.has(workspaceId)) continue
    const path = `/w/${workspaceId}/privacy`
    const change = { transition: 'resolved', sentence: RESOLUTION, details: {}, path } as const
    await alerts.update({ workspaceId, ...change, at: now })
  }
}

const RESOLUTION = 'The pages of the workspace no longer send many withdrawals of consent.'

function describeRaised(
  found: readonly WithdrawalHour[],
  withdrawalsMin: number,
): Pick<WithdrawalAlert, 'transition' | 'sentence' | 'details' | 'path'> {
  const [most, ...others] = found.toSorted((one, other) => other.withdrawals - one.withdrawals)
  if (!most) throw new Error('an alert about withdrawals names no tracker')
  const { workspaceId, trackerId, trackerName, withdrawals } = most
  const more = others.length === 0 ? '' : ` (and of ${others.length} more)`
  const sentence =
    `${plainName(trackerName)}: pages of this tracker${more} sent ${withdrawals} withdrawals of ` +
    `consent within an hour; the alert begins at ${withdrawalsMin}. Lift those that your ` +
    'visitors did not send.'
  return {
    transition: 'raised',
    sentence,
    details: { tracker_id: trackerId, withdrawals, other_trackers: others.length },
    path: `/w/${workspaceId}/privacy?tracker=${trackerId}`,
  }
}
