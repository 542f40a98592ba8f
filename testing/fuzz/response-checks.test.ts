import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Reply } from '../fixtures/service.ts'
import { documentOperations } from './openapi-operations.ts'
import { CANARY } from './realistic-values.ts'
import { findResponseProblems } from './response-checks.ts'

const SECRET = 'the-platform-token'
const FOREIGN_ID = '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11'
const GOOD = {
  'content-type': 'application/json; charset=utf-8',
  'request-id': `req_${'0'.repeat(32)}`,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-should-retry': 'false',
}

interface Answer {
  status?: number
  method?: string
  target?: string
  headers?: Record<string, string | null>
  body?: unknown
  text?: string
}

function faultsOf({ status = 404, method = 'GET', headers = {}, ...answer }: Answer): string[] {
  const { target = '/api/v1/events/x', body = { message: 'No.' } } = answer
  const text = answer.text ?? JSON.stringify(body)
  const lines = Object.entries({ ...GOOD, ...headers }).filter(([, value]) => value !== null)
  const reply: Reply = {
    status,
    headers: new Headers(lines as [string, string][]),
    text,
    body: answer.text === undefined ? body : undefined,
  }
  return findResponseProblems({
    sent: { method, target, headers: {}, body: null },
    reply,
    operations: documentOperations,
    secrets: [SECRET],
    foreignIds: [FOREIGN_ID],
  })
}

it('accepts a response that matches the document', () => {
  assert.deepEqual(faultsOf({}), [])
  assert.deepEqual(faultsOf({ target: '/nowhere' }), [])
  assert.deepEqual(faultsOf({ status: 405, method: 'PUT', headers: { allow: 'GET' } }), [])
  assert.deepEqual(faultsOf({ method: 'HEAD', text: '' }), [])
})

it('reports an internal error, documented or not', () => {
  assert.deepEqual(faultsOf({ status: 500 }), ['the service failed with 500'])
  assert.ok(faultsOf({ status: 503 }).includes('the service failed with 503'))
  assert.deepEqual(faultsOf({ status: 502 }), ['502 of getEvent is not documented'])
})

it('reports a status that is not documented for the operation', () => {
  assert.deepEqual(faultsOf({ status: 418 }), ['418 of getEvent is not documented'])
  assert.deepEqual(faultsOf({ status: 409 }), ['409 of getEvent is not documented'])
  const [fault = ''] = faultsOf({ status: 404, target: '/api/v1/dashboard/events' })
  assert.equal(fault, '404 of listEvents is not documented')
})

it('reports a body that violates its schema or has an undeclared member', () => {
  assert.deepEqual(faultsOf({ body: {} }), ["404:  must have required property 'message'"])
  assert.equal(faultsOf({ body: { message: 1 } }).length, 1)
  assert.equal(faultsOf({ body: { message: 'No.', stack: 'at x' } }).length, 1)
  assert.equal(faultsOf({ status: 200, body: { message: 'Yes.' } }).length > 0, true)
  assert.equal(faultsOf({ target: '/nowhere', body: { error: 'No.' } }).length, 2)
})

it('reports a response that is not JSON, and an unexpected body', () => {
  const page = { text: '<h1>404</h1>', headers: { 'content-type': 'text/html' } }
  assert.ok(faultsOf(page).includes('the body is no JSON'))
  assert.ok(faultsOf(page).includes('the type is not JSON'))
  assert.deepEqual(faultsOf({ method: 'HEAD' }), ['404 of HEAD has a body'])
})

it('reports a missing or wrong header', () => {
  for (const name of ['request-id', 'cache-control', 'x-content-type-options', 'x-should-retry']) {
    assert.notEqual(faultsOf({ headers: { [name]: null } }).length, 0, name)
  }
  assert.equal(faultsOf({ headers: { 'request-id': 'req_1' } }).length, 2)
  assert.equal(faultsOf({ headers: { 'x-should-retry': 'true' } }).length, 1)
  assert.deepEqual(faultsOf({ status: 405, method: 'PUT' }), ['405 comes without Allow'])
})

it('reports a secret and a raw identifier, in the body and in a header', () => {
  const secret = `sbx_sk_${'0'.repeat(72)}`
  for (const [text, fault] of [
    [SECRET, /^a secret is exposed$/],
    [secret, /^a credential of the kind sk is exposed$/],
    [CANARY.email.toUpperCase(), /^a raw identifier is exposed: .*KANARIE/s],
    [CANARY.ipAddress, /^a raw identifier is exposed: .*45\.83\.91/s],
  ] as const) {
    for (const answer of [{ body: { message: text } }, { headers: { 'x-debug': text } }]) {
      const faults = faultsOf(answer)
      assert.equal(faults.length, 1)
      assert.match(faults[0] ?? '', fault)
    }
  }
})

it('reports data of another tracker', () => {
  const fault = 'something of another tracker is exposed'
  assert.deepEqual(faultsOf({ body: { message: `No ${FOREIGN_ID}.` } }), [fault])
})
