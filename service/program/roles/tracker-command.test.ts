import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'

it('shows, sets and clears the consent categories of a tracker, and audits it', async test => {
  const { home, dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = async (...argumentList: string[]) => {
    const { code, stderr } = await runCommand(argumentList, { environment })
    return { code, stderr }
  }
  const path = join(home, 'shop.json')
  await run('provision', '--without-owner', '--out', path)
  const { tracker_id, workspace_id } = JSON.parse(readFileSync(path, 'utf8'))
  const categories = (...options: string[]) =>
    run('tracker', 'categories', '--tracker', tracker_id, ...options)
  const none = { code: 0, stderr: 'The tracker has no consent categories of its own.\n' }
  assert.deepEqual(await categories(), none)
  const set = await categories('--set', 'C0006=advertising', '--set', 'C0004=other')
  assert.match(set.stderr, /C0004\s+other\s+C0006\s+advertising/)
  assert.deepEqual(await categories(), set)
  const wrong = await categories('--set', 'C0006=everything')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /C0006=advertising, not C0006=everything\. The purposes are adv/)
  assert.deepEqual(await categories('--clear'), none)
  const actions = (await readAuditEntries(database, workspace_id)).map(({ action }) => action)
  assert.deepEqual(actions.slice(-2), Array(2).fill('tracker.consent_categories_changed'))
})

it('shows and sets whether pages share event IDs, and audits a change', async test => {
  const { home, dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = (...argumentList: string[]) => runCommand(argumentList, { environment })
  const path = join(home, 'shop.json')
  const origin = ['provision', '--without-owner', '--out', path, '--origin', 'https://shop.example']
  const unasked = await run(...origin)
  assert.equal(unasked.code, 1)
  assert.match(unasked.stderr, /With --origin, say --share-page-ids on or off\. on: platforms/)
  assert.equal((await run(...origin, '--share-page-ids', 'on')).code, 0)
  const { tracker_id, workspace_id } = JSON.parse(readFileSync(path, 'utf8'))
  const pageIds = async (...options: string[]) =>
    (await run('tracker', 'page-ids', '--tracker', tracker_id, ...options)).stderr
  assert.match(await pageIds(), /^Pages share event IDs: on\. on: platforms count/)
  for (let time = 0; time < 2; time += 1) {
    assert.match(await pageIds('--share', 'off'), /^Pages share event IDs: off\./)
  }
  const entries = await readAuditEntries(database, workspace_id)
  const changes = entries.filter(({ action }) => action === 'tracker.page_id_sharing_changed')
  assert.deepEqual(
    changes.map(({ details }) => details),
    [{ share_page_ids: false }],
  )
})
