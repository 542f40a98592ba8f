import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { provisionTracker } from '../../program/provisioning/provision-tracker.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createLogger } from '../../runtime/http/logger.ts'

const CALLS = 1_000
const KEY = '07'.repeat(32)

it('changes no row and no file in 1,000 calls', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const program = createInstallation(test)
  // Its own jobs write rows by the clock, so the program with the jobs does not run.
  const { url } = await program.startReady({
    role: 'serve',
    environment: {
      DATABASE_URL: connectionString,
      SIGNALBOX_CREDENTIAL_KEY: KEY,
      SIGNALBOX_SANDBOX_RATE_PER_MINUTE: '0',
    },
  })
  const credentialKeys = { current: Buffer.from(KEY, 'hex'), previous: [] }
  const input = {
    workspaceName: 'Test',
    at: new Date(),
    credentialKeys,
    logger: createLogger('silent'),
  }
  const { trackerSecret } = await provisionTracker(database, input)
  const post = (path: string, bearer: string, body: unknown) =>
    fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const consent = { ad_user_data: 'granted' }
  assert.equal((await post('/events', trackerSecret, samplePurchase({ consent }))).status, 202)

  const [rows, files] = [await rowsOf(database), filesOf(program.dataFolder)]
  assert.ok(rows.some(row => row.includes('order-1001')))
  const counts: Record<number, number> = {}
  for (let round = 0; round < CALLS / 5; round += 1) {
    const discovery = await fetch(`${url}/api/v1/sandbox`)
    const key = await fetch(`${url}/api/v1/sandbox/keys`)
    const { api_key } = (await key.json()) as { api_key: string }
    const event = samplePurchase({ event_id: `sandbox-${round}`, consent })
    for (const { status } of [
      discovery,
      key,
      await post('/sandbox/keys', '', {}),
      await post('/sandbox/keyed-events', api_key, event),
      await post('/sandbox/keyed-events', api_key, { event_id: 7 }),
    ]) {
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  const each = CALLS / 5
  assert.deepEqual(counts, { 200: 3 * each, 201: each, 422: each })
  assert.deepEqual(differencesOf(rows, await rowsOf(database)), [])
  assert.deepEqual(filesOf(program.dataFolder), files)
})

/** The lines that only one of the two has, so that a failure shows them and not every table. */
function differencesOf(before: string[], after: string[]): string[] {
  return [...new Set(before).symmetricDifference(new Set(after))]
}

/** Every row of every table as text, and the value of every sequence. */
async function rowsOf({ pool }: Database): Promise<string[]> {
  const tables = await pool.query(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('public', 'signalbox_store', 'signalbox_jobs') order by 1`,
  )
  const parts: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await pool.query(`select t::text as row from ${name} t order by 1`)
    parts.push(...rows.map(({ row }) => `${name} ${row}`))
  }
  const sequences = await pool.query('select s::text as row from pg_sequences s')
  assert.ok(tables.rows.length > 10)
  return [...parts, ...sequences.rows.map(({ row }) => row)]
}

/** Path and SHA-256 of every file below the folder. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map(path => `${path} ${hash('sha256', readFileSync(path))}`)
    .sort()
}
