import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { CLIENTS_PER_PAGE, findClient } from '../../workspaces/oauth/client-store.ts'

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

it('lists every client in pages, those in use first', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString }
  const count = 2 * CLIENTS_PER_PAGE + 3
  // Clients of the same moment, and the oldest one is the only one in use.
  await database.pool.query(
    `insert into oauth_clients (client_id, kind, name, redirect_uris, created_at, approved_at)
     select 'client-' || lpad(n::text, 4, '0'), 'device', 'Terminal', '{}',
       timestamptz '2026-11-01' + n / 10 * interval '1 minute',
       case when n = 1 then timestamptz '2026-11-02' end
     from generate_series(1, $1::int) n`,
    [count],
  )
  const listed: string[] = []
  let after: string[] = []
  for (let pages = 0; pages < 5; pages += 1) {
    const { code, stderr } = await runCommand(['client', 'list', ...after], { environment })
    assert.equal(code, 0, stderr)
    listed.push(...[...stderr.matchAll(/^(client-\d+) /gm)].map(([, id = '']) => id))
    const [, next] = /^More clients: add --after (\S+)$/m.exec(stderr) ?? []
    if (next === undefined) break
    after = ['--after', next]
  }
  assert.equal(listed[0], 'client-0001')
  assert.equal(listed.length, count)
  assert.equal(new Set(listed).size, count)
  const unknown = await runCommand(['client', 'list', '--after', 'x'], { environment })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /There is no client x/)
})
