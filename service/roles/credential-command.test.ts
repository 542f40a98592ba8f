import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import {
  createInstallation,
  eventually,
  type StartOptions,
} from '../../testing/fixtures/program.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { revokeToken } from '../../testing/fixtures/simulator.ts'
import type { Database } from '../db/database.ts'
import { everyDestination } from '../delivery/credential-store.ts'
import { openCredential } from '../delivery/sealed-credential.ts'
import { createErasureKeyProvider } from '../erasure/erasure-key-store.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'

const [OLD, NEW] = [randomBytes(32), randomBytes(32)]
const TOKEN = 'EAAB-a-token-that-nobody-may-see'
const AT = new Date('2026-11-21T12:00:00.000Z')
const NOWHERE = '0190bbbb-0000-7000-8000-000000000001'

/** An installation on a store of its own that is migrated already. */
async function credentialPlace(test: TestContext) {
  const place = createInstallation(test)
  const { database, connectionString } = await createTestDatabase(test)
  const home = dirname(place.dataFolder)
  const environment = {
    DATABASE_URL: connectionString,
    SIGNALBOX_CREDENTIAL_KEY: OLD.toString('hex'),
  }
  /** Runs a role to its end, and looks whether it kept the token to itself. */
  const run = async (options: StartOptions) => {
    const program = place.start({
      role: 'credential',
      ...options,
      environment: { ...environment, ...options.environment },
    })
    const { code } = await program.exited
    assert.ok(!`${program.stderr()}${program.stdout()}`.includes('EAAB'))
    return { code, said: program.stderr() }
  }
  const provision = async (name: string, options: StartOptions = {}) => {
    const path = join(home, `${name}.json`)
    const { code, said } = await run({
      ...options,
      role: 'provision',
      arguments: ['--out', path, '--name', name, ...(options.arguments ?? [])],
    })
    assert.equal(code, 0, said)
    return JSON.parse(readFileSync(path, 'utf8')) as Credentials
  }
  const file = (name: string, content: string) => {
    const path = join(home, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  return { place, database, environment, run, provision, file }
}

/** Dataset and token by destination, with the keys that are given. */
async function stored(database: Database, current: Buffer): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for await (const { id, config, sealedCredential } of everyDestination(database)) {
    const opened = openCredential({ current, previous: [] }, id, sealedCredential)
    found[id] = [String(config.dataset_id), opened?.credential ?? 'closed']
  }
  return found
}

it('provision takes a real dataset with its token, from a file or from standard input', async test => {
  const { database, provision, file } = await credentialPlace(test)
  const path = file('token', `${TOKEN}-1\n`)
  const filed = await provision('one', { arguments: ['--dataset', '111', '--token-from', path] })
  const options = ['--dataset', '222', '--token-from', '-']
  const piped = await provision('two', { arguments: options, input: `${TOKEN}-2` })
  const simulated = await provision('three')
  const found = await stored(database, OLD)
  assert.deepEqual(found[filed.destination_id], ['111', `${TOKEN}-1`])
  assert.deepEqual(found[piped.destination_id], ['222', `${TOKEN}-2`])
  assert.match(found[simulated.destination_id]?.join() ?? '', /^\d{15},simulator-/)
})

it('credential set takes a token from a file or from standard input, and shows none', async test => {
  const { database, run, provision, file } = await credentialPlace(test)
  const { destination_id, tracker_id } = await provision('one')
  const set = ['set', '--destination', destination_id]
  const isSet = {
    code: 0,
    said: `Destination ${destination_id} has its new credential; what waits for it goes out.\n`,
  }
  const [dataset = ''] = (await stored(database, OLD))[destination_id] ?? []
  const piped = await run({ arguments: [...set, '--from', '-'], input: `${TOKEN}\r\n` })
  assert.deepEqual(piped, isSet)
  assert.deepEqual((await stored(database, OLD))[destination_id], [dataset, TOKEN])

  const rest = ['--from', file('token', `${TOKEN}-2`), '--tracker', tracker_id, '--dataset', '333']
  assert.deepEqual(await run({ arguments: [...set, ...rest] }), isSet)
  assert.deepEqual((await stored(database, OLD))[destination_id], ['333', `${TOKEN}-2`])

  const environment = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  const lost = await run({ arguments: [...set, '--from', '-'], input: TOKEN, environment })
  assert.equal(lost.code, 0)
  assert.match(lost.said, /\nNo key here opened its former one: make sure [^\n]+\.\n$/)
})

it('credential set refuses what cannot be right, and changes nothing', async test => {
  const { place, database, run, provision } = await credentialPlace(test)
  const [{ destination_id }, other] = [await provision('one'), await provision('two')]
  const before = await stored(database, OLD)
  const set = ['set', '--from', '-', '--destination']
  const refusals: [StartOptions, RegExp][] = [
    [{ arguments: [...set, destination_id, '--token', TOKEN] }, /^A token is never an argument, /],
    [{ arguments: [...set, destination_id] }, /^There is no token in standard input: /],
    [{ arguments: [...set, destination_id], input: 'EAAB x' }, /^There is no token in standard /],
    [{ arguments: [...set, NOWHERE], input: TOKEN }, /^There is no destination \S+ here\.\n$/],
    [
      { arguments: [...set, destination_id, '--tracker', other.tracker_id], input: TOKEN },
      /^There is no destination \S+ here\.\n$/,
    ],
    [
      { arguments: ['list'], environment: { SIGNALBOX_CREDENTIAL_KEY: '' } },
      /^There is no key in \S+: set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have\.\n$/,
    ],
  ]
  for (const [options, sentence] of refusals) {
    const { code, said } = await run(options)
    assert.equal(code, 1, said)
    assert.match(said, sentence)
  }
  assert.deepEqual(await stored(database, OLD), before)
  assert.equal(existsSync(place.dataFolder), false)
})

it('a key rotates: list tells how far it is, reseal brings it to its end', async test => {
  const { database, run, provision } = await credentialPlace(test)
  const ids = [(await provision('one')).destination_id, (await provision('two')).destination_id]
  const rotating = {
    SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex'),
    SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: OLD.toString('hex'),
  }
  const rotated = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  assert.deepEqual(await keysListed(run, rotating, ids), ['previous', 'previous'])
  assert.deepEqual(await run({ arguments: ['reseal'], environment: rotating }), {
    code: 0,
    said: 'Already under the current key: 0\nResealed: 2\nAudit logs signed anew: 2\n',
  })
  assert.deepEqual(await keysListed(run, rotated, ids), ['current', 'current'])
  assert.ok(!Object.values(await stored(database, NEW)).some(([, token]) => token === 'closed'))
  assert.deepEqual(await keysListed(run, {}, ids), ['none', 'none'])

  const { code, said } = await run({ arguments: ['reseal'] })
  assert.equal(code, 1)
  const listed = said.split('\n').filter(line => line.startsWith('  '))
  assert.deepEqual(listed.map(line => line.trim()).sort(), [...ids].sort())
  assert.match(said, /^Already under the current key: 0\nResealed: 0\nOpened by no key: 2\n/)
  assert.match(said, /\nNot every credential could be opened: [^\n]+\.\n$/)
})

it('the key of erased identifiers rotates with the credentials, and a start without it says so', async test => {
  const { database, run, provision } = await credentialPlace(test)
  await provision('one')
  const credentialKeys = { current: OLD, previous: [] }
  const erasureKey = await createErasureKeyProvider({ database, credentialKeys, now: () => AT })()
  const rotated = { SIGNALBOX_CREDENTIAL_KEY: NEW.toString('hex') }
  const started = await run({ role: 'serve', environment: { ...rotated, PORT: '0' } })
  assert.equal(started.code, 1)
  assert.match(started.said, /The key of erased identifiers cannot be opened [^\n]+\.\n$/)

  const rotating = { ...rotated, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: OLD.toString('hex') }
  const { code, said } = await run({ arguments: ['reseal'], environment: rotating })
  assert.equal(code, 0)
  assert.match(said, /\nResealed the key of erased identifiers\.\nAudit logs signed anew: \d+\n$/)
  const renewed = { current: NEW, previous: [] }
  const same = await createErasureKeyProvider({
    database,
    credentialKeys: renewed,
    now: () => AT,
  })()
  assert.ok(same.equals(erasureKey))
})

type Run = (options: StartOptions) => Promise<{ code: number | null; said: string }>

async function keysListed(
  run: Run,
  environment: Record<string, string>,
  ids: string[],
): Promise<(string | undefined)[]> {
  const { code, said } = await run({ arguments: ['list'], environment })
  assert.equal(code, 0, said)
  const rows = said.split('\n').map(line => line.split(/\s+/))
  assert.deepEqual(rows[0], ['DESTINATION', 'TRACKER', 'TARGET', 'STATUS', 'KEY', 'REASON'])
  return ids.map(id => rows.find(([destination]) => destination === id)?.[4])
}

it('a key that the data folder keeps rotates by moving its file away', async test => {
  const { place, environment, run, provision } = await credentialPlace(test)
  const kept = join(place.dataFolder, 'credential-key')
  const unset = { SIGNALBOX_CREDENTIAL_KEY: '' }
  const { destination_id } = await provision('one', { environment: unset })
  renameSync(kept, `${kept}.previous`)
  const rotating = { ...unset, SIGNALBOX_CREDENTIAL_KEY_PREVIOUS_FILE: `${kept}.previous` }
  const all = await place.startReady({ environment: { ...environment, ...rotating } })
  assert.notEqual(readFileSync(kept, 'utf8'), readFileSync(`${kept}.previous`, 'utf8'))
  assert.deepEqual(await run({ arguments: ['reseal'], environment: rotating }), {
    code: 0,
    said: 'Already under the current key: 0\nResealed: 1\nAudit logs signed anew: 1\n',
  })
  assert.deepEqual(await keysListed(run, unset, [destination_id]), ['current'])
  assert.deepEqual(await all.kill('SIGTERM'), { code: 0, signal: null })
})

it('a running worker sends what waits as soon as a new credential is set', async test => {
  const { place, database, environment, run } = await credentialPlace(test)
  await place.startReady({ environment: { ...environment, SIGNALBOX_DELIVERY_POLL_SECONDS: '60' } })
  const { base_url, tracker_secret, destination_id, simulator_url } = place.credentials()
  const [, token = ''] = (await stored(database, OLD))[destination_id] ?? []
  await revokeToken(simulator_url ?? '', token)
  const submitted = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ consent: { ad_user_data: 'granted' } })),
  })
  assert.equal(submitted.status, 202)
  await eventually('the destination is paused', async () => {
    const { said } = await run({ arguments: ['list'] })
    return /\binactive +current +The platform rejects the credential /.test(said)
  })
  const set = ['set', '--destination', destination_id, '--from', '-']
  assert.equal((await run({ arguments: set, input: TOKEN })).code, 0)
  await eventually('the event is accepted', async () => {
    const { rows } = await database.pool.query('select status, attempt_count from all_deliveries')
    return rows[0]?.status === 'accepted' && rows[0].attempt_count === 1
  })
  assert.match((await run({ arguments: ['list'] })).said, /\bactive +current\n/)
})
