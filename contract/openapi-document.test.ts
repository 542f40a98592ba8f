import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { compileDocument, findMembers, jsonPointer } from './document-checks.ts'
import { hoistNamedSchemas, SchemaRegister } from './hoist-named-schemas.ts'
import { API_VERSION, createOpenapiDocument } from './openapi-document.ts'
import { DOCUMENTED_OPERATIONS } from './operations.ts'
import { printOpenapi } from './print-openapi.ts'

// biome-ignore lint/suspicious/noExplicitAny: the printed document, read as any tool would read it
const document: any = JSON.parse(printOpenapi())
const check = compileDocument(document)

it('openapi.json is up to date (otherwise run npm run contract:print)', () => {
  const printed = readFileSync(join(import.meta.dirname, 'openapi.json'), 'utf8')
  assert.equal(printed, printOpenapi())
})

it('prints the same text at every call, in UTF-8 with a trailing newline', () => {
  assert.equal(printOpenapi(), printOpenapi())
  assert.ok(printOpenapi().endsWith('}\n'))
})

it('is OpenAPI 3.1.0 of API version 0.5.0 without a signature', () => {
  assert.equal(document.openapi, '3.1.0')
  assert.equal(document.info.version, '0.5.0')
  assert.equal(API_VERSION, '0.5.0')
  assert.match(document.info.title, /^Signalbox/)
  assert.equal('x-signed' in document, false)
  assert.equal('x-signature' in document, false)
})

it('has exactly the ten operations, batches, withdrawals, the sandbox and the agent operations', () => {
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as object).map(([method, { operationId }]) => [
      `${method.toUpperCase()} ${path}`,
      operationId,
    ]),
  )
  assert.deepEqual(found, [
    ['POST /events', 'createEvent'],
    ['POST /verification-events', 'verifySignalIngestion'],
    ['GET /events/{event}', 'getEvent'],
    ['GET /dashboard/events', 'listEvents'],
    ['PATCH /destinations/{destination}/test-mode', 'setDestinationTestMode'],
    ['POST /destinations/{destination}/test-purchase', 'sendTestPurchase'],
    ['POST /deliveries/replay', 'replayDeliveries'],
    ['GET /reports/reconciliation', 'getReconciliationReport'],
    ['GET /reports/emq', 'getEmqReport'],
    ['DELETE /user-data', 'deleteUserData'],
    ['POST /events/batch', 'createEvents'],
    ['GET /withdrawals', 'listWithdrawals'],
    ['POST /withdrawals/lift', 'liftWithdrawals'],
    ['GET /sandbox', 'sandboxDiscovery'],
    ['GET /sandbox/keys', 'readSandboxKey'],
    ['POST /sandbox/keys', 'createSandboxKey'],
    ['POST /sandbox/keyed-events', 'validateSandboxEvent'],
    ['GET /agent/context', 'getAgentContext'],
    ['POST /agent/workspaces/{workspace}/actions/dry-run', 'dryRunActions'],
    ['GET /agent/workspaces/{workspace}/actions', 'listActions'],
    ['POST /agent/workspaces/{workspace}/actions', 'proposeActions'],
    ['GET /agent/workspaces/{workspace}/actions/policy', 'getActionPolicy'],
    ['GET /agent/workspaces/{workspace}/actions/{action}', 'getAction'],
    [
      'GET /agent/workspaces/{workspace}/actions/{action}/decision-receipt',
      'getActionDecisionReceipt',
    ],
    ['GET /agent/workspaces/{workspace}/action-batches/{batch}', 'getActionBatch'],
    ['POST /agent/workspaces/{workspace}/action-batches/{batch}/cancel', 'cancelProposal'],
  ])
})

it('declares every status of the operations, each with a description and an example', () => {
  for (const { method, url, schema } of DOCUMENTED_OPERATIONS) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const { responses } = document.paths[path][method.toLowerCase()]
    assert.deepEqual(Object.keys(responses), Object.keys(schema.response))
    for (const { description, content } of Object.values<{ description: string; content: object }>(
      responses,
    )) {
      assert.match(description, /^[A-Z].+\.$/)
      assert.deepEqual(Object.keys(content), ['application/json'])
    }
  }
})

it('names one server when its base URL is known, and is otherwise the same', () => {
  const { servers, ...rest } = createOpenapiDocument('https://events.example/api/v1')
  assert.deepEqual(servers, [{ url: 'https://events.example/api/v1' }])
  const { servers: template, ...others } = document
  assert.equal(template[0].url, '{base_url}')
  assert.deepEqual(JSON.parse(JSON.stringify(rest)), others)
})

it('resolves every $ref and has no unused component', () => {
  const refs = findMembers('$ref', document).map(([, ref]) => String(ref))
  for (const ref of refs) {
    const [root, ...segments] = ref.split('/')
    assert.equal(root, '#')
    const target = segments.reduce((node, segment) => node?.[segment], document)
    assert.ok(target, `${ref} leads nowhere`)
  }
  const schemas = Object.keys(document.components.schemas)
  const idle = schemas.filter(name => !refs.includes(`#/components/schemas/${name}`))
  assert.deepEqual(idle, [])
})

it('keeps each named schema once and references it everywhere else', () => {
  const titled = findMembers('title', document)
    .filter(([path]) => path.join('/') !== 'info')
    .map(([path, title]) => [path.join('/'), title])
  const names = Object.keys(document.components.schemas)
  assert.deepEqual(
    titled,
    names.map(name => [`components/schemas/${name}`, name]),
  )
})

it('rejects two different schemas with one name', () => {
  const register = new SchemaRegister()
  hoistNamedSchemas({ title: 'Amount', type: 'string' }, register)
  hoistNamedSchemas({ title: 'Amount', type: 'string' }, register)
  assert.throws(
    () => hoistNamedSchemas({ title: 'Amount', type: 'number' }, register),
    /two different schemas are named Amount/,
  )
})

it('maps each consent basis to its variant', () => {
  const { EventSubmission, ...schemas } = document.components.schemas
  const { propertyName, mapping } = EventSubmission.discriminator
  assert.deepEqual(Object.keys(mapping), ['consent', 'legitimate_interest'])
  for (const [value, ref] of Object.entries<string>(mapping)) {
    const variant = schemas[ref.replace('#/components/schemas/', '')]
    assert.equal(variant.properties[propertyName].const, value)
  }
})

it('every example fits its schema', () => {
  const bodies = findMembers('examples', document.paths)
  assert.ok(bodies.length > 20)
  for (const [path, examples] of bodies) {
    const pointer = jsonPointer('paths', ...path, 'schema')
    for (const [name, { summary, value }] of Object.entries<{ summary: string; value: unknown }>(
      examples as never,
    )) {
      assert.ok(summary)
      assert.deepEqual(check(pointer, value), [], `${name} at ${pointer}`)
    }
  }
})

it('the schemas reject what the service rejects: an invalid form cannot be an example', () => {
  const body = jsonPointer('components', 'schemas', 'EventSubmission')
  const valid = { event_name: 'Purchase', consent_basis: 'consent' }
  assert.deepEqual(check(body, valid), [])
  assert.notDeepEqual(check(body, { ...valid, consent_basis: 'legitimate_interest' }), [])
  assert.notDeepEqual(check(body, { ...valid, value_data: { value: 19.95 } }), [])
  assert.notDeepEqual(check(body, { event_name: 'Purchase' }), [])
})
