import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { listEntities } from '../../agents/campaigns/simulated-campaign-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { hashToken } from '../../runtime/util/token-format.ts'
import {
  listExecutionTokens,
  revokeExecutionToken,
} from '../../workspaces/oauth/execution-token-store.ts'
import { findExecutionTokenPrincipal } from '../../workspaces/oauth/principal-store.ts'
import { insertAdAccount, setAdAccountStatus } from '../../workspaces/users/ad-account-store.ts'
import { deleteMember, listMembers } from '../../workspaces/users/workspace-store.ts'
import { type Credentials, readCredentialsFile } from './credentials-file.ts'
import { provisionDemo } from './provision-demo.ts'
import { provisionOwner } from './provision-owner.ts'

async function listTokens(database: Database, workspaceId: number) {
  const page = { workspaceId, at: new TestClock().now(), page: 1 }
  const { rows } = await listExecutionTokens(database, page)
  return rows
}

it('issues a 30-day token that can propose changes to the demo account', async test => {
  const { database, clock, start } = await demo(test)
  const { execution_token, ad_account_id, workspace_id } = await start()
  assert.match(execution_token ?? '', /^sbx_wet_[0-9a-f]{72}$/)
  const principal = await principalOf(database, execution_token, clock.now())
  const [owner] = await listMembers(database, workspace_id)
  const { tier, adAccountId, workspaceId, userId, expiresAt } = principal ?? {}
  assert.deepEqual(
    [tier, adAccountId, workspaceId, userId],
    ['write', ad_account_id, workspace_id, owner?.userId],
  )
  assert.equal(expiresAt?.getTime(), clock.now().getTime() + 30 * DAY_SECONDS * 1_000)
})

it('audits the operator as the issuer', async test => {
  const { database, start } = await demo(test)
  const { workspace_id } = await start()
  const [token] = await listTokens(database, workspace_id)
  const entries = await tokenEntries(database)
  assert.deepEqual(entries, [
    { action: 'execution_token.issued', actor: { type: 'operator', id: null }, id: `${token?.id}` },
  ])
})

it('keeps a valid token on later starts', async test => {
  const { database, clock, start } = await demo(test)
  const first = await start()
  clock.advance(29 * DAY_SECONDS)
  assert.deepEqual(await start(), first)
  assert.equal((await listTokens(database, first.workspace_id)).length, 1)
})

it('replaces an expired token', async test => {
  const { database, clock, start } = await demo(test)
  const { execution_token } = await start()
  clock.advance(30 * DAY_SECONDS)
  const { execution_token: renewed } = await start()
  assert.notEqual(renewed, execution_token)
  assert.ok(await principalOf(database, renewed, clock.now()))
})

it('replaces a revoked token', async test => {
  const { database, clock, start } = await demo(test)
  const { execution_token, workspace_id: workspaceId } = await start()
  const [token] = await listTokens(database, workspaceId)
  await revokeExecutionToken(database, { workspaceId, tokenId: token?.id ?? 0 }, clock.now())
  const { execution_token: renewed } = await start()
  assert.notEqual(renewed, execution_token)
  assert.ok(await principalOf(database, renewed, clock.now()))
})

it('replaces and revokes a lost token and keeps tokens that people issued', async test => {
  const { database, clock, start, path } = await demo(test)
  const { execution_token, ...older } = await start()
  const { workspace_id: workspaceId } = older
  await database.query
    .insertInto('execution_tokens')
    .columns([
      ...(['workspace_id', 'ad_account_id', 'token_digest', 'tier', 'name'] as const),
      ...(['last_characters', 'issued_by', 'created_at', 'expires_at'] as const),
    ])
    .expression(query =>
      query
        .selectFrom('execution_tokens')
        .select(['workspace_id', 'ad_account_id', ({ val }) => val(Buffer.alloc(32)).as('digest')])
        .select(['tier', ({ val }) => val('Mine').as('name'), 'last_characters', 'issued_by'])
        .select(['created_at', 'expires_at']),
    )
    .execute()
  for (const content of [JSON.stringify(older), '{"tracker_id":']) {
    writeFileSync(path, content)
    const { execution_token: renewed } = await start()
    assert.ok(await principalOf(database, renewed, clock.now()), content)
  }
  assert.equal(await principalOf(database, execution_token, clock.now()), null)
  const tokens = await listTokens(database, workspaceId)
  const live = tokens.filter(({ revoked_at }) => revoked_at === null).map(({ name }) => name)
  assert.deepEqual(live.toSorted(), ['Mine', 'credentials.json'])
})

