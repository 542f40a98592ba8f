import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { listDestinations } from '../../signals/delivery/destination-store.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'

it('connects the only tracker to the simulator of each platform, and audits it', async test => {
  const { database, run, provision } = await createStore(test)
  const { tracker_id, workspace_id } = await provision('shop.json')
  const { all, default: first } = createOfflinePlatforms()
  for (const { name, label, conversionTargets } of all.filter(platform => platform !== first)) {
    const connected = await run('destination', 'connect', '--platform', name, '--simulator')
    assert.equal(connected.code, 0, connected.stderr)
    assert.ok(connected.stderr.startsWith(`Connected ${label} `))
    assert.equal(/only the events that its map names/.test(connected.stderr), !!conversionTargets)
  }
  const destinations = await listDestinations(database, tracker_id)
  assert.deepEqual(
    destinations.map(({ platform, status }) => [platform, status]).sort(),
    all.map(({ name }) => [name, 'active']).sort(),
  )
  const entries = await readAuditEntries(database, workspace_id)
  const created = entries.filter(({ action }) => action === 'destination.created')
  assert.deepEqual(
    created.map(({ actor }) => actor.type),
    Array(all.length - 1).fill('operator'),
  )
})

it('connects a target with its token and routing, and refuses the same target twice', async test => {
  const { database, home, run, provision } = await createStore(test)
  const { tracker_id } = await provision('shop.json')
  const routing = join(home, 'routing.json')
  writeFileSync(routing, JSON.stringify({ event_names: { Purchase: 'checkout' } }))
  const connect = () =>
    run(
      ...['destination', 'connect', '--tracker', tracker_id, '--platform', 'pinterest'],
      ...['--target', 'ad_account_id=549757463328', '--token-from', '-', '--routing', routing],
    )
  const connected = await connect()
  assert.equal(connected.code, 0, connected.stderr)
  assert.match(connected.stderr, /^Connected Pinterest 549757463328 as .+not checked yet/s)
  assert.ok(!connected.stderr.includes('secret-token'))
  const destinations = await listDestinations(database, tracker_id)
  const stored = destinations.find(({ platform }) => platform === 'pinterest')
  assert.deepEqual(stored?.routing, { event_names: { Purchase: 'checkout' } })
  const again = await connect()
  assert.equal(again.code, 1)
  assert.match(again.stderr, /^This tracker already sends to Pinterest 549757463328\.$/m)
})

it('asks for the tracker where the store has several, and for a platform', async test => {
  const { run, provision } = await createStore(test)
  const connect = (...options: string[]) => run('destination', 'connect', ...options)
  const simulated = ['--platform', 'pinterest', '--simulator']
  assert.match((await connect(...simulated)).stderr, /There is no tracker here/)
  const { workspace_id } = await provision('one.json')
  await provision('two.json')
  assert.match((await connect(...simulated)).stderr, /several trackers here: name one with/)
  assert.equal((await connect(...simulated, '--tracker', String(workspace_id))).code, 0)
  assert.match((await connect('--simulator')).stderr, /^--platform is required: meta, /)
  const both = await connect(...simulated, '--target', 'ad_account_id=1')
  assert.match(both.stderr, /^--simulator needs no target and no token/)
})

it('lists what each platform asks for, and where it shows that', async () => {
  const { stdout } = await runCommand(['destination', 'platforms'])
  for (const { name, label, targetFields, credentialForms } of createOfflinePlatforms().all) {
    assert.ok(stdout.includes(`${label}: --platform ${name}\n`))
    for (const { name: member, hint } of targetFields) {
      assert.ok(stdout.includes(`--target ${member}=VALUE`) && stdout.includes(hint), member)
    }
    for (const { hint } of credentialForms) assert.ok(stdout.includes(hint), hint)
  }
})

async function createStore(test: TestContext) {
  const { home, dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = {
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: 'c0de'.repeat(16),
  }
  const run = (...argumentList: string[]) =>
    runCommand(argumentList, { environment, input: 'secret-token\n' })
  const provision = async (name: string) => {
    const path = join(home, name)
    assert.equal((await run('provision', '--without-owner', '--out', path)).code, 0)
    return JSON.parse(readFileSync(path, 'utf8'))
  }
  return { database, home, run, provision }
}
