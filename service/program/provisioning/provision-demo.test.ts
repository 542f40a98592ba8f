import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { openCredential } from '../../runtime/util/sealed-credential.ts'
import { hashToken, type TokenKind } from '../../runtime/util/token-format.ts'
import { findLiveKey, listLiveDigests, revokeKey } from '../../signals/access/key-store.ts'
import { issueKey } from '../../signals/access/tracker-keys.ts'
import { findDestination } from '../../signals/delivery/destination-store.ts'
import { findDestinationRoutes } from '../../signals/delivery/plan-store.ts'
import { listOwnedAdAccounts } from '../../workspaces/users/ad-account-store.ts'
import { isPasswordCorrect } from '../../workspaces/users/password-hash.ts'
import { findPasswordHash } from '../../workspaces/users/user-store.ts'
import { deleteMember, listMembers } from '../../workspaces/users/workspace-store.ts'
import { type Credentials, readCredentialsFile } from './credentials-file.ts'
import { type DemoRequest, provisionDemo } from './provision-demo.ts'
import { provisionOwner } from './provision-owner.ts'
import { provisionTracker } from './provision-tracker.ts'

const CREDENTIAL_KEYS = { current: Buffer.alloc(32, 7), previous: [] }
const INSTALLATION = { credentialKeys: CREDENTIAL_KEYS, logger: createLogger('silent') }

it('creates a tracker, a secret and a destination in an empty store', async test => {
  const { database, start } = await demo(test)
  const credentials = await start()
  assert.ok(await isValid(database, credentials))
  const { tracker_id, destination_id, publishable_key } = credentials
  const key = await findLiveKey(database, 'publishable', hashToken(publishable_key))
  assert.deepEqual(key?.origins, ['http://127.0.0.1:*'])
  const destination = await findDestination(database, tracker_id, destination_id)
  assert.match(String(destination?.config.dataset_id), /^\d{15}$/)
  const sealed = destination?.sealedCredential ?? Buffer.alloc(0)
  const opened = openCredential(CREDENTIAL_KEYS, destination_id, sealed)
  assert.match(opened?.credential ?? '', /^simulator-/)
})

it('creates an owner with a generated password and one ad account', async test => {
  const { database, start } = await demo(test)
  const { workspace_id, ad_account_id, owner_email, owner_password, ...credentials } = await start()
  assert.ok((owner_password?.length ?? 0) >= 20)
  const [member] = await listMembers(database, workspace_id)
  assert.deepEqual([member?.email, member?.role], [owner_email, 'owner'])
  const hash = await findPasswordHash(database, member?.userId ?? 0)
  assert.ok(await isPasswordCorrect({ hash: hash ?? '', password: owner_password ?? '' }))
  const [choice] = await listOwnedAdAccounts(database, member?.userId ?? 0)
  assert.equal(choice?.adAccountId, ad_account_id)
  const destination = await findDestination(
    database,
    credentials.tracker_id,
    credentials.destination_id,
  )
  assert.equal(destination?.platformAdAccountId, ad_account_id)
})

it('adds an owner to an old file, and a new password to a file that lost it', async test => {
  const { start, path } = await demo(test)
  const first = await start()
  const { owner_email: _, owner_password: __, ...older } = first
  writeFileSync(path, JSON.stringify(older))
  const renewed = await start()
  assert.equal(renewed.owner_email, first.owner_email)
  assert.notEqual(renewed.owner_password, first.owner_password)
  assert.deepEqual(await start(), renewed)
})

it('adds no owner to a workspace that has one', async test => {
  const { database, start, path, at } = await demo(test)
  const { workspace_id: workspaceId, ...rest } = await start()
  const request = { workspaceId, email: 'real@shop.example', mustChangePassword: false, at }
  await provisionOwner(database, request)
  const [demoOwner] = await listMembers(database, workspaceId)
  await deleteMember(database, { workspaceId, userId: demoOwner?.userId ?? 0 })
  const { owner_email: _, owner_password: __, ...older } = rest
  writeFileSync(path, JSON.stringify(older))
  const { owner_email, owner_password } = await start()
  assert.deepEqual([owner_email, owner_password], [null, null])
})

