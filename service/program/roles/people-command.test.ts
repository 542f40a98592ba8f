import assert from 'node:assert/strict'
import { it } from 'node:test'
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
  await run('provision', '--out', `${dataFolder}/shop.json`)
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
