import type { AuditAction, AuditActor, AuditSubject } from '../service/audit/audit-entry.ts'
import { type AuditTrail, createAuditTrail } from '../service/audit/audit-store.ts'
import { deriveAuditKeys } from '../service/audit/signed-head.ts'
import type { Database } from '../service/db/database.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

/** What an entry says, as its text is in the store. */
export interface WrittenEntry {
  sequence: number
  at: string
  actor: AuditActor
  action: AuditAction
  subject: AuditSubject
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any details
  details: any
}

/** The audit entries of a workspace, the oldest first; of one action, where it is named. */
export async function entriesOf(
  { pool }: Pick<Database, 'pool'>,
  workspaceId: number,
  action?: AuditAction,
): Promise<WrittenEntry[]> {
  const { rows } = await pool.query(
    `select body from audit_entries
     where workspace_id = $1 and ($2::text is null or action = $2) order by sequence`,
    [workspaceId, action ?? null],
  )
  return rows.map(({ body }) => JSON.parse(body))
}

/** The trail of a service, for what a test does beside its routes. */
export function trailOf({ delivery }: Pick<ServiceUnderTest, 'delivery'>): AuditTrail {
  return createAuditTrail(deriveAuditKeys(delivery.credentialKeys))
}

/**
 * From now on nothing can be written down in this store, so that whatever has to be must not happen
 * either.
 */
export async function refuseEntries({ pool }: Pick<Database, 'pool'>): Promise<void> {
  await pool.query(
    'alter table audit_entries add constraint unwritable check (sequence < 0) not valid',
  )
}

/** From now on every transaction that writes a row of this table fails at its commit. */
export async function failCommitsOf(
  { pool }: Pick<Database, 'pool'>,
  table: string,
): Promise<void> {
  await pool.query(
    `create or replace function fail_commit() returns trigger language plpgsql as
     $$ begin raise exception 'this commit fails'; end $$`,
  )
  await pool.query(
    `create constraint trigger fail_commit after insert or update on ${table}
     deferrable initially deferred for each row execute function fail_commit()`,
  )
}