it('requires a change of the generated password on a public service', async test => {
  const isTemporary = async (baseUrl: string) => {
    const { database, start } = await demo(test)
    await start({ baseUrl })
    const people = database.query.selectFrom('people.users').select('must_change_password')
    return (await people.executeTakeFirst())?.must_change_password
  }
  assert.equal(await isTemporary('https://signalbox.example/api/v1'), true)
  assert.equal(await isTemporary('http://127.0.0.1:3000/api/v1'), false)
})

it('keeps the secret and updates the addresses on later starts', async test => {
  const { database, start } = await demo(test)
  const first = await start()
  const second = await start({ baseUrl: 'http://127.0.0.1:2/api/v1', simulatorUrl: null })
  assert.deepEqual(second, {
    ...first,
    base_url: 'http://127.0.0.1:2/api/v1',
    simulator_url: null,
  })
  assert.ok(await isValid(database, second))
})

it('issues a new secret for a lost or corrupt file and revokes the old one', async test => {
  const { database, start, path } = await demo(test)
  let known = await start()
  for (const corrupt of [() => rmSync(path), () => writeFileSync(path, '{"tracker_id":')]) {
    corrupt()
    const renewed = await start()
    assert.equal(renewed.tracker_id, known.tracker_id)
    assert.equal(renewed.destination_id, known.destination_id)
    assert.ok(await isValid(database, renewed))
    assert.equal(await isValid(database, known), false)
    known = renewed
  }
})

it('audits the operator for each issued and revoked secret', async test => {
  const { database, start, path } = await demo(test)
  const { workspace_id, tracker_id, ...first } = await start()
  rmSync(path)
  const { tracker_secret, publishable_key, forwarding_secret } = await start()
  const written = await readAuditEntries(database, workspace_id)
  const keys = written.filter(({ subject }) => subject.type === 'key')
  const named = (action: string, token: string) => [action, token.slice(-4)]
  assert.deepEqual(
    keys.map(({ action, details }) => [action, details.last_characters]),
    [
      named('key.issued', first.tracker_secret),
      named('key.issued', first.publishable_key),
      named('key.issued', first.forwarding_secret),
      named('key.revoked', first.tracker_secret),
      named('key.issued', tracker_secret),
      named('key.issued', publishable_key),
      named('key.issued', forwarding_secret),
    ],
  )
  for (const { actor, details } of keys) {
    assert.deepEqual(actor, { type: 'operator', id: null })
    assert.equal(details.tracker_id, tracker_id)
  }
})

it('adds browser keys to an old file and keeps the rest', async test => {
  const { database, start, path, at } = await demo(test)
  const { publishable_key: _, forwarding_secret: __, ...older } = await start()
  writeFileSync(path, JSON.stringify(older))
  const completed = await start()
  const { publishable_key, forwarding_secret, ...kept } = completed
  assert.deepEqual(kept, older)
  assert.ok(await isValid(database, completed))
  assert.deepEqual(await start(), completed)

  const digest = hashToken(publishable_key)
  await revokeKey(database, { trackerId: completed.tracker_id, digest, revokedAt: at })
  const renewed = await start()
  assert.notEqual(renewed.publishable_key, publishable_key)
  assert.equal(renewed.forwarding_secret, forwarding_secret)
  assert.ok(await isValid(database, renewed))
})

it('revokes the oldest of two keys to issue a missing one', async test => {
  const { database, start, path, at } = await demo(test)
  const { publishable_key: oldest, ...rest } = await start()
  const { tracker_id: trackerId, workspace_id: workspaceId } = rest
  assert.ok(workspaceId)
  const issuedAt = new Date(at.getTime() + 1_000)
  const audit = createAuditTrail(deriveAuditKeys(CREDENTIAL_KEYS), INSTALLATION.logger)
  const scope = { database, audit }
  const asked = { trackerId, workspaceId, kind: 'publishable', issuedAt } as const
  const inPages = await issueKey(scope, asked)
  writeFileSync(path, JSON.stringify(rest))
  const renewed = await start({ at: new Date(at.getTime() + 2_000) })
  assert.ok(await isValid(database, renewed))
  const live = await listLiveDigests(database, trackerId, 'publishable')
  assert.deepEqual(live, [inPages, renewed.publishable_key].map(hashToken))
  assert.ok(!live.some(digest => digest.equals(hashToken(oldest))))
})

