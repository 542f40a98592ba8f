import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type pg from 'pg'
import {
  type AuditEntry,
  buildChainedEntry,
  type ChainLink,
  GENESIS_LINK,
  hashBody,
} from '../service/audit/audit-entry.ts'
import { type AuditTrail, createAuditTrail } from '../service/audit/audit-store.ts'
import { type AuditKeys, deriveAuditKeys, signHead } from '../service/audit/signed-head.ts'
import { verifyChain } from '../service/audit/verify-chain.ts'
import type { Database } from '../service/db/database.ts'
import { insertWorkspace } from '../service/people/workspace-store.ts'
import { TestClock } from './test-clock.ts'
import { testStore } from './test-store.ts'

export const AUDIT_MASTER_KEY = Buffer.alloc(32, 7)

/** A store with one workspace and a way to write into its log, and to spoil it. */
export interface AuditUnderTest {
  database: Database
  connectionString: string
  keys: AuditKeys
  trail: AuditTrail
  clock: TestClock
  workspaceId: number
  newWorkspace(): Promise<number>
  /** Appends so many entries, one after the other. */
  write(count: number, workspaceId?: number): Promise<void>
  verify(workspaceId?: number): ReturnType<typeof verifyChain>
  /** Does what only the owner of the database can: no trigger and no foreign key stops it. */
  asOwner(spoil: (client: pg.PoolClient) => Promise<unknown>): Promise<void>
}

export async function auditUnderTest(test: TestContext): Promise<AuditUnderTest> {
  const { database, connectionString } = await testStore(test)
  const keys = deriveAuditKeys({ current: AUDIT_MASTER_KEY, previous: [] })
  const trail = createAuditTrail(keys)
  const clock = new TestClock()
  const newWorkspace = () =>
    insertWorkspace(database, { name: randomBytes(4).toString('hex'), createdAt: clock.now() })
  const workspaceId = await newWorkspace()
  return {
    ...{ database, connectionString, keys, trail, clock, workspaceId, newWorkspace },
    async write(count, workspace = workspaceId) {
      for (let index = 1; index <= count; index += 1) {
        await trail.append(database, sampleEntry(workspace, index))
      }
    },
    verify: (workspace = workspaceId) =>
      verifyChain(database, keys, { workspaceId: workspace, now: clock.now() }),
    asOwner: spoil => asOwner(database, spoil),
  }
}

export function sampleEntry(workspaceId: number, index: number): AuditEntry {
  return {
    workspaceId,
    at: new Date(Date.UTC(2026, 10, 21, 12, 0, index)),
    actor: { type: 'person', id: '1' },
    action: 'key.issued',
    subject: { type: 'key', id: String(index) },
    details: { count: index },
  }
}

/** Writes a long log at once, as if its entries had been appended one after the other. */
export async function plantLog(
  { database, keys, workspaceId }: AuditUnderTest,
  count: number,
): Promise<void> {
  const rows: { sequence: number; body: string; hash: Buffer }[] = []
  let last: ChainLink = GENESIS_LINK
  for (let index = 1; index <= count; index += 1) {
    const entry = buildChainedEntry(sampleEntry(workspaceId, index), last)
    rows.push(entry)
    last = entry
  }
  const { sequence, hash } = last
  await database.pool.query(
    `insert into audit_entries (workspace_id, sequence, body, hash)
     select $1, * from unnest($2::bigint[], $3::text[], $4::bytea[])`,
    [
      workspaceId,
      rows.map(row => row.sequence),
      rows.map(row => row.body),
      rows.map(row => row.hash),
    ],
  )
  await database.pool.query('insert into audit_heads values ($1, $2, $3, $4)', [
    ...[workspaceId, sequence, hash],
    signHead(keys, { workspaceId, sequence, hash }),
  ])
}

async function asOwner(
  { pool }: Database,
  spoil: (client: pg.PoolClient) => Promise<unknown>,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    await spoil(client)
    await client.query('commit')
  } finally {
    client.release()
  }
}

/** The text of an entry with other members, as a forger would write it. */
export function forgedBody(body: string, changes: object): { body: string; hash: Buffer } {
  const forged = JSON.stringify({ ...JSON.parse(body), ...changes })
  return { body: forged, hash: hashBody(forged) }
}

/** One more entry that fits what stands before it. */
export function forgedEntry(workspaceId: number, previous: ChainLink) {
  return buildChainedEntry(sampleEntry(workspaceId, previous.sequence + 1), previous)
}
