import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { AUDIT_MASTER_KEY, createAuditFixture } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { insertSecurityEvent } from '../../workspaces/users/security-event-store.ts'

/** A store with an audit log, and the command as an operator types it. */
async function startExporting(test: TestContext) {
  const log = await createAuditFixture(test)
  const { home, dataFolder } = createDataFolder(test)
  const environment = {
    DATABASE_URL: log.connectionString,
    SIGNALBOX_DATA_DIR: dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: AUDIT_MASTER_KEY.toString('hex'),
  }
  const run = (list: string[]) => runCommand(['audit', 'events', ...list], { environment })
  const readLines = async (since: string) => {
    const { code, stdout, stderr } = await run(['--since', since])
    assert.deepEqual([code, stderr], [0, ''])
    return stdout
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line))
  }
  return { ...log, home, run, readLines }
}

function failedSignIn(at: string, userId: number | null) {
  return {
    at: new Date(at),
    type: 'sign_in.failed',
    userId,
    clientAddress: '203.0.113.5',
    requestId: 'req_1',
    details: { method: 'password', reason: 'refused' },
  }
}

it('exports events of accounts and audit entries as JSON lines with stable IDs', async test => {
  const { database, readLines, write, workspaceId } = await startExporting(test)
  await write(1)
  await insertSecurityEvent(database, failedSignIn('2026-11-23T10:00:00Z', 7))
  await insertSecurityEvent(database, failedSignIn('2026-11-23T10:00:00Z', null))
  const [known, unknown, entry, ...others] = await readLines('2020-01-01')
  assert.deepEqual(known, {
    id: 'account_1',
    time: '2026-11-23T10:00:00.000Z',
    event: 'sign_in.failed',
    actor: { type: 'anonymous', id: null },
    subject: { type: 'person', id: '7' },
    workspace_id: null,
    client_address: '203.0.113.5',
    request_id: 'req_1',
    details: { method: 'password', reason: 'refused' },
  })
  assert.deepEqual([unknown.id, unknown.subject], ['account_2', null])
  assert.equal(entry.id, `audit_${workspaceId}_1`)
  assert.equal(entry.workspace_id, workspaceId)
  assert.deepEqual(Object.keys(entry), Object.keys(known))
  assert.deepEqual(others, [])
})

it('reads from a time on, across pages of both kinds', async test => {
  const { database, readLines, write } = await startExporting(test)
  await database.pool.query(
    `insert into security_events (at, type, details)
     select '2020-06-01T00:00:00Z'::timestamptz + make_interval(secs => number), 'sign_out', '{}'
     from generate_series(1, 1200) number`,
  )
  await write(510)
  const all = await readLines('2020-01-01')
  assert.equal(all.length, 1_710)
  assert.equal(new Set(all.map(({ id }) => id)).size, 1_710)
  const entries = all.slice(1_200)
  const later = await readLines('2020-06-01T00:10:00Z')
  assert.equal(later.length, 601 + 510)
  assert.deepEqual(later.slice(601), entries)
  const last = new Date(Date.parse(entries.at(-1).time) + 1)
  assert.deepEqual(await readLines(last.toISOString()), [])
})

it('writes a private new file, and refuses an existing one and other times', async test => {
  const { database, run, home } = await startExporting(test)
  await insertSecurityEvent(database, failedSignIn('2026-11-23T10:00:00Z', 7))
  const path = join(home, 'events.ndjson')
  const list = ['--since', '2026-11-23T11:00:00+01:00', '--out', path]
  assert.deepEqual(await run(list), { code: 0, stdout: '', stderr: '' })
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 2)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const again = await run(list)
  assert.deepEqual([again.code, again.stderr], [1, `${path} already exists: name a new file.\n`])
  for (const since of ['yesterday', '2026-11-23T10:00:00', '2026-02-30']) {
    const { code, stderr } = await run(['--since', since])
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^--since takes a day or a time such as .+, not ${since}\\.`))
  }
})
