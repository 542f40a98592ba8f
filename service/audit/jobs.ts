import type { Database } from '../runtime/db/database.ts'
import type { Job, JobContext } from '../runtime/jobs/job.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { AuditKeys } from './signed-head.ts'
import type { VerifyRecords } from './verify-chain.ts'
import {
  type VerifiedChain,
  type VerifyChainsContext,
  verifyChains,
  verifyNewEntries,
} from './verify-chains.ts'

export interface AuditJobsContext {
  database: Database
  /** The data folder holds the checkpoints of the last verification. */
  settings: Pick<Settings, 'dataDirectory'>
  auditKeys: AuditKeys
  /** Compares the tables of other rooms with the log. */
  verifyRecords: VerifyRecords
  alerts: AuditAlerts
  onTamperedLog: (chain: VerifiedChain) => void
  /** All logs were verified; receives the number of broken ones. */
  onVerifiedLogs: (brokenCount: number) => void
  /** The verified heads cannot be written to the data folder. */
  onCheckpointError: (error: unknown) => void
}

/** Alerts about logs that were changed. */
export interface AuditAlerts {
  /** The workspaces with an open alert. */
  listOpen(): Promise<ReadonlySet<number>>
  /** Raises the alert of a log that was changed, or resolves that of an intact one. */
  update(chain: VerifiedChain, at: Date): Promise<void>
}

/** A log that was changed does not fail a job, since a retry would find the same. */
export function auditJobs(context: AuditJobsContext): Job[] {
  return [
    {
      name: 'verify-audit',
      schedule: '25 4 * * *',
      timeoutSeconds: 3_600,
      run: (_, run) => verifyAllLogs(context, run),
    },
    {
      name: 'verify-new-audit-entries',
      schedule: '*/5 * * * *',
      timeoutSeconds: 240,
      run: (_, run) => verifyLogEnds(context, run),
    },
  ]
}

async function verifyAllLogs(context: AuditJobsContext, run: JobContext): Promise<void> {
  const { alerts, onTamperedLog, onVerifiedLogs } = context
  const open = await alerts.listOpen()
  let brokenCount = 0
  const options = { workspaceId: null, trustedHead: null }
  for await (const chain of verifyChains(verificationOf(context, run), options)) {
    if (!chain.is_intact) {
      brokenCount += 1
      onTamperedLog(chain)
    }
    if (!chain.is_intact || open.has(chain.workspaceId)) await alerts.update(chain, run.now)
  }
  if (!run.signal.aborted) onVerifiedLogs(brokenCount)
}

/** Looks for a change within minutes. A log with an open alert waits for the daily job. */
async function verifyLogEnds(context: AuditJobsContext, run: JobContext): Promise<void> {
  const { alerts, onTamperedLog } = context
  const verification = verificationOf(context, run)
  const excluded = await alerts.listOpen()
  for (const workspaceId of await verifyNewEntries({ ...verification, excluded })) {
    const options = { workspaceId, trustedHead: null }
    for await (const chain of verifyChains(verification, options)) {
      if (chain.is_intact) continue
      onTamperedLog(chain)
      await alerts.update(chain, run.now)
    }
  }
}

function verificationOf(
  { database, auditKeys: keys, settings, verifyRecords, onCheckpointError }: AuditJobsContext,
  { now, signal }: JobContext,
): VerifyChainsContext & { signal: AbortSignal } {
  const { dataDirectory } = settings
  return { database, keys, dataDirectory, now, onCheckpointError, signal, verifyRecords }
}
