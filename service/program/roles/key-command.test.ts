import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import { hashToken, type TokenKind } from '../../runtime/util/token-format.ts'
import { findLiveKey, insertKey } from '../../signals/access/key-store.ts'
import { toKeyId } from '../../signals/access/tracker-keys.ts'
import type { Credentials } from '../provisioning/credentials-file.ts'
import { formatKeyTable } from './key-command.ts'

const UNKNOWN_TRACKER = '0190aaaa-0000-7000-8000-000000000001'

/** A store with one provisioned tracker, and the command as an operator types it. */
async function provisionTracker(test: TestContext) {
  const { home, dataFolder } = createDataFolder(test)
  const { database, connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = async (...argumentList: string[]) => {
    const { code, stdout, stderr } = await runCommand(argumentList, { environment })
    assert.doesNotMatch(`${stderr}${stdout}`, /sbx_/)
    return { code, stderr }
  }
  const credentialsPath = join(home, 'shop.json')
  const origins = ['--origin', 'https://shop.example', '--share-page-ids', 'on']
  const { code } = await run('provision', '--without-owner', '--out', credentialsPath, ...origins)
  assert.equal(code, 0)
  const credentials: Credentials = JSON.parse(readFileSync(credentialsPath, 'utf8'))
  const tracker = ['--tracker', credentials.tracker_id]
  const key = (task: string, ...options: string[]) => run('key', task, ...tracker, ...options)
  const isLive = async (kind: TokenKind, token: string) =>
    (await findLiveKey(database, kind, hashToken(token))) !== null
  const keyPath = join(dataFolder, 'credential-key')
  return { home, keyPath, database, credentials, run, key, isLive }
}

it('provision registers its origins with the publishable key', async test => {
  const { database, credentials } = await provisionTracker(test)
  const key = await findLiveKey(database, 'publishable', hashToken(credentials.publishable_key))
  assert.deepEqual(key?.origins, ['https://shop.example'])
})

it('issue writes a key of each kind to a new private file, and prints none', async test => {
  const { home, database, credentials, key, isLive } = await provisionTracker(test)
  for (const [name, kind, member] of [
    ['publishable', 'publishable', 'publishable_key'],
    ['forwarding', 'forwarding', 'forwarding_secret'],
    ['secret', 'tracker_secret', 'tracker_secret'],
  ] as const) {
    const path = join(home, 'keys', `${name}.json`)
    const origins = name === 'publishable' ? ['--origin', 'https://*.shop.example'] : []
    const { code, stderr } = await key('issue', '--kind', name, '--out', path, ...origins)
    assert.deepEqual(
      { code, stderr },
      {
        code: 0,
        stderr: `The new key is in ${path}; earlier keys stay valid.\n`,
      },
    )
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const written = JSON.parse(readFileSync(path, 'utf8'))
    assert.deepEqual(Object.keys(written), ['tracker_id', member])
    assert.equal(written.tracker_id, credentials.tracker_id)
    assert.ok(await isLive(kind, written[member]))
    assert.ok(await isLive(kind, credentials[member]), 'the first one stays valid')
    if (name !== 'publishable') continue
    const issued = await findLiveKey(database, 'publishable', hashToken(written[member]))
    assert.deepEqual(issued?.origins, ['https://*.shop.example'])
  }
})

it('issue refuses a third key, an existing file and an unknown tracker', async test => {
  const { home, key, run } = await provisionTracker(test)
  const path = join(home, 'key.json')
  const issue = ['--kind', 'forwarding', '--out']
  assert.deepEqual(await key('issue', ...issue, join(home, 'shop.json')), {
    code: 1,
    stderr: `${join(home, 'shop.json')} already exists: name a new file.\n`,
  })
  assert.equal((await key('issue', ...issue, path)).code, 0)
  assert.deepEqual(await key('issue', ...issue, join(home, 'third.json')), {
    code: 1,
    stderr: 'The tracker has 2 live keys of the kind forwarding: revoke one first.\n',
  })
  assert.equal(existsSync(join(home, 'third.json')), false)
  assert.deepEqual(await run('key', 'list', '--tracker', UNKNOWN_TRACKER), {
    code: 1,
    stderr: `There is no tracker ${UNKNOWN_TRACKER} here.\n`,
  })
})

it('list shows each key, and revoke revokes only the named one', async test => {
  const { home, credentials, key, isLive } = await provisionTracker(test)
  const path = join(home, 'key.json')
  await key('issue', '--kind', 'publishable', '--origin', 'http://127.0.0.1:*', '--out', path)
  const { publishable_key: oldKey } = credentials
  const { publishable_key: newKey } = JSON.parse(readFileSync(path, 'utf8'))
  const { code, stderr } = await key('list')
  assert.equal(code, 0)
  const lines = stderr.split('\n').slice(1, -1)
  const kinds = lines.map(line => line.split(' ')[0])
  assert.deepEqual(kinds.toSorted(), ['forwarding', 'publishable', 'publishable', 'secret'])
  assert.equal(kinds[0], 'publishable', 'the newest first')
  assert.ok(lines[0]?.includes(newKey.slice(-4)) && lines[0].endsWith('http://127.0.0.1:*'))

  const last = oldKey.slice(-4)
  assert.deepEqual(await key('revoke', '--last', last, '--kind', 'publishable'), {
    code: 0,
    stderr: `The key that ends in ${last} is revoked; requests with it get 401.\n`,
  })
  assert.deepEqual(
    [await isLive('publishable', oldKey), await isLive('publishable', newKey)],
    [false, true],
  )
  assert.deepEqual(await key('revoke', '--last', last, '--kind', 'publishable'), {
    code: 1,
    stderr: `No live key of the tracker ends in ${last}.\n`,
  })
  assert.match(
    (await key('list')).stderr,
    /publishable {2}\w{4} {2}\S+ \S+ {2}- +\d{4}-\S+ \S+ {2}https/,
  )
})

it('revoke asks for the kind when two keys end alike, and revokes neither', async test => {
  const { database, credentials, key, isLive } = await provisionTracker(test)
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
    stderr: `2 live keys of the tracker end in ${lastCharacters}: add --kind.\n`,
  })
  assert.ok(await isLive('tracker_secret', credentials.tracker_secret))
  assert.equal((await key('revoke', '--last', lastCharacters, '--kind', 'secret')).code, 0)
  assert.equal(await isLive('tracker_secret', credentials.tracker_secret), false)
  assert.ok(await isLive('publishable', 'another'))
})

