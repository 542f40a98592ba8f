import type { Generated, TablePlacement } from '../runtime/db/tables.ts'

/** The audit log. */
interface AuditTables {
  audit_entries: {
    workspace_id: number
    sequence: number
    body: string
    hash: Buffer
    action: Generated<string>
    subject_type: Generated<string>
    subject_id: Generated<string>
  }
  audit_heads: {
    workspace_id: number
    sequence: number
    hash: Buffer
    signature: Buffer
  }
}

declare module '../runtime/db/tables.ts' {
  interface Tables extends AuditTables {}
}

export const AUDIT_PLACEMENTS: Record<keyof AuditTables, TablePlacement> = {
  audit_entries: 'managed_local',
  audit_heads: 'managed_local',
}
