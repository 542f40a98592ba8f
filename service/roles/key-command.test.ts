import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { createInstallation } from '../../testing/fixtures/program.ts'
import { findPublishableKey, findTrackerByKey, insertKey } from '../access/store.ts'
import { hashToken, type TokenKind } from '../access/token-format.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import { verifyChain } from '../audit/verify-chain.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'

const NOWHERE = '0190aaaa-0000-7000-8000-000000000001'

/** An installation on a migrated store of its own, with one provisioned tracker. */
async function keyPlace(test: TestContext) {
  const place = createInstallation(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString }
  const home = dirname(place.dataFolder)
  const runRole = async (role: string, list: string[]) => {
    const program = place.start({ role, arguments: list, environment })
    const { code } = await program.exited
    const said = program.stderr()
    assert.doesNotMatch(`${said}${program.stdout()}`, /sbx_/)
    return { code, said }
  }
  const credentialsPath = join(home, 'shop.json')
  const origins = ['--origin', 'https://shop.example']
  const { code } = await runRole('provision', ['--out', credentialsPath, ...origins])
  assert.equal(code, 0)
  const credentials: Credentials = JSON.parse(readFileSync(credentialsPath, 'utf8'))
  const tracker = ['--tracker', credentials.tracker_id]
  const key = (task: string, ...options: string[]) => runRole('key', [task, ...tracker, ...options])
  const opens = async (kind: TokenKind, token: string) =>
    (await findTrackerByKey(database, kind, hashToken(token))) !== null
  const keyPath = join(place.dataFolder, 'credential-key')
  return { home, keyPath, database, credentials, runRole, key, opens }
}

it('provision registers its origins with the publishable key', async test => {
  const { database, credentials } = await keyPlace(test)
  const key = await findPublishableKey(database, hashToken(credentials.publishable_key))
  assert.deepEqual(key?.origins, ['https://shop.example'])
})

it('issue writes a key of each kind to a new file for its owner, and nowhere else', async test => {
  const { home, database, credentials, key, opens } = await keyPlace(test)
  for (const [name, kind, member] of [
    ['publishable', 'publishable', 'publishable_key'],
    ['forwarding', 'forwarding', 'forwarding_secret'],
    ['secret', 'tracker_secret', 'tracker_secret'],
  ] as const) {
    const path = join(home, 'keys', `${name}.json`)
    const origins = name === 'publishable' ? ['--origin', 'https://*.shop.example'] : []
    const { code, said } = await key('issue', '--kind', name, '--out', path, ...origins)
    assert.deepEqual(
      { code, said },
      {
        code: 0,
        said: `The new key is in ${path}; those before it stay valid.\n`,
      },
    )
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const written = JSON.parse(readFileSync(path, 'utf8'))
    assert.deepEqual(Object.keys(written), ['tracker_id', member])
    assert.equal(written.tracker_id, credentials.tracker_id)
    assert.ok(await opens(kind, written[member]))
    assert.ok(await opens(kind, credentials[member]), 'the first one stays valid')
    if (name !== 'publishable') continue
    const issued = await findPublishableKey(database, hashToken(written[member]))
    assert.deepEqual(issued?.origins, ['https://*.shop.example'])
  }
})

it('issue refuses a third key, a file that is there and a tracker that is not', async test => {
  const { home, key, runRole } = await keyPlace(test)
  const path = join(home, 'key.json')
  const issue = ['--kind', 'forwarding', '--out']
  assert.deepEqual(await key('issue', ...issue, join(home, 'shop.json')), {
    code: 1,
    said: `${join(home, 'shop.json')} already exists: name a new file.\n`,
  })
  assert.equal((await key('issue', ...issue, path)).code, 0)
  assert.deepEqual(await key('issue', ...issue, join(home, 'third.json')), {
    code: 1,
    said: 'The tracker has 2 live keys of the kind forwarding: revoke one first.\n',
  })
  assert.equal(existsSync(join(home, 'third.json')), false)
  assert.deepEqual(await runRole('key', ['list', '--tracker', NOWHERE]), {
    code: 1,
    said: `There is no tracker ${NOWHERE} here.\n`,
  })
})