it('issues no token in a workspace with other owners', async test => {
  const { database, clock, start, path } = await demo(test)
  const { workspace_id: workspaceId, owner_email: _, owner_password: __, ...rest } = await start()
  const request = { workspaceId, email: 'real@shop.example', mustChangePassword: false }
  await provisionOwner(database, { ...request, at: clock.now() })
  const [demoOwner] = await listMembers(database, workspaceId)
  await deleteMember(database, { workspaceId, userId: demoOwner?.userId ?? 0 })
  writeFileSync(path, JSON.stringify(rest))
  assert.equal((await start()).execution_token, null)
  assert.equal(await principalOf(database, rest.execution_token, clock.now()), null)
})

it('issues no token while the ad account is disabled', async test => {
  const { database, clock, start } = await demo(test)
  const { execution_token, workspace_id: workspaceId, ad_account_id } = await start()
  const named = { workspaceId, adAccountId: ad_account_id ?? 0 }
  await setAdAccountStatus(database, named, 'disabled')
  assert.equal((await start()).execution_token, null)
  await setAdAccountStatus(database, named, 'active')
  const { execution_token: renewed } = await start()
  assert.ok(await principalOf(database, renewed, clock.now()))
  assert.equal(await principalOf(database, execution_token, clock.now()), null)
})

it('keeps the ad account of the file, even when another sorts before it', async test => {
  const { database, clock, start } = await demo(test)
  const first = await start()
  await insertAdAccount(database, {
    workspaceId: first.workspace_id,
    platform: 'meta',
    platformAccountId: '77',
    name: 'AAA',
    currency: 'EUR',
    timeZone: 'UTC',
    createdAt: clock.now(),
  })
  assert.deepEqual(await start(), first)
})

it('adds campaigns to a demo account that has none', async test => {
  const { database, start } = await demo(test)
  const { ad_account_id } = await start()
  const count = async () => (await listEntities(database, ad_account_id ?? 0)).entities.length
  assert.equal(await count(), 17)
  await database.query.deleteFrom('ad_entities').execute()
  await start()
  assert.equal(await count(), 17)
})

async function demo(test: TestContext) {
  const { database } = await createTestDatabase(test)
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-demo-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'credentials.json')
  const clock = new TestClock()
  const start = async (): Promise<Credentials> => {
    const isTrue = await provisionDemo(database, {
      path,
      baseUrl: 'http://127.0.0.1:1/api/v1',
      simulatorUrl: null,
      at: clock.now(),
      credentialKeys: { current: Buffer.alloc(32, 7), previous: [] },
      isOwnDatabase: true,
      logger: createLogger('silent'),
    })
    assert.ok(isTrue)
    return readCredentialsFile(path) as Credentials
  }
  return { database, clock, path, start }
}

function principalOf(database: Database, token: string | null, at: Date) {
  return findExecutionTokenPrincipal(database, hashToken(token ?? ''), at)
}

async function tokenEntries({ query }: Database) {
  const rows = await query
    .selectFrom('audit_entries')
    .select(['action', 'body', 'subject_id as id'])
    .where('subject_type', '=', 'execution_token')
    .orderBy('sequence')
    .execute()
  return rows.map(({ action, body, id }) => ({ action, actor: JSON.parse(body).actor, id }))
}
