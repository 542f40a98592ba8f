import { CompiledQuery, sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { pageRange, toListPage } from '../../runtime/util/list-page.ts'

export interface NewExecutionToken {
  workspaceId: number
  adAccountId: number
  digest: Buffer
  tier: string
  name: string
  lastCharacters: string
  issuedBy: number
  createdAt: Date
  expiresAt: Date
}

/** Returns the ID of the new token; null when the workspace has no such active ad account. */
export async function insertExecutionToken(
  { query }: Transaction,
  token: NewExecutionToken,
): Promise<number | null> {
  const statement = CompiledQuery.raw(
    `insert into execution_tokens (workspace_id, ad_account_id, token_digest, tier, name,
       last_characters, issued_by, created_at, expires_at)
     select workspace_id, id, $3::bytea, $4::text, $5::text, $6::text, $7::integer,
       $8::timestamptz, $9::timestamptz
     from ad_accounts
     where workspace_id = $1::integer and id = $2::integer and status = 'active'
     returning id`,
    [
      token.workspaceId,
      token.adAccountId,
      token.digest,
      token.tier,
      token.name,
      token.lastCharacters,
      token.issuedBy,
      token.createdAt,
      token.expiresAt,
    ],
  )
  const { rows } = await query.executeQuery(statement)
  return (rows[0] as { id: number } | undefined)?.id ?? null
}

interface TokenPage {
  workspaceId: number
  at: Date
  /** From 1. */
  page: number
}

/**
 * A page of the tokens of a workspace: the live ones first, then the expired and revoked ones,
 * newest first each. So no number of dead tokens hides one that still works.
 */
export async function listExecutionTokens(
  { query }: Database,
  { workspaceId, at, page }: TokenPage,
) {
  const { offset, limit } = pageRange(page)
  const rows = await query
    .selectFrom('execution_tokens')
    .innerJoin('ad_accounts', 'ad_accounts.id', 'execution_tokens.ad_account_id')
    .innerJoin('people.users', 'people.users.id', 'execution_tokens.issued_by')
    .select([
      'execution_tokens.id',
      'execution_tokens.name',
      'execution_tokens.tier',
      'execution_tokens.last_characters',
      'execution_tokens.created_at',
      'execution_tokens.expires_at',
      'execution_tokens.last_used_at',
      'execution_tokens.revoked_at',
      'execution_tokens.ad_account_id',
      'ad_accounts.name as ad_account_name',
      'people.users.email as issued_by',
    ])
    .where('execution_tokens.workspace_id', '=', workspaceId)
    .orderBy(sql`execution_tokens.revoked_at is not null or execution_tokens.expires_at <= ${at}`)
    .orderBy('execution_tokens.id', 'desc')
    .offset(offset)
    .limit(limit)
    .execute()
  return toListPage(rows, page)
}
export type ListedExecutionToken = Awaited<ReturnType<typeof listExecutionTokens>>['rows'][number]

const NAMED_TOKENS_MAX = 1_000

/** The IDs of the live tokens of a workspace with a name, oldest first. */
export async function listLiveTokenIds(
  { query }: Database,
  { workspaceId, name, at }: { workspaceId: number; name: string; at: Date },
): Promise<number[]> {
  const rows = await query
    .selectFrom('execution_tokens')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', at)
    .orderBy('id')
    .limit(NAMED_TOKENS_MAX)
    .execute()
  return rows.map(({ id }) => id)
}

/** The tokens that a user issued and that are not revoked. */
export async function findTokensOfUser(
  { query }: Transaction,
  userId: number,
): Promise<{ workspaceId: number; tokenId: number }[]> {
  return query
    .selectFrom('execution_tokens')
    .select(['workspace_id as workspaceId', 'id as tokenId'])
    .where('issued_by', '=', userId)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()
}

/** Returns false when the workspace has no such live token. */
export async function revokeExecutionToken(
  { query }: Transaction,
  { workspaceId, tokenId }: { workspaceId: number; tokenId: number },
  revokedAt: Date,
): Promise<boolean> {
  const found = await query
    .updateTable('execution_tokens')
    .set({ revoked_at: revokedAt })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}