it('replaces credentials of another store', async test => {
  const elsewhere = await demo(test)
  const foreign = await elsewhere.start()
  const { database, start, path } = await demo(test)
  const ours = await start()
  writeFileSync(path, JSON.stringify(foreign))
  const renewed = await start()
  assert.equal(renewed.tracker_id, ours.tracker_id)
  assert.ok(await isValid(database, renewed))
})

it('keeps a file with the secret of another tracker of this store', async test => {
  const { database, start, path, at } = await demo(test)
  const first = await start()
  const request = { workspaceName: 'Shop', at, ...INSTALLATION }
  const other = await provisionTracker(database, request)
  const chosen = {
    ...first,
    tracker_id: other.trackerId,
    tracker_secret: other.trackerSecret,
    publishable_key: other.publishableKey,
    forwarding_secret: other.forwardingSecret,
    destination_id: other.destinationId,
  }
  writeFileSync(path, JSON.stringify(chosen))
  const { workspace_id, ad_account_id, execution_token, ...kept } = await start()
  assert.deepEqual({ ...chosen, ...kept }, chosen)
  assert.notEqual(execution_token, first.execution_token)
  assert.equal(workspace_id, other.workspaceId)
  assert.notEqual(ad_account_id, first.ad_account_id)
  assert.ok(await isValid(database, first))
})

it('creates the destination after an interrupted start', async test => {
  const { database, start, at } = await demo(test)
  const id = '00000000-0000-4000-8000-000000000001'
  await insertTrackerWithWorkspace(database, { id, createdAt: at })
  const credentials = await start()
  assert.equal(credentials.tracker_id, id)
  assert.ok(await isValid(database, credentials))
  const routes = await findDestinationRoutes(database, id, at)
  const route = { id: credentials.destination_id, isTest: false, platform: 'meta', routing: {} }
  assert.deepEqual(routes, [route])
})

it('issues and revokes nothing in an external store with trackers', async test => {
  const { database, start, path, request } = await demo(test)
  const external = { isOwnDatabase: false, demo: 'on' } as const
  const first = await start(external)
  assert.ok(await isValid(database, first))
  assert.deepEqual(await start(external), first)

  rmSync(path)
  assert.equal(await provisionDemo(database, { ...request, ...external }), false)
  assert.equal(existsSync(path), false)
  assert.ok(await isValid(database, first))
})

it('creates no demo in an empty external store unless asked, and keeps an earlier one', async test => {
  const { database, start, path, request } = await demo(test)
  const external = { ...request, isOwnDatabase: false }
  const workspaces = () => database.query.selectFrom('workspaces').select('id').execute()
  for (const refused of [external, { ...external, demo: 'off' as const }]) {
    assert.equal(await provisionDemo(database, refused), false)
    assert.equal(existsSync(path), false)
    assert.deepEqual(await workspaces(), [])
  }
  const first = await start({ isOwnDatabase: false, demo: 'on' })
  assert.deepEqual(await start({ isOwnDatabase: false }), first)
  assert.equal((await workspaces()).length, 1)
})

it('creates no demo in a store of its own when it is switched off', async test => {
  const { database, request } = await demo(test)
  assert.equal(await provisionDemo(database, { ...request, demo: 'off' }), false)
})

async function demo(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-demo-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'credentials.json')
  const at = new TestClock().now()
  const request: DemoRequest = {
    path,
    baseUrl: 'http://127.0.0.1:1/api/v1',
    simulatorUrl: 'http://127.0.0.1:3',
    at,
    ...INSTALLATION,
    isOwnDatabase: true,
  }
  const start = async (changes: Partial<DemoRequest> = {}): Promise<Credentials> => {
    assert.equal(await provisionDemo(database, { ...request, ...changes }), true)
    const written = readCredentialsFile(path)
    assert.ok(written?.publishable_key && written.forwarding_secret)
    return written as Credentials
  }
  return { database, path, at, request, start }
}

/** True when every key of the file works. */
async function isValid(database: Database, credentials: Credentials): Promise<boolean> {
  const keys: [TokenKind, string][] = [
    ['tracker_secret', credentials.tracker_secret],
    ['publishable', credentials.publishable_key],
    ['forwarding', credentials.forwarding_secret],
  ]
  const trackers = await Promise.all(
    keys.map(([kind, key]) => findLiveKey(database, kind, hashToken(key))),
  )
  return trackers.every(tracker => tracker?.trackerId === credentials.tracker_id)
}
