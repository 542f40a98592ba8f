import { verifyProposalRecords } from '../../agents/proposals/verify-records.ts'
import type { AuditKeys } from '../../audit/signed-head.ts'
import {
  type VerifiedChain,
  type VerifyChainsContext,
  verifyChains,
} from '../../audit/verify-chains.ts'
import { verifyNewEntries } from '../../audit/verify-new-entries.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { Job, JobContext } from '../../runtime/jobs/job.ts'
import {
  type AuditAlertContext,
  updateAuditAlert,
} from '../../workspaces/notifications/audit-alert.ts'
import { listOpenWorkspaceAlerts } from '../../workspaces/notifications/audit-alert-store.ts'

export interface AuditJobDependencies extends Pick<AuditAlertContext, 'onWorkspaceAlert'> {
  auditKeys: AuditKeys
  onTamperedLog: (chain: VerifiedChain) => void
  /** All logs were verified; receives the number of broken ones. */
  onVerifiedLogs: (brokenCount: number) => void
  /** The verified heads cannot be written to the data folder. */
  onCheckpointError: (error: unknown) => void
}

interface AuditJobParts extends AuditJobDependencies {
  database: Database
  dataDirectory: string
}

/** A log that was changed does not fail a job, since a retry would find the same. */
export function buildAuditJobs(parts: AuditJobParts): Job[] {
  return [
    {
      name: 'verify-audit',
      schedule: '25 4 * * *',
      timeoutSeconds: 3_600,
      run: (_, context) => verifyAllLogs(parts, context),
    },
    {
      name: 'verify-new-audit-entries',
      schedule: '*/5 * * * *',
      timeoutSeconds: 240,
      run: (_, context) => verifyLogEnds(parts, context),
    },
  ]
}

async function verifyAllLogs(parts: AuditJobParts, { now, signal }: JobContext): Promise<void> {
  const open = await findBrokenLogs(parts.database)
  let brokenCount = 0
  const options = { workspaceId: null, trustedHead: null }
  for await (const chain of verifyChains(verificationOf(parts, { now, signal }), options)) {
    if (!chain.is_intact) {
      brokenCount += 1
      parts.onTamperedLog(chain)
    }
    if (!chain.is_intact || open.has(chain.workspaceId)) await updateAuditAlert(parts, chain, now)
  }
  if (!signal.aborted) parts.onVerifiedLogs(brokenCount)
}

/** Looks for a change within minutes. A log with an open alert waits for the daily job. */
async function verifyLogEnds(parts: AuditJobParts, { now, signal }: JobContext): Promise<void> {
  const { database, auditKeys: keys, dataDirectory, onCheckpointError } = parts
  const excluded = await findBrokenLogs(database)
  const run = { database, keys, dataDirectory, onCheckpointError, signal, excluded }
  for (const workspaceId of await verifyNewEntries(run)) {
    const options = { workspaceId, trustedHead: null }
    for await (const chain of verifyChains(verificationOf(parts, { now, signal }), options)) {
      if (chain.is_intact) continue
      parts.onTamperedLog(chain)
      await updateAuditAlert(parts, chain, now)
    }
  }
}

async function findBrokenLogs(database: Database): Promise<ReadonlySet<number>> {
  const open = await listOpenWorkspaceAlerts(database, null)
  const broken = open.filter(({ kind }) => kind === 'audit_log_broken')
  return new Set(broken.map(({ workspaceId }) => workspaceId))
}

function verificationOf(
  { database, auditKeys: keys, dataDirectory, onCheckpointError }: AuditJobParts,
  { now, signal }: JobContext,
): VerifyChainsContext {
  const verifyRecords = verifyProposalRecords
  return { database, keys, dataDirectory, now, onCheckpointError, signal, verifyRecords }
}