it('list tells the keys apart, and revoke ends the one that it is told', async test => {
  const { home, credentials, key, opens } = await keyPlace(test)
  const path = join(home, 'key.json')
  await key('issue', '--kind', 'publishable', '--origin', 'http://127.0.0.1:*', '--out', path)
  const { publishable_key: oldKey } = credentials
  const { publishable_key: newKey } = JSON.parse(readFileSync(path, 'utf8'))
  const { code, said } = await key('list')
  assert.equal(code, 0)
  const lines = said.split('\n').slice(1, -1)
  const kinds = lines.map(line => line.split(' ')[0])
  assert.deepEqual(kinds.toSorted(), ['forwarding', 'publishable', 'publishable', 'secret'])
  assert.equal(kinds[0], 'publishable', 'the newest first')
  assert.ok(lines[0]?.includes(newKey.slice(-4)) && lines[0].endsWith('http://127.0.0.1:*'))

  const last = oldKey.slice(-4)
  assert.deepEqual(await key('revoke', '--last', last, '--kind', 'publishable'), {
    code: 0,
    said: `The key that ends in ${last} is revoked: it opens nothing from now on.\n`,
  })
  assert.deepEqual(
    [await opens('publishable', oldKey), await opens('publishable', newKey)],
    [false, true],
  )
  assert.deepEqual(await key('revoke', '--last', last, '--kind', 'publishable'), {
    code: 1,
    said: `No live key of the tracker ends in ${last}.\n`,
  })
  assert.match(
    (await key('list')).said,
    /publishable {2}\w{4} {2}\S+ \S+ {2}- +\d{4}-\S+ \S+ {2}https/,
  )
})

it('revoke asks for the kind when two keys end alike, and revokes neither', async test => {
  const { database, credentials, key, opens } = await keyPlace(test)
  const lastCharacters = credentials.tracker_secret.slice(-4)
  await insertKey(database, {
    trackerId: credentials.tracker_id,
    kind: 'publishable',
    digest: hashToken('another'),
    lastCharacters,
    createdAt: new Date('2026-11-21T12:00:00.000Z'),
  })
  assert.deepEqual(await key('revoke', '--last', lastCharacters), {
    code: 1,
    said: `2 live keys of the tracker end in ${lastCharacters}: add --kind.\n`,
  })
  assert.ok(await opens('tracker_secret', credentials.tracker_secret))
  assert.equal((await key('revoke', '--last', lastCharacters, '--kind', 'secret')).code, 0)
  assert.equal(await opens('tracker_secret', credentials.tracker_secret), false)
  assert.ok(await opens('publishable', 'another'))
})

it('the operator is written down for each key, and the log is as it was written', async test => {
  const { home, keyPath, database, credentials, key } = await keyPlace(test)
  const { workspace_id: workspaceId, tracker_id } = credentials
  const path = join(home, 'key.json')
  await key('issue', '--kind', 'forwarding', '--out', path)
  const { forwarding_secret: second } = JSON.parse(readFileSync(path, 'utf8'))
  const last = credentials.forwarding_secret.slice(-4)
  const revoke = () => key('revoke', '--last', last, '--kind', 'forwarding')
  assert.equal((await revoke()).code, 0)
  // What is refused is not written down.
  assert.equal((await revoke()).code, 1)
  await key('list')
  const entry = (action: string, kind: string, token: string) => ({
    action,
    actor: { type: 'operator', id: null },
    subject: { type: 'key', id: hashToken(token).toString('hex') },
    details: { tracker_id, kind, last_characters: token.slice(-4) },
  })
  const written = await readAuditEntries(database, workspaceId)
  assert.deepEqual(
    written.map(({ action, actor, subject, details }) => ({ action, actor, subject, details })),
    [
      entry('key.issued', 'tracker_secret', credentials.tracker_secret),
      entry('key.issued', 'publishable', credentials.publishable_key),
      entry('key.issued', 'forwarding', credentials.forwarding_secret),
      entry('key.issued', 'forwarding', second),
      entry('key.revoked', 'forwarding', credentials.forwarding_secret),
    ],
  )
  const current = Buffer.from(readFileSync(keyPath, 'utf8').trim(), 'hex')
  const keys = deriveAuditKeys({ current, previous: [] })
  const verified = await verifyChain(database, keys, { workspaceId, now: new Date() })
  assert.deepEqual([verified.is_intact, verified.entries], [true, 5])
})

it('without the key of the installation nothing is issued or revoked, and list works', async test => {
  const { home, keyPath, credentials, key, opens } = await keyPlace(test)
  rmSync(keyPath)
  const path = join(home, 'key.json')
  const last = credentials.tracker_secret.slice(-4)
  for (const task of [
    ['issue', '--kind', 'forwarding', '--out', path],
    ['revoke', '--last', last, '--kind', 'secret'],
  ]) {
    const [name = '', ...options] = task
    const { code, said } = await key(name, ...options)
    assert.equal(code, 1)
    assert.match(said, /^There is no key in .+: set SIGNALBOX_CREDENTIAL_KEY to the one that/)
  }
  assert.equal(existsSync(path), false)
  assert.equal(existsSync(keyPath), false)
  assert.ok(await opens('tracker_secret', credentials.tracker_secret))
  assert.equal((await key('list')).code, 0)
})
