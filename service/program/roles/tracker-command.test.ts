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
  await run('provision', '--out', path)
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