it('the audit log names the operator for each issued and revoked key', async test => {
  const { home, keyPath, database, credentials, key } = await provisionTracker(test)
  const { workspace_id: workspaceId, tracker_id } = credentials
  const path = join(home, 'key.json')
  await key('issue', '--kind', 'forwarding', '--out', path)
  const { forwarding_secret: second } = JSON.parse(readFileSync(path, 'utf8'))
  const last = credentials.forwarding_secret.slice(-4)
  const revoke = () => key('revoke', '--last', last, '--kind', 'forwarding')
  assert.equal((await revoke()).code, 0)
  // A refused command writes no entry.
  assert.equal((await revoke()).code, 1)
  await key('list')
  const entry = (action: string, kind: string, token: string) => ({
    action,
    actor: { type: 'operator', id: null },
    subject: { type: 'key', id: toKeyId(hashToken(token)) },
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

it('without the key of the installation issue and revoke fail, and list works', async test => {
  const { home, keyPath, credentials, key, isLive } = await provisionTracker(test)
  rmSync(keyPath)
  const path = join(home, 'key.json')
  const last = credentials.tracker_secret.slice(-4)
  for (const task of [
    ['issue', '--kind', 'forwarding', '--out', path],
    ['revoke', '--last', last, '--kind', 'secret'],
  ]) {
    const [name = '', ...options] = task
    const { code, stderr } = await key(name, ...options)
    assert.equal(code, 1)
    assert.match(stderr, /^There is no key in .+: set SIGNALBOX_CREDENTIAL_KEY to the one that/)
  }
  assert.equal(existsSync(path), false)
  assert.equal(existsSync(keyPath), false)
  assert.ok(await isLive('tracker_secret', credentials.tracker_secret))
  assert.equal((await key('list')).code, 0)
})

it('list accepts the ID of the workspace, which single-event reads show as the tracker', async test => {
  const { database, credentials, run, key } = await provisionTracker(test)
  const workspace = ['--tracker', String(credentials.workspace_id)]
  assert.deepEqual(await run('key', 'list', ...workspace), await key('list'))
  assert.deepEqual(await run('key', 'list', '--tracker', '999'), {
    code: 1,
    stderr: 'There is no workspace 999 with a tracker here.\n',
  })
  await database.pool.query(
    "insert into trackers (id, workspace_id, name, created_at) values ($1, $2, 'Second', now())",
    [UNKNOWN_TRACKER, credentials.workspace_id],
  )
  const { stderr } = await run('key', 'list', ...workspace)
  assert.match(stderr, /^Workspace \d+ has several trackers: name one of \S+, \S+\.\n$/)
})

it('list shows the kind, the last characters, the times and the origins of each key', () => {
  const publishable = {
    kind: 'publishable' as const,
    lastCharacters: 'c0de',
    createdAt: new Date('2026-11-21T12:00:59.000Z'),
    lastUsedAt: new Date('2026-11-22T00:30:00.000Z'),
    revokedAt: null,
    origins: ['https://shop.example', 'http://127.0.0.1:*'],
  }
  const secret = { ...publishable, kind: 'tracker_secret' as const, lastUsedAt: null, origins: [] }
  assert.equal(
    formatKeyTable([publishable, { ...secret, revokedAt: publishable.createdAt }]),
    [
      'KIND         LAST  ISSUED            LAST USED         REVOKED           ORIGINS',
      'publishable  c0de  2026-11-21 12:00  2026-11-22 00:30  -                 ' +
        'https://shop.example http://127.0.0.1:*',
      'secret       c0de  2026-11-21 12:00  -                 2026-11-21 12:00',
      '',
    ].join('\n'),
  )
})
