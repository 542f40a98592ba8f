import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startSandboxFixture } from '../testing/fixtures/sandbox.ts'
import type { Reply } from '../testing/fixtures/service.ts'
import { closeSchemas, compileDocument, jsonPointer } from './document-checks.ts'
import { SANDBOX_EXAMPLES } from './examples/sandbox-examples.ts'
import { hoistNamedSchemas, SchemaRegister } from './hoist-named-schemas.ts'
import { SANDBOX_OPERATIONS, SANDBOX_RESPONSE_DESCRIPTIONS } from './sandbox-operations.ts'

type OperationId = keyof typeof SANDBOX_EXAMPLES

const register = new SchemaRegister()
const operations = Object.fromEntries(
  SANDBOX_OPERATIONS.map(({ config, schema }) => [
    config.operationId,
    hoistNamedSchemas(schema, register),
  ]),
)
const closed = closeSchemas({ operations, components: { schemas: register.schemas() } })
const check = compileDocument(closed)

it('every status of every operation has a valid example, and no other example exists', () => {
  for (const { config, schema } of SANDBOX_OPERATIONS) {
    const { operationId } = config
    const { request, responses } = SANDBOX_EXAMPLES[operationId]
    assert.deepEqual(Object.keys(responses), Object.keys(schema.response))
    for (const [status, examples] of Object.entries(responses)) {
      assert.ok(Object.keys(examples).length > 0)
      for (const [name, { summary, value }] of Object.entries(examples)) {
        assert.match(summary, /^[A-Z]/)
        assert.deepEqual(faultsOf(operationId, Number(status), value), [], name)
      }
    }
    const pointer = jsonPointer('operations', operationId, 'body')
    for (const { value } of Object.values(request ?? {}))
      assert.deepEqual(check(pointer, value), [])
    assert.equal(request !== undefined, 'body' in schema)
  }
})

it('describes the responses that only the sandbox has', () => {
  for (const { config, schema } of SANDBOX_OPERATIONS) {
    const described = SANDBOX_RESPONSE_DESCRIPTIONS[config.operationId]
    for (const [status, text] of Object.entries(described)) {
      assert.ok(status in schema.response)
      assert.match(text, /^[A-Z].+\.$/)
    }
    const own = Object.keys(schema.response).filter(status => /^(2|401|422)/.test(status))
    assert.deepEqual(Object.keys(described), own)
  }
})

it('200 and 201 of discovery and of both keys match their examples', async test => {
  const sandbox = await startSandboxFixture(test)
  for (const [operationId, name, method, path, status] of [
    ['sandboxDiscovery', 'discovery', 'GET', '/sandbox', 200],
    ['readSandboxKey', 'key', 'GET', '/sandbox/keys', 200],
    ['createSandboxKey', 'key', 'POST', '/sandbox/keys', 201],
  ] as const) {
    const reply = await sandbox.request(method, path)
    assertAnswers(operationId, reply, status)
    // Every key is another one.
    const [token = ''] = /sbx_test_[\w.-]+/.exec(reply.text) ?? []
    const same = JSON.parse(reply.text.replaceAll(token, 'sbx_test_EXAMPLE.EXAMPLE'))
    assert.deepEqual(same, exampleOf(operationId, status, name))
  }
})

it('200 and 422 for each documented event match its example', async test => {
  const sandbox = await startSandboxFixture(test)
  const requests = Object.entries(SANDBOX_EXAMPLES.validateSandboxEvent.request ?? {})
  assert.equal(requests.length, 3)
  for (const [name, { value }] of requests) {
    const reply = await sandbox.validate(value)
    const status = name === 'denied' ? 422 : 200
    assertAnswers('validateSandboxEvent', reply, status)
    assert.deepEqual(reply.body, exampleOf('validateSandboxEvent', status, name))
  }
})

it('returns 400, 401, 413 and 415 as documented', async test => {
  const sandbox = await startSandboxFixture(test)
  const key = await sandbox.newKey()
  const csv = { 'content-type': 'text/csv' }
  for (const [operationId, path] of [
    ['createSandboxKey', '/sandbox/keys'],
    ['validateSandboxEvent', '/sandbox/keyed-events'],
  ] as const) {
    for (const [status, name, options] of [
      [400, 'not_json', { key, rawBody: '{' }],
      [413, 'too_large', { key, rawBody: 'x'.repeat(65_537) }],
      [415, 'wrong_type', { key, rawBody: 'x', headers: csv }],
    ] as const) {
      const reply = await sandbox.request('POST', path, options)
      assertAnswers(operationId, reply, status)
      assert.deepEqual(reply.body, exampleOf(operationId, status, name))
    }
  }
  const stranger = await sandbox.request('POST', '/sandbox/keyed-events', { body: {} })
  assertAnswers('validateSandboxEvent', stranger, 401)
  assert.deepEqual(stranger.body, exampleOf('validateSandboxEvent', 401, 'unauthenticated'))
})

it('returns 500 for an internal error as documented', async test => {
  const broken = () => {
    throw new Error('the clock is gone')
  }
  const sandbox = await startSandboxFixture(test, { now: broken })
  for (const [operationId, method, path] of [
    ['sandboxDiscovery', 'GET', '/sandbox'],
    ['readSandboxKey', 'GET', '/sandbox/keys'],
    ['createSandboxKey', 'POST', '/sandbox/keys'],
    ['validateSandboxEvent', 'POST', '/sandbox/keyed-events'],
  ] as const) {
    const reply = await sandbox.request(method, path, { key: 'sbx_test_any.any' })
    assertAnswers(operationId, reply, 500)
    assert.deepEqual(reply.body, exampleOf(operationId, 500, 'fault'))
  }
})

it('the schema accepts a body with or without consent_basis, and no other basis', () => {
  const body = jsonPointer('operations', 'validateSandboxEvent', 'body')
  assert.deepEqual(check(body, { event_name: 'Purchase' }), [])
  assert.deepEqual(check(body, { event_name: 'Purchase', consent_basis: 'consent' }), [])
  const lifecycle = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
  assert.deepEqual(check(body, lifecycle), [])
  assert.notDeepEqual(check(body, { ...lifecycle, event_name: 'Purchase' }), [])
  assert.notDeepEqual(check(body, { event_name: 'Purchase', consent_basis: 'contract' }), [])
  assert.notDeepEqual(check(body, {}), [])
})

it('reports a missing and an undeclared member', () => {
  const { key } = SANDBOX_EXAMPLES.readSandboxKey.responses[200] ?? {}
  const whole = key?.value as Record<string, unknown>
  assert.notDeepEqual(faultsOf('readSandboxKey', 200, { ...whole, surprise: 1 }), [])
  for (const name of Object.keys(whole)) {
    const { [name]: _, ...rest } = whole
    assert.notDeepEqual(faultsOf('readSandboxKey', 200, rest), [], name)
  }
})

function assertAnswers(operationId: OperationId, reply: Reply, status: number): void {
  assert.equal(reply.status, status, reply.text)
  assert.match(reply.headers.get('request-id') ?? '', /^req_/)
  assert.equal(reply.headers.get('access-control-allow-origin'), '*')
  assert.deepEqual(faultsOf(operationId, status, reply.body), [])
}

function faultsOf(operationId: OperationId, status: number, value: unknown) {
  return check(jsonPointer('operations', operationId, 'response', String(status)), value)
}

function exampleOf(operationId: OperationId, status: number, name: string): unknown {
  const example = SANDBOX_EXAMPLES[operationId].responses[status]?.[name]
  assert.ok(example, `no example ${name} for ${status} of ${operationId}`)
  return example.value
}
