import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCommand } from '../../testing/fixtures/command-line.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { findClient } from '../oauth/client-store.ts'

it('adds a device client, which has no secret, and lists it', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString }
  const run = (...list: string[]) => runCommand(['client', ...list], { environment })
  assert.deepEqual(await run('list'), { code: 0, stdout: '', stderr: 'No clients.\n' })
  const added = await run('add', '--name', ' Terminal ')
  assert.equal(added.code, 0, added.stderr)
  const [, clientId = ''] = /client_id ([\da-f-]{36})/.exec(added.stderr) ?? []
  assert.deepEqual(await findClient(database, clientId), {
    clientId,
    kind: 'device',
    name: 'Terminal',
    redirectUris: [],
  })
  const listed = await run('list')
  const [header, row] = listed.stderr.split('\n')
  assert.match(header ?? '', /^CLIENT ID +STATUS +NAME$/)
  assert.equal(row, `${clientId}  never approved  Terminal`)
})
