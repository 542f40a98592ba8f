import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { revokeToken } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import { openCredential } from '../../runtime/util/sealed-credential.ts'
import { everyDestination } from '../../signals/delivery/credential-store.ts'
import { createErasureKeyProvider } from '../../signals/erasure/erasure-store.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'
import { provisionDestination } from '../provisioning/provision-tracker.ts'

const [OLD, NEW] = [randomBytes(32), randomBytes(32)]
const TOKEN = 'EAAB-a-token-that-is-never-printed'
const AT = new Date('2026-11-21T12:00:00.000Z')
const UNKNOWN = '0190bbbb-0000-7000-8000-000000000001'

interface RunOptions {
  environment?: Record<string, string>
  input?: string
}

/** A migrated store of its own, a data folder, and the commands as an operator types them. */
async function startOperating(test: TestContext) {
  const place = createInstallation(test)
  const { database, connectionString } = await createTestDatabase(test)
  const home = dirname(place.dataFolder)
  const environment = {
    DATABASE_URL: connectionString,
    SIGNALBOX_DATA_DIR: place.dataFolder,
    SIGNALBOX_CREDENTIAL_KEY: OLD.toString('hex'),
  }
  /** Also checks that the token is not printed. */
  const run = async (argumentList: string[], { input, ...options }: RunOptions = {}) => {
    const { code, stdout, stderr } = await runCommand(argumentList, {
      environment: { ...environment, ...options.environment },
      ...(input !== undefined && { input }),
    })
    assert.ok(!`${stderr}${stdout}`.includes('EAAB'))
    return { code, stderr }
  }
  const credential = (argumentList: string[], options?: RunOptions) =>
    run(['credential', ...argumentList], options)
  const provision = async (name: string, list: string[] = [], options: RunOptions = {}) => {
    const path = join(home, `${name}.json`)
    const { code, stderr } = await run(
      ['provision', '--without-owner', '--out', path, '--name', name, ...list],
      options,
    )
    assert.equal(code, 0, stderr)
    return JSON.parse(readFileSync(path, 'utf8')) as Credentials
  }
  const writeTokenFile = (name: string, content: string) => {
    const path = join(home, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  return { place, database, environment, run, credential, provision, writeTokenFile }
}

/** Dataset and token of each destination, opened with one key. */
async function readStored(database: Database, current: Buffer): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for await (const { id, config, sealedCredential } of everyDestination(database)) {
    const opened = openCredential({ current, previous: [] }, id, sealedCredential)
    found[id] = [String(config.dataset_id), opened?.credential ?? 'unreadable']
  }
  return found
}

it('provision takes a dataset with its token, from a file or from standard input', async test => {
  const { database, provision, writeTokenFile } = await startOperating(test)
  const path = writeTokenFile('token', `${TOKEN}-1\n`)
  const filed = await provision('one', ['--dataset', '111', '--token-from', path])
  const options = ['--dataset', '222', '--token-from', '-']
  const piped = await provision('two', options, { input: `${TOKEN}-2` })
  const simulated = await provision('three')
  const found = await readStored(database, OLD)
  assert.deepEqual(found[filed.destination_id], ['111', `${TOKEN}-1`])
  assert.deepEqual(found[piped.destination_id], ['222', `${TOKEN}-2`])
  assert.match(found[simulated.destination_id]?.join() ?? '', /^\d{15},simulator-/)
})

it('provision says when the platform checks the token', async test => {
  const { run, place } = await startOperating(test)
  const out = join(dirname(place.dataFolder), 'shop.json')
  const line = [
    'provision',
    '--without-owner',
    '--out',
    out,
    '--dataset',
    '111',
    '--token-from',
    '-',
  ]
  const { code, stderr } = await run(line, { input: TOKEN })
  assert.equal(code, 0)
  assert.match(
    stderr,
    /\nThe token is not checked yet: the platform checks it with the first event/,
  )
})

it('credential set refuses a dataset for a platform without datasets', async test => {
  const { database, credential, provision } = await startOperating(test)
  const { tracker_id: trackerId } = await provision('one')
  const id = await provisionDestination(database, {
    trackerId,
    at: AT,
    credentialKeys: { current: OLD, previous: [] },
    connected: { platform: 'tiny', config: { board: 'sales' }, accessToken: 'tiny-key' },
  })
  const line = ['set', '--destination', id, '--from', '-', '--dataset', '111']
  assert.deepEqual(await credential(line, { input: TOKEN }), {
    code: 1,
    stderr: `Destination ${id} sends to tiny, which has no dataset_id.\n`,
  })
})

it('credential set takes a token from a file or from standard input, and prints none', async test => {
  const { database, credential, provision, writeTokenFile } = await startOperating(test)
  const { destination_id, tracker_id, workspace_id } = await provision('one')
  const set = ['set', '--destination', destination_id]
  const isSet = {
    code: 0,
    stderr:
      `The new credential of destination ${destination_id} is set; ` +
      'waiting events are sent now.\n',
  }
  const [dataset = ''] = (await readStored(database, OLD))[destination_id] ?? []
  const piped = await credential([...set, '--from', '-'], { input: `${TOKEN}\r\n` })
  assert.deepEqual(piped, isSet)
  assert.deepEqual((await readStored(database, OLD))[destination_id], [dataset, TOKEN])

  for (const [index, tracker] of [tracker_id, String(workspace_id)].entries()) {
    const from = writeTokenFile(`token${index}`, `${TOKEN}-${index}`)
    const options = ['--from', from, '--tracker', tracker, '--dataset', `33${index}`]
    assert.deepEqual(await credential([...set, ...options]), isSet)
    const changed = (await readStored(database, OLD))[destination_id]
    assert.deepEqual(changed, [`33${index}`, `${TOKEN}-${index}`])
  }

  const environment = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  const resealed = await credential([...set, '--from', '-'], { input: TOKEN, environment })
  assert.equal(resealed.code, 0)
  assert.match(
    resealed.stderr,
    /\nNo key here opens the previous credential: make sure [^\n]+\.\n$/,
  )
})

it('credential set refuses invalid input and changes nothing', async test => {
  const { place, database, credential, provision } = await startOperating(test)
  const [{ destination_id }, other] = [await provision('one'), await provision('two')]
  const before = await readStored(database, OLD)
  const set = ['set', '--from', '-', '--destination']
  const refusals: [string[], RunOptions, RegExp][] = [
    [[...set, destination_id, '--token', TOKEN], {}, /^Do not pass a token as an argument, /],
    [[...set, destination_id], {}, /^There is no token in standard input: /],
    [[...set, destination_id], { input: 'EAAB x' }, /^There is no token in standard /],
    [[...set, UNKNOWN], { input: TOKEN }, /^There is no destination \S+ here\.\n$/],
    [
      [...set, destination_id, '--tracker', other.tracker_id],
      { input: TOKEN },
      /^There is no destination \S+ here\.\n$/,
    ],
    [
      ['list'],
      { environment: { SIGNALBOX_CREDENTIAL_KEY: '' } },
      /^There is no key in \S+: set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have\.\n$/,
    ],
  ]
  for (const [argumentList, options, sentence] of refusals) {
    const { code, stderr } = await credential(argumentList, options)
    assert.equal(code, 1, stderr)
    assert.match(stderr, sentence)
  }
  assert.deepEqual(await readStored(database, OLD), before)
  assert.equal(existsSync(place.dataFolder), false)
})

it('list shows the progress of a key rotation, and reseal completes it', async test => {
  const { database, credential, provision } = await startOperating(test)
  const ids = [(await provision('one')).destination_id, (await provision('two')).destination_id]
  const rotating = {
    SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex'),
    SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: OLD.toString('hex'),
  }
  const rotated = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  assert.deepEqual(await listKeys(credential, rotating, ids), ['previous', 'previous'])
  assert.deepEqual(await credential(['reseal'], { environment: rotating }), {
    code: 0,
    stderr: 'Already under the current key: 0\nResealed: 2\nAudit logs signed again: 2\n',
  })
  assert.deepEqual(await listKeys(credential, rotated, ids), ['current', 'current'])
  const tokens = Object.values(await readStored(database, NEW)).map(([, token]) => token)
  assert.ok(!tokens.includes('unreadable'))
  assert.deepEqual(await listKeys(credential, {}, ids), ['none', 'none'])

  const { code, stderr } = await credential(['reseal'])
  assert.equal(code, 1)
  const listed = stderr.split('\n').filter(line => line.startsWith('  '))
  assert.deepEqual(listed.map(line => line.trim()).sort(), [...ids].sort())
  assert.match(stderr, /^Already under the current key: 0\nResealed: 0\nNot opened by any key: 2\n/)
  assert.match(stderr, /\nNot every credential could be opened: [^\n]+\.\n$/)
})

it('reseal rotates the key of erased identifiers, and serve does not start without it', async test => {
  const { database, run, credential, provision } = await startOperating(test)
  await provision('one')
  const credentialKeys = { current: OLD, previous: [] }
  const erasureKey = await createErasureKeyProvider({ database, credentialKeys, now: () => AT })()
  const rotated = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  const inThisThread = { PORT: '0', SIGNALBOX_HTTP_WORKERS: '0' }
  const started = await run(['serve'], { environment: { ...rotated, ...inThisThread } })
  assert.equal(started.code, 1)
  assert.match(started.stderr, /^SIGNALBOX_CREDENTIAL_KEY opens none of the [^\n]+\.\n$/)

  const rotating = { ...rotated, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: OLD.toString('hex') }
  const { code, stderr } = await credential(['reseal'], { environment: rotating })
  assert.equal(code, 0)
  assert.match(
    stderr,
    /\nResealed the key of erased identifiers\.\nAudit logs signed again: \d+\n$/,
  )
  const renewed = { current: NEW, previous: [] }
  const same = await createErasureKeyProvider({
    database,
    credentialKeys: renewed,
    now: () => AT,
  })()
  assert.ok(same.equals(erasureKey))
})

type RunCredential = (
  argumentList: string[],
  options: RunOptions,
) => Promise<{ code: number; stderr: string }>

async function listKeys(
  credential: RunCredential,
  environment: Record<string, string>,
  ids: string[],
): Promise<(string | undefined)[]> {
  const { code, stderr } = await credential(['list'], { environment })
  assert.equal(code, 0, stderr)
  const rows = stderr.split('\n').map(line => line.split(/\s+/))
  assert.deepEqual(rows[0], ['DESTINATION', 'TRACKER', 'TARGET', 'STATUS', 'KEY', 'REASON'])
  return ids.map(id => rows.find(([destination]) => destination === id)?.[4])
}

it('a key of the data folder rotates by renaming its file', async test => {
  const { place, credential, provision } = await startOperating(test)
  const path = join(place.dataFolder, 'credential-key')
  const unset = { SIGNALBOX_CREDENTIAL_KEY: '' }
  const { destination_id: id } = await provision('one', [], { environment: unset })
  renameSync(path, `${path}.previous`)
  const rotating = { ...unset, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS_FILE: `${path}.previous` }
  await provision('two', [], { environment: rotating })
  assert.notEqual(readFileSync(path, 'utf8'), readFileSync(`${path}.previous`, 'utf8'))
  assert.deepEqual(await credential(['reseal'], { environment: rotating }), {
    code: 0,
    stderr: 'Already under the current key: 1\nResealed: 1\nAudit logs signed again: 1\n',
  })
  assert.deepEqual(await listKeys(credential, unset, [id]), ['current'])
})

it('a running worker sends waiting events as soon as a new credential is set', async test => {
  const { place, database, environment, credential } = await startOperating(test)
  await place.startReady({ environment: { ...environment, SIGNALBOX_DELIVERY_POLL_SECONDS: '60' } })
  const { base_url, tracker_secret, destination_id, simulator_url } = place.credentials()
  const [, token = ''] = (await readStored(database, OLD))[destination_id] ?? []
  await revokeToken(simulator_url ?? '', token)
  const submitted = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ consent: { ad_user_data: 'granted' } })),
  })
  assert.equal(submitted.status, 202)
  await waitUntil('the destination is paused', async () => {
    const { stderr } = await credential(['list'])
    return /\binactive +current +The platform rejects the credential /.test(stderr)
  })
  const set = ['set', '--destination', destination_id, '--from', '-']
  assert.equal((await credential(set, { input: TOKEN })).code, 0)
  await waitUntil('the event is accepted', async () => {
    const { rows } = await database.pool.query('select status, attempt_count from all_deliveries')
    return rows[0]?.status === 'accepted' && rows[0].attempt_count === 1
  })
  assert.match((await credential(['list'])).stderr, /\bactive +current\n/)
})
