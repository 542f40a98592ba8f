import type { Generated } from 'kysely'

/** What is known of agents, their approvals and their tokens. */
export interface OauthTables {
  oauth_clients: {
    client_id: string
    kind: string
    name: string
    redirect_uris: string[]
    created_at: Date
    approved_at: Date | null
  }
  agent_connections: {
    id: Generated<number>
    grant_id: string | null
    client_id: string
    user_id: number
    workspace_id: number
    ad_account_id: number
    audience: string
    permissions: string[]
    name: string
    created_at: Date
    last_used_at: Date | null
    revoked_at: Date | null
  }
  oauth_artifacts: {
    model: string
    id: string
    payload: string
    grant_id: string | null
    user_code: string | null
    uid: string | null
    consumed_at: Date | null
    expires_at: Date
    polled_at: Date | null
    poll_seconds: number | null
  }
  execution_tokens: {
    id: Generated<number>
    workspace_id: number
    ad_account_id: number
    token_digest: Buffer
    tier: string
    name: string
    last_characters: string
    issued_by: number
    created_at: Date
    expires_at: Date
    last_used_at: Date | null
    revoked_at: Date | null
  }
}
