import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'

it('provisions, shows, previews and sets a routing, and audits a change', async test => {
  const { home, dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = (...argumentList: string[]) => runCommand(argumentList, { environment })
  const write = (name: string, routing: object) => {
    writeFileSync(join(home, name), JSON.stringify(routing))
    return join(home, name)
  }
  const path = join(home, 'shop.json')
  const invalid = write('invalid.json', { filter: { test: 'never' } })
  const refused = await run('provision', '--without-owner', '--out', path, '--routing', invalid)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /The filter\.test field/)
  const first = write('first.json', { event_names: { Order: 'Purchase' } })
  assert.equal(
    (await run('provision', '--without-owner', '--out', path, '--routing', first)).code,
    0,
  )

  const { destination_id, workspace_id } = JSON.parse(readFileSync(path, 'utf8'))
  const routing = (task: string, ...options: string[]) =>
    run('routing', task, '--destination', destination_id, ...options)
  const show = async () => JSON.parse((await routing('show')).stderr)
  assert.deepEqual(await show(), { event_names: { Order: 'Purchase' } })
  const filter = { event_names: ['Order'] }
  const second = write('second.json', { filter })
  assert.match((await routing('preview', '--from', second)).stderr, /^0 of the last 0 events/)
  assert.deepEqual(await show(), { event_names: { Order: 'Purchase' } })
  assert.equal((await routing('set', '--from', second)).code, 0)
  assert.deepEqual(await show(), { event_names: { Order: 'Purchase' }, filter })
  const wrong = await routing('set', '--from', invalid)
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /The filter\.test field/)
  const entries = await readAuditEntries(database, workspace_id)
  const changes = entries.filter(({ action }) => action === 'destination.routing_changed')
  assert.deepEqual(
    changes.map(({ actor, details }) => [actor.type, details.changed]),
    [['operator', ['filter.event_names']]],
  )
})
