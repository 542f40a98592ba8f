import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import type { AuditTrail } from '../audit/audit-store.ts'
import type { AuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../runtime/db/database.ts'
import type { RequestLimits } from '../runtime/http/request-limits.ts'
import type { ServiceLogger } from '../runtime/http/service-app.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { CampaignApi } from './campaigns/campaign-api.ts'

/** Dependencies of the agent routes. */
export interface AgentsContext extends ProposalContext {
  logger: ServiceLogger
  limits: RequestLimits
  settings: Pick<Settings, 'mcpOrigins' | 'policyWaitHours'>
  auditKeys: AuditKeys
  /** The current one signs exports of the audit log for outsiders. */
  contractKeys: ContractKeys
  onTouchError: (err: unknown) => void
  /** Stores a verification event for one tracker, through the normal group commit. */
  verifyTracker: (trackerId: string) => Promise<{ eventId: string; isDuplicate: boolean }>
}

/** Dependencies of the operations on actions. */
export interface ProposalContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
  audit: AuditTrail
  campaigns: CampaignApi
}
