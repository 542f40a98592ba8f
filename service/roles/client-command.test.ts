import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { createInstallation } from '../../testing/fixtures/program.ts'
import { findClient } from '../oauth/client-store.ts'

it('makes a device client, which has no secret, and lists it', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const place = createInstallation(test)
  const run = async (...list: string[]) => {
    const environment = { DATABASE_URL: connectionString }
    const program = place.start({ role: 'client', arguments: list, environment })
    const { code } = await program.exited
    return { code, said: program.stderr() }
  }
  const added = await run('add', '--name', 'Terminal')
  assert.equal(added.code, 0, added.said)
  const [, clientId = ''] = /client_id ([\da-f-]{36})/.exec(added.said) ?? []
  assert.deepEqual(await findClient(database, clientId), {
    clientId,
    kind: 'device',
    name: 'Terminal',
    redirectUris: [],
  })
  const listed = await run('list')
  assert.equal(listed.said, `${clientId}  never approved  Terminal\n`)
  const wrong = await run('remove')
  assert.equal(wrong.code, 1)
  assert.match(wrong.said, /^Usage: npm run client/)
})
