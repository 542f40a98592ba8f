import type { Database } from '../../runtime/db/database.ts'
import type { TokenKind } from '../../runtime/util/token-format.ts'

export interface KeyOwner {
  trackerId: string
  kind: TokenKind
  isRevoked: boolean
}

/**
 * The trackers of keys, live and revoked, by the digest of the key in base64. A digest that is no
 * key of a tracker is missing. For counting refused requests, never for authenticating one.
 */
export async function findKeyOwners(
  { pool }: Pick<Database, 'pool'>,
  digests: readonly string[],
): Promise<Map<string, KeyOwner>> {
  if (digests.length === 0) return new Map()
  const { rows } = await pool.query({
    name: 'find-key-owners',
    text: `select key_digest, tracker_id, kind, revoked_at is not null as is_revoked
           from tracker_keys where key_digest = any($1::bytea[])`,
    values: [digests.map(digest => Buffer.from(digest, 'base64'))],
  })
  return new Map(
    rows.map(row => [
      row.key_digest.toString('base64'),
      { trackerId: row.tracker_id, kind: row.kind, isRevoked: row.is_revoked },
    ]),
  )
}
