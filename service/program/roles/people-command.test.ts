import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { findTokensOfUser } from '../../workspaces/oauth/execution-token-store.ts'
import { issueExecutionToken } from '../../workspaces/oauth/execution-tokens.ts'
import { isPasswordCorrect } from '../../workspaces/users/password-hash.ts'
import { findPasswordHash, findUserByEmail } from '../../workspaces/users/user-store.ts'
import { findMemberRole, updateMemberRole } from '../../workspaces/users/workspace-store.ts'

it('add-owner opens a workspace that was made without one, and audits it', async test => {
  const { dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = (line: string) => runCommand(line.split(' '), { environment })
  const made = await run(`provision --without-owner --out ${dataFolder}/shop.json`)
  assert.match(made.stderr, /people add-owner ADDRESS --workspace 1"/)
  const add = (rest: string) => run(`people add-owner ada@shop.example ${rest}`)
  const pathless = await add('--workspace 1')
  assert.match(pathless.stderr, /^ada@shop\.example has no account yet: .+ --out FILE\.\n$/)
  const out = `${dataFolder}/owner.json`
  const unknown = await add(`--workspace 77 --out ${out}`)
  assert.deepEqual([unknown.code, existsSync(out)], [1, false])
  assert.match(unknown.stderr, /^There is no workspace 77 here\./)

  const added = await add(`--workspace 1 --out ${out}`)
  assert.equal(added.code, 0, added.stderr)
  const file = JSON.parse(readFileSync(out, 'utf8'))
  assert.equal(statSync(out).mode & 0o777, 0o600)
  assert.equal(file.owner_email, 'ada@shop.example')
  assert.ok(!added.stderr.includes(file.owner_password))
  const user = await findUserByEmail(database, 'ada@shop.example')
  const hash = await findPasswordHash(database, user?.userId ?? 0)
  assert.ok(await isPasswordCorrect({ password: file.owner_password, hash: hash ?? '' }))
  assert.match((await add('--workspace 1')).stderr, /is an owner of workspace 1 already/)

  const member = { workspaceId: 1, userId: user?.userId ?? 0 }
  await updateMemberRole(database, member, 'member')
  assert.match((await add('--workspace 1')).stderr, /is an owner of workspace 1 now\.\n$/)
  assert.equal(await findMemberRole(database, member), 'owner')
  const entries = (await readAuditEntries(database, 1)).slice(-2)
  assert.deepEqual(
    entries.map(({ action, actor, details }) => [action, actor.type, details]),
    [
      ['member.added', 'operator', { role: 'owner' }],
      ['member.role_changed', 'operator', { role: 'owner', role_before: 'member' }],
    ],
  )
})

it('disable ends the execution tokens of a person, and enable does not revive them', async test => {
  const { dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = async (...argumentList: string[]) => {
    const { code, stderr } = await runCommand(argumentList, { environment })
    assert.equal(code, 0, stderr)
    return stderr
  }
  // Creates the key of the installation.
  await run('provision', '--without-owner', '--out', `${dataFolder}/shop.json`)
  const clock = new TestClock()
  const place = { url: 'http://127.0.0.1:3000', database, clock }
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(place)
  const keys = { current: Buffer.alloc(32, 1), previous: [] }
  const audit = createAuditTrail(deriveAuditKeys(keys), createLogger('silent'))
  await issueExecutionToken(
    { database, audit },
    {
      workspaceId,
      adAccountId,
      tier: 'read',
      days: 30,
      name: 'Token',
      issuedBy: owner.userId,
      issuedAt: clock.now(),
    },
  )
  assert.equal((await findTokensOfUser(database, owner.userId)).length, 1)
  assert.match(await run('people', 'disable', owner.email), /is disabled now/)
  assert.deepEqual(await findTokensOfUser(database, owner.userId), [])
  assert.match(await run('people', 'enable', owner.email), /is active now/)
  assert.deepEqual(await findTokensOfUser(database, owner.userId), [])
})
