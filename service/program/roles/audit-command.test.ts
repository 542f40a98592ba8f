import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { AUDIT_MASTER_KEY, createAuditFixture } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { findHead } from '../../audit/audit-read-store.ts'

/** A store with an audit log, and the command as an operator types it. */
async function startAuditing(test: TestContext) {
  const log = await createAuditFixture(test)
  const { home, dataFolder } = createDataFolder(test)
  const environment = {
    DATABASE_URL: log.connectionString,
    SIGNALBOX_DATA_DIR: dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: AUDIT_MASTER_KEY.toString('hex'),
  }
  const audit = (list: string[], changes: Record<string, string> = {}) =>
    runCommand(['audit', ...list], { environment: { ...environment, ...changes } })
  return { ...log, home, dataFolder, audit }
}

const CHANGED =
  'The audit log was changed: copy the database as it is before you do anything else; ' +
  'docs/operations/audit.md explains the possible causes.\n'

it('verify prints a line for each workspace, and exits with 1 when a log was changed', async test => {
  const { audit, write, newWorkspace, asOwner, workspaceId: id } = await startAuditing(test)
  const other = await newWorkspace()
  await write(3)
  await write(1, other)
  const lines = (first: string) =>
    `Workspace ${id}: ${first}\n` + `Workspace ${other}: intact. The only entry is unchanged.\n`
  const intact = lines('intact. All 3 entries are unchanged.')
  assert.deepEqual(await audit(['verify']), { code: 0, stdout: intact, stderr: '' })
  await asOwner(client =>
    client.query('delete from audit_entries where workspace_id = $1 and sequence = 2', [id]),
  )
  assert.deepEqual(await audit(['verify']), {
    code: 1,
    stdout: lines('broken at entry 2. Entry 2 is missing.'),
    stderr: CHANGED,
  })
  assert.equal((await audit(['verify', '--workspace', String(other)])).code, 0)
  assert.deepEqual(await audit(['verify', '--workspace', '999']), {
    code: 1,
    stdout: '',
    stderr: 'There is no workspace 999 here.\n',
  })
})

it('verify detects a rolled back log by its checkpoint, and by the head of an export', async test => {
  const {
    audit,
    database,
    write,
    asOwner,
    workspaceId: id,
    home,
    dataFolder,
  } = await startAuditing(test)
  await write(2)
  const older = await findHead(database, id)
  await write(2)
  const path = join(home, 'log.ndjson')
  assert.deepEqual(await audit(['export', '--workspace', String(id), '--out', path]), {
    code: 0,
    stdout: '',
    stderr: `The log of workspace ${id} is in ${path}; its last line is the signed head.\n`,
  })
  await asOwner(async client => {
    await client.query('delete from audit_entries where sequence > 2')
    await client.query('update audit_heads set sequence = 2, hash = $1, signature = $2', [
      older?.hash,
      older?.signature,
    ])
  })
  const missing = (from: string) =>
    `Workspace ${id}: broken at entry 3. Entry 3 is missing: ${from} is at entry 4.\n`
  assert.deepEqual(await audit(['verify', '--head', path]), {
    code: 1,
    stdout: missing('the provided head'),
    stderr: CHANGED,
  })
  mkdirSync(dataFolder)
  writeFileSync(
    join(dataFolder, 'audit-heads.json'),
    JSON.stringify({
      [id]: JSON.parse(readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? ''),
    }),
  )
  assert.deepEqual(await audit(['verify']), {
    code: 1,
    stdout: missing('the last verified head'),
    stderr: CHANGED,
  })
})

it('verify writes the verified heads to the data folder', async test => {
  const { audit, write, dataFolder, workspaceId } = await startAuditing(test)
  await write(2)
  assert.equal((await audit(['verify'])).code, 0)
  const checkpoint = JSON.parse(readFileSync(join(dataFolder, 'audit-heads.json'), 'utf8'))
  assert.equal(checkpoint[workspaceId].sequence, 2)
  writeFileSync(join(dataFolder, 'audit-heads.json'), 'not JSON')
  const { code, stderr } = await audit(['verify'])
  assert.equal(code, 1)
  assert.match(stderr, /^\S+audit-heads\.json does not hold the heads of the audit logs: [^\n]+\n$/)
})

it('a log signed by a previous key is broken until that key is configured', async test => {
  const { audit, write } = await startAuditing(test)
  await write(1)
  const SIGNALBOX_CREDENTIAL_KEY = 'ab'.repeat(32)
  const { code, stdout } = await audit(['verify'], { SIGNALBOX_CREDENTIAL_KEY })
  assert.equal(code, 1)
  assert.match(stdout, /broken at entry 1\. The head of the log is not signed by a key of this/)
  const SIGNALBOX_CREDENTIAL_KEY_PREVIOUS = AUDIT_MASTER_KEY.toString('hex')
  const keys = { SIGNALBOX_CREDENTIAL_KEY, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS }
  assert.equal((await audit(['verify'], keys)).code, 0)
})

it('verify refuses a head that is forged or belongs to another workspace', async test => {
  const { audit, write, newWorkspace, home, workspaceId: id } = await startAuditing(test)
  await write(1)
  const path = join(home, 'head.json')
  const { stderr: unread } = await audit(['verify', '--head', path])
  assert.equal(unread, `The head cannot be read from ${path} (ENOENT).\n`)
  const forged = {
    workspace_id: id,
    sequence: 5,
    hash: 'a'.repeat(64),
    signature: 'b'.repeat(64),
  }
  writeFileSync(path, JSON.stringify(forged))
  const { code, stderr, stdout } = await audit(['verify', '--head', path])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(
    stderr,
    /head\.json does not end with a head that a key of this installation signed: /,
  )
  const log = join(home, 'log.ndjson')
  await audit(['export', '--workspace', String(id), '--out', log])
  const other = String(await newWorkspace())
  const foreign = await audit(['verify', '--workspace', other, '--head', log])
  assert.equal(foreign.stderr, `The head in ${log} belongs to workspace ${id}.\n`)
})

it('export writes to standard output, or to a new private file', async test => {
  const { audit, write, home, workspaceId: id } = await startAuditing(test)
  await write(2)
  const path = join(home, 'log.ndjson')
  const command = ['export', '--workspace', String(id)]
  const { code, stdout, stderr } = await audit(command)
  assert.deepEqual([code, stderr, stdout.trimEnd().split('\n').length], [0, '', 3])
  assert.equal((await audit([...command, '--out', path])).code, 0)
  assert.equal(readFileSync(path, 'utf8'), stdout)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(await audit([...command, '--out', path]), {
    code: 1,
    stdout: '',
    stderr: `${path} already exists: name a new file.\n`,
  })
  const missing = join(home, 'missing', 'log.ndjson')
  assert.deepEqual(await audit([...command, '--out', missing]), {
    code: 1,
    stdout: '',
    stderr: `The log cannot be written to ${missing} (ENOENT).\n`,
  })
  assert.equal(existsSync(missing), false)
  assert.deepEqual(readdirSync(home), ['log.ndjson'])
  assert.match((await audit(['export', '--workspace', '999'])).stderr, /^There is no workspace 999/)
})

it('without the key of the installation verify fails and creates none', async test => {
  const { audit, dataFolder } = await startAuditing(test)
  const { code, stderr } = await audit(['verify'], { SIGNALBOX_CREDENTIAL_KEY: '' })
  assert.equal(code, 1)
  assert.match(stderr, /^There is no key in \S+: set SIGNALBOX_CREDENTIAL_KEY/)
  assert.equal(existsSync(dataFolder), false)
})
