/**
 * The placement of each table on a Citus cluster; one PostgreSQL ignores it. A table that is in
 * none of these lists fails `citus-tables.test.ts`.
 *
 * Names without a schema are tables of `signalbox_store` or `public`. Partitions are placed with
 * their parent and are not listed.
 */
export type TablePlacement = 'reference' | 'distributed' | 'managed_local' | 'local'

/**
 * Copied to every node, so that a node needs no other one for its trackers. A table comes after
 * those that it references. A write needs every node, so none of these is written per event.
 */
const REFERENCE = ['workspaces', 'trackers', 'tracker_keys', 'ad_accounts', 'legacy_events']

/** Sharded by `tracker_id`, with all rows of a tracker on one node. */
const DISTRIBUTED = [
  'destinations',
  'delivery_id_counters',
  'event_keys',
  'events',
  'event_payloads',
  'sessions',
  'consent_withdrawals',
  'delivery_queue',
  'deliveries',
  'send_attempts',
  'forwarded_signatures',
  'event_counts',
  'list_positions',
  'delivery_counts',
  'sent_counts',
  'sent_key_counts',
  'reconciliation_reports',
  'emq_snapshots',
  'emq_readings',
  'alerts',
  'erased_identifiers',
  'deletion_requests',
  'tracker_key_uses',
  'refusals',
  'stage_counts',
  'delivery_issues',
]

/** On the coordinator, and visible to every node: statements may join them to the tables above. */
const MANAGED_LOCAL = [
  'people.users',
  'people.sessions',
  'people.accounts',
  'people.verifications',
  'people.two_factors',
  'people.passkeys',
  'people.used_totp_codes',
  'members',
  'invitations',
  'oauth_clients',
  'agent_connections',
  'execution_tokens',
  'audit_entries',
  'audit_heads',
  'agent_policies',
  'agent_batches',
  'agent_actions',
  'agent_receipts',
  'agent_tool_uses',
  'agent_tool_answers',
  'ad_entities',
  'notification_settings',
  'notifications',
  'notification_messages',
  'notification_choices',
  'announced_alerts',
  'workspace_alerts',
  'erasure_keys',
]

/** On the coordinator alone, and never joined to the tables above. */
const LOCAL = [
  'job_records',
  'oauth_artifacts',
  'security_events',
  'kysely_migration',
  'kysely_migration_lock',
]

export interface PlacedTable {
  /** As in the lists above. */
  name: string
  placement: TablePlacement
}

/** In the order of distribution. */
export const PLACED_TABLES: readonly PlacedTable[] = [
  ...toPlacedTables(REFERENCE, 'reference'),
  ...toPlacedTables(DISTRIBUTED, 'distributed'),
  ...toPlacedTables(MANAGED_LOCAL, 'managed_local'),
  ...toPlacedTables(LOCAL, 'local'),
]

const PLACEMENTS = new Map(PLACED_TABLES.map(({ name, placement }) => [name, placement]))

/** Schemas whose tables are listed without their schema. */
export const STORE_SCHEMAS = ['signalbox_store', 'public']

/** Null for a table that is in no list. */
export function findPlacement(schema: string, table: string): TablePlacement | null {
  return PLACEMENTS.get(STORE_SCHEMAS.includes(schema) ? table : `${schema}.${table}`) ?? null
}

function toPlacedTables(names: readonly string[], placement: TablePlacement): PlacedTable[] {
  return names.map(name => ({ name, placement }))
}
