import type { RequestLimits } from '../../access/request-limits.ts'
import type { ServiceLogger } from '../../http/service-app.ts'
import type { AuditKeys } from '../audit/head-signature.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'

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
