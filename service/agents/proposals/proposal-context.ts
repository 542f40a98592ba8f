import type { Database } from '../../db/database.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'

/** What every verb about actions works with. */
export interface ProposalContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
  audit: AuditTrail
  platform: AdPlatform
}
