import assert from 'node:assert/strict'
import { createHmac, hkdfSync } from 'node:crypto'
import { it } from 'node:test'
import { SANDBOX_KEY_SECRET, startSandboxFixture } from '../../../testing/fixtures/sandbox.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { generateToken, parseTokenKind } from '../../runtime/util/token-format.ts'
import { createSandboxKeys } from './routes.ts'

const VALIDATION = '/sandbox/keyed-events'
const EVENT = { event_name: 'Lead' }
const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.='

it('is valid for fifteen minutes', () => {
  const keys = createSandboxKeys(SANDBOX_KEY_SECRET)
  const { token, expiresAt } = keys.issue(new Date('2026-11-21T12:00:00.000Z'))
  assert.equal(expiresAt.toISOString(), '2026-11-21T12:15:00.000Z')
  assert.equal(keys.isValid(token, new Date('2026-11-21T12:00:00.000Z')), true)
  assert.equal(keys.isValid(token, new Date('2026-11-21T12:14:59.999Z')), true)
  assert.equal(keys.isValid(token, new Date('2026-11-21T12:15:00.000Z')), false)
})

it('is valid in every process with the same secret and in no other', () => {
  const at = new TestClock().now()
  const { token } = createSandboxKeys(SANDBOX_KEY_SECRET).issue(at)
  assert.equal(createSandboxKeys(Buffer.from(SANDBOX_KEY_SECRET)).isValid(token, at), true)
  assert.equal(createSandboxKeys(Buffer.alloc(32, 8)).isValid(token, at), false)
  assert.equal(createSandboxKeys(Buffer.alloc(0)).isValid(token, at), false)
})

it('is short and different on every call', () => {
  const keys = createSandboxKeys(SANDBOX_KEY_SECRET)
  const at = new TestClock().now()
  const tokens = Array.from({ length: 100 }, () => keys.issue(at).token)
  assert.equal(new Set(tokens).size, 100)
  assert.ok(tokens.every(({ length }) => length < 200))
})

it('is invalid after any one-character change', () => {
  const keys = createSandboxKeys(SANDBOX_KEY_SECRET)
  const at = new TestClock().now()
  const { token } = keys.issue(at)
  for (let index = 0; index < token.length; index += 1) {
    for (const other of CHARACTERS) {
      if (token[index] === other) continue
      const changed = token.slice(0, index) + other + token.slice(index + 1)
      assert.equal(keys.isValid(changed, at), false, `${index} ${other}`)
    }
  }
})

it('returns 401 for every other credential before it reads the body', async test => {
  const sandbox = await startSandboxFixture(test)
  const key = await sandbox.newKey()
  const [signed = '', signature = ''] = key.split('.')
  const garbage = [
    'garbage',
    'sbx_test_',
    'sbx_test_.',
    '.',
    signed,
    `${signed}.`,
    `.${signature}`,
    `${key}.${signature}`,
    `${key}x`,
    key.toUpperCase(),
    key.replace('sbx_test_', 'sbx_sk_'),
    `${signed}.${'A'.repeat(43)}`,
    `sbx_test_${'A'.repeat(8_000)}.${signature}`,
  ]
  const others = [
    generateToken('tracker_secret'),
    generateToken('sandbox'),
    generateToken('execution'),
  ]
  const foreignToken = createSandboxKeys(Buffer.alloc(32, 8)).issue(sandbox.clock.now()).token
  for (const token of [...garbage, ...others, foreignToken]) {
    const reply = await sandbox.request('POST', VALIDATION, { key: token, rawBody: '{' })
    assert.equal(reply.status, 401, token.slice(0, 80))
    assert.deepEqual(reply.body, { message: 'Unauthenticated.' })
    assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
  }
  for (const authorization of [undefined, key, `Basic ${key}`, `Bearer ${key} ${key}`]) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const reply = await sandbox.request('POST', VALIDATION, { body: EVENT, headers })
    assert.equal(reply.status, 401, authorization)
  }
  assert.equal((await sandbox.request('POST', VALIDATION, { key, body: EVENT })).status, 200)
})

it('returns 401 for an expired key', async test => {
  const sandbox = await startSandboxFixture(test)
  const key = await sandbox.newKey()
  sandbox.clock.advance(900)
  const late = await sandbox.request('POST', VALIDATION, { key, body: EVENT })
  assert.equal(late.status, 401)
  const fresh = { key: await sandbox.newKey(), body: EVENT }
  assert.equal((await sandbox.request('POST', VALIDATION, fresh)).status, 200)
})

it('returns 401 for a correctly signed key with another scope or without an expiry', async test => {
  const sandbox = await startSandboxFixture(test)
  const expiresAt = sandbox.clock.now().getTime() + 60_000
  const scope = 'sandbox:events.validate'
  for (const [status, claims] of [
    [200, { id: 'x', scope, expiresAt }],
    [401, { id: 'x', scope: 'sandbox:events.delete', expiresAt }],
    [401, { id: 'x', expiresAt }],
    [401, { id: 'x', scope }],
  ] as const) {
    const key = signClaims(claims)
    const reply = await sandbox.request('POST', VALIDATION, { key, body: EVENT })
    assert.equal(reply.status, status, JSON.stringify(claims))
  }
})

it('is not a production credential', () => {
  const { token } = createSandboxKeys(SANDBOX_KEY_SECRET).issue(new TestClock().now())
  assert.equal(parseTokenKind(token), null)
})

/** Builds a key by hand, so that the test detects changes of the format. */
function signClaims(claims: object): string {
  const info = 'signalbox sandbox keys v1'
  const signingKey = Buffer.from(hkdfSync('sha256', SANDBOX_KEY_SECRET, '', info, 32))
  const signed = `sbx_test_${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${createHmac('sha256', signingKey).update(signed).digest('base64url')}`
}
