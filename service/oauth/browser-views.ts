import type { ConnectionList, ExecutionTokenList } from '@signalbox/contract/browser/agents.ts'
import type { ListedConnection } from './connection-store.ts'
import type { ListedExecutionToken } from './execution-token-store.ts'
import type { Permission } from './resources.ts'

export function connectionListView(connections: readonly ListedConnection[]): ConnectionList {
  return {
    connections: connections.map(row => ({
      id: row.id,
      name: row.name,
      client_name: row.client_name,
      audience: row.audience,
      permissions: row.permissions as Permission[],
      ad_account_id: row.ad_account_id,
      ad_account_name: row.ad_account_name,
      approved_by: row.approved_by,
      approved_at: row.created_at.toISOString(),
      last_used_at: row.last_used_at?.toISOString() ?? null,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      needs_approval: row.grant_id === null && row.revoked_at === null,
    })),
  }
}

export function executionTokenListView(
  tokens: readonly ListedExecutionToken[],
): ExecutionTokenList {
  return {
    tokens: tokens.map(row => ({
      id: row.id,
      name: row.name,
      tier: row.tier,
      last_characters: row.last_characters,
      ad_account_id: row.ad_account_id,
      ad_account_name: row.ad_account_name,
      issued_by: row.issued_by,
      created_at: row.created_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
      last_used_at: row.last_used_at?.toISOString() ?? null,
      revoked_at: row.revoked_at?.toISOString() ?? null,
    })),
  }
}
