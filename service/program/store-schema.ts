import { AGENT_PLACEMENTS } from '../agents/tables.ts'
import { AUDIT_PLACEMENTS } from '../audit/tables.ts'
import type { StoreSchema } from '../runtime/db/migrate.ts'
import { JOB_PLACEMENTS } from '../runtime/jobs/tables.ts'
import { DELIVERY_PLACEMENTS } from '../signals/delivery/tables.ts'
import { LEDGER_UPGRADE } from '../signals/events/ledger-upgrade/upgrade-store.ts'
import { EVENT_PLACEMENTS } from '../signals/events/tables.ts'
import { SIGNAL_PLACEMENTS } from '../signals/tables.ts'
import { WORKSPACE_PLACEMENTS } from '../workspaces/tables.ts'

/** The tables of all rooms, for `migrate`. A room comes after those whose tables it references. */
export const STORE_SCHEMA: StoreSchema = {
  placements: [
    JOB_PLACEMENTS,
    WORKSPACE_PLACEMENTS,
    AUDIT_PLACEMENTS,
    SIGNAL_PLACEMENTS,
    DELIVERY_PLACEMENTS,
    EVENT_PLACEMENTS,
    AGENT_PLACEMENTS,
  ],
  upgrades: [LEDGER_UPGRADE],
}
