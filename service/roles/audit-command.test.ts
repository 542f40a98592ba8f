import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { AUDIT_MASTER_KEY, createAuditFixture } from '../../testing/fixtures/audit.ts'
import { createInstallation } from '../../testing/fixtures/program.ts'
import { findHead } from '../audit/audit-read-store.ts'

/** An installation on a store with a log, and the command as its operator types it. */
async function auditPlace(test: TestContext) {
  const under = await createAuditFixture(test)
  const place = createInstallation(test)
  const home = dirname(place.dataFolder)
  const environment = {
    DATABASE_URL: under.connectionString,
    SIGNALBOX_CREDENTIAL_KEY: AUDIT_MASTER_KEY.toString('hex'),
  }
  const audit = async (list: string[], changes: Record<string, string> = {}) => {
    const program = place.start({
      role: 'audit',
      arguments: list,
      environment: { ...environment, ...changes },
    })
    const { code } = await program.exited
    return { code, shown: program.stdout(), said: program.stderr() }
  }
  return { ...under, home, dataFolder: place.dataFolder, audit }
}

const CHANGED =
  'The audit log was changed: copy the database as it is before anything else; ' +
  'docs/operations/audit.md says what may have happened.\n'

it('verify shows a line for each workspace, and ends with code 1 when a log was changed', async test => {
  const { audit, write, newWorkspace, asOwner, workspaceId: id } = await auditPlace(test)
  const other = await newWorkspace()
  await write(3)
  await write(1, other)
  const lines = (first: string) =>
    `Workspace ${id}: ${first}\n` + `Workspace ${other}: intact. The only entry is unchanged.\n`
  const intact = lines('intact. All 3 entries are unchanged.')
  assert.deepEqual(await audit(['verify']), { code: 0, shown: intact, said: '' })
  await asOwner(client =>
    client.query('delete from audit_entries where workspace_id = $1 and sequence = 2', [id]),
  )
  assert.deepEqual(await audit(['verify']), {
    code: 1,
    shown: lines('broken at entry 2. Entry 2 is missing.'),
    said: CHANGED,
  })
  assert.equal((await audit(['verify', '--workspace', String(other)])).code, 0)
  assert.deepEqual(await audit(['verify', '--workspace', '999']), {
    code: 1,
    shown: '',
    said: 'There is no workspace 999 here.\n',
  })
})

it('verify finds an older head by its memo, and by the head of an export', async test => {
  const {
    audit,
    database,
    write,
    asOwner,
    workspaceId: id,
    home,
    dataFolder,
  } = await auditPlace(test)
  await write(2)
  const older = await findHead(database, id)
  await write(2)
  const path = join(home, 'log.ndjson')
  assert.deepEqual(await audit(['export', '--workspace', String(id), '--out', path]), {
    code: 0,
    shown: '',
    said: `The log of workspace ${id} is in ${path}, and last in it the signed head.\n`,
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
    shown: missing('the provided head'),
    said: CHANGED,
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
    shown: missing('the last verified head'),
    said: CHANGED,
  })
})

it('verify remembers what was intact in the data folder', async test => {
  const { audit, write, dataFolder, workspaceId } = await auditPlace(test)
  await write(2)
  assert.equal((await audit(['verify'])).code, 0)
  const memo = JSON.parse(readFileSync(join(dataFolder, 'audit-heads.json'), 'utf8'))
  assert.equal(memo[workspaceId].sequence, 2)
  writeFileSync(join(dataFolder, 'audit-heads.json'), 'spoiled')
  const { code, said } = await audit(['verify'])
  assert.equal(code, 1)
  assert.match(said, /^\S+audit-heads\.json does not hold the heads of the audit logs: [^\n]+\n$/)
})

it('a log under another key is broken until that key is named', async test => {
  const { audit, write } = await auditPlace(test)
  await write(1)
  const SIGNALBOX_CREDENTIAL_KEY = 'ab'.repeat(32)
  const { code, shown } = await audit(['verify'], { SIGNALBOX_CREDENTIAL_KEY })
  assert.equal(code, 1)
  assert.match(shown, /broken at entry 1\. The head of the log is not signed by a key of this/)
  const SIGNALBOX_CREDENTIAL_KEY_PREVIOUS = AUDIT_MASTER_KEY.toString('hex')
  const keys = { SIGNALBOX_CREDENTIAL_KEY, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS }
  assert.equal((await audit(['verify'], keys)).code, 0)
})

it('verify refuses a head that it cannot trust', async test => {
  const { audit, write, newWorkspace, home, workspaceId: id } = await auditPlace(test)
  await write(1)
  const path = join(home, 'head.json')
  const { said: unread } = await audit(['verify', '--head', path])
  assert.equal(unread, `The head cannot be read from ${path} (ENOENT).\n`)
  const forged = {
    ...{ workspace_id: id, sequence: 5 },
    ...{ hash: 'a'.repeat(64), signature: 'b'.repeat(64) },
  }
  writeFileSync(path, JSON.stringify(forged))
  const { code, said, shown } = await audit(['verify', '--head', path])
  assert.deepEqual([code, shown], [1, ''])
  assert.match(said, /head\.json does not end with a head that a key of this installation signed: /)
  const log = join(home, 'log.ndjson')
  await audit(['export', '--workspace', String(id), '--out', log])
  const other = String(await newWorkspace())
  const strange = await audit(['verify', '--workspace', other, '--head', log])
  assert.equal(strange.said, `The head in ${log} is of the workspace ${id}.\n`)
})

it('export writes lines to standard output, or a private file that was not there', async test => {
  const { audit, write, home, workspaceId: id } = await auditPlace(test)
  await write(2)
  const path = join(home, 'log.ndjson')
  const order = ['export', '--workspace', String(id)]
  const { code, shown, said } = await audit(order)
  assert.deepEqual([code, said, shown.trimEnd().split('\n').length], [0, '', 3])
  assert.equal((await audit([...order, '--out', path])).code, 0)
  assert.equal(readFileSync(path, 'utf8'), shown)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(await audit([...order, '--out', path]), {
    code: 1,
    shown: '',
    said: `${path} already exists: name a new file.\n`,
  })
  const nowhere = join(home, 'nowhere', 'log.ndjson')
  assert.deepEqual(await audit([...order, '--out', nowhere]), {
    code: 1,
    shown: '',
    said: `The log cannot be written to ${nowhere} (ENOENT).\n`,
  })
  assert.equal(existsSync(nowhere), false)
  assert.deepEqual(readdirSync(home), ['log.ndjson'])
  assert.match((await audit(['export', '--workspace', '999'])).said, /^There is no workspace 999/)
})

it('without a key nothing is verified and none is made', async test => {
  const { audit, dataFolder } = await auditPlace(test)
  const { code, said } = await audit(['verify'], { SIGNALBOX_CREDENTIAL_KEY: '' })
  assert.equal(code, 1)
  assert.match(said, /^There is no key in \S+: set SIGNALBOX_CREDENTIAL_KEY/)
  assert.equal(existsSync(dataFolder), false)
})
