import type { RequestLimits } from '../../access/request-limits.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { AuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../db/database.ts'
import type { ServiceLogger } from '../../http/service-app.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'

/** What the routes of agents work with. */
export interface AgentsContext extends ProposalContext {
  logger: ServiceLogger
  limits: RequestLimits
  /** Other origins whose pages may call the MCP server. */
  mcpOrigins: readonly string[]
  auditKeys: AuditKeys
  onTouchError: (err: unknown) => void
  /** verifySignalIngestion for one tracker, through the same group commit as everything else. */
  verifyTracker: (trackerId: string) => Promise<{ eventId: string; isDuplicate: boolean }>
}

/** What every verb about actions works with. */
export interface ProposalContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
  audit: AuditTrail
  platform: AdPlatform
}
