// Full run only: some four thousand requests, to every operation of the dashboard.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { SESSION_OPERATIONS } from '@signalbox/contract/session/session-operations.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'

interface ObjectSchema {
  properties?: Record<string, { type?: string; enum?: unknown[] }>
  required?: string[]
}

interface Operation {
  method: string
  url: string
  config: { operationId: string }
  schema: { body?: ObjectSchema; querystring?: ObjectSchema }
}

/** Without those that end the session of the test, and the stream, which does not end. */
const OPERATIONS = (SESSION_OPERATIONS as readonly Operation[]).filter(
  ({ config: { operationId } }) => !operationId.startsWith('end') && operationId !== 'watchEvents',
)

const HOSTILE_TEXTS = [
  ...['%00', '%ED%A0%80', '%FF', '%1b[31m', '%27%3B%20drop%20table%20events%3B--', '%25', '_'],
  ...['..%2f..%2f', '%E2%80%AE', '-1', '99999999999999999999', '0', '1e3', '__proto__'],
  'x'.repeat(3_000),
]
const HOSTILE_VALUES = [
  ...['\0', '\ud800', '\u001b[0m', "' or 1=1 --", '=cmd|calc', '__proto__', '😀'.repeat(500), ''],
  ...[null, [], {}, [[]], ['\0'], { '\0': 1 }, 1e308, true, Number.MAX_SAFE_INTEGER],
]
/** Never stored: NUL, half a character, and what moves the cursor of a terminal. */
const isUnstorable = (value: unknown) =>
  value === '\0' || value === '\ud800' || value === '\u001b[0m'

const VALUES_OF_TYPE: Record<string, unknown> = {
  string: 'a',
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
}

function listBodies({ properties = {}, required = [] }: ObjectSchema): [unknown, object][] {
  return Object.keys(properties).flatMap(name =>
    HOSTILE_VALUES.map((value): [unknown, object] => {
      const others = required.filter(other => other !== name)
      const filled = others.map(other => {
        const { type = 'object', enum: [first] = [] } = properties[other] ?? {}
        return [other, first ?? VALUES_OF_TYPE[type] ?? {}]
      })
      return [value, { ...Object.fromEntries(filled), [name]: value }]
    }),
  )
}

it('answers hostile values of every operation without a failure, and stores none', {
  timeout: 1_200_000,
}, async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  await service.submit(samplePurchase({ event_id: 'order-1' }))
  const known: Record<string, string> = {
    workspace: String(tracker.workspaceId),
    tracker: tracker.trackerId,
    destination: tracker.destinationId,
    event: 'order-1',
  }
  const pathOf = (url: string, changed: Record<string, string> = {}) =>
    SESSION_API_PATH + url.replaceAll(/:(\w+)/g, (_, name) => changed[name] ?? known[name] ?? '1')
  const send = async ({ method, config }: Operation, path: string, body?: object) => {
    const reply = await owner.client.call(method, path, body === undefined ? {} : { body })
    const text = `${config.operationId} ${path.slice(0, 120)} ${JSON.stringify(body)?.slice(0, 80)}`
    assert.ok(reply.status < 500, `${text}: ${reply.status}`)
    return { ...reply, text }
  }
  for (const operation of OPERATIONS) {
    const { method, url, schema } = operation
    const empty = method === 'GET' ? undefined : {}
    for (const [, name = ''] of url.matchAll(/:(\w+)/g)) {
      for (const hostile of HOSTILE_TEXTS) {
        await send(operation, pathOf(url, { [name]: hostile }), empty)
      }
    }
    for (const name of Object.keys(schema.querystring?.properties ?? {})) {
      for (const hostile of HOSTILE_TEXTS) {
        await send(operation, `${pathOf(url)}?${name}=${hostile}`, empty)
      }
    }
    for (const [value, body] of schema.body ? listBodies(schema.body) : []) {
      const { status, text } = await send(operation, pathOf(url), body)
      if (isUnstorable(value)) assert.ok(status >= 400, `${text}: ${status}`)
    }
  }
})

it('finds nothing of another workspace under a tracker of its own', async test => {
  const service = await startTestService(test)
  const { trackerId, destinationId } = service.tracker
  await service.submit(samplePurchase({ event_id: 'order-1' }))
  const { owner, workspaceId } = await createTestWorkspace(service)
  const trackers = `${SESSION_API_PATH}/workspaces/${workspaceId}/trackers`
  const created = await owner.client.call('POST', trackers, { body: { name: 'Shop' } })
  const known: Record<string, string> = {
    workspace: String(workspaceId),
    tracker: created.body.id,
    destination: destinationId,
    event: 'order-1',
    key: trackerId,
  }
  const inner = OPERATIONS.filter(({ url }) => /:tracker\/.*:\w/.test(url))
  assert.ok(inner.length > 10)
  for (const { method, url } of inner) {
    const path = url.replaceAll(/:(\w+)/g, (_, name) => known[name] ?? '1')
    const body = method === 'GET' ? {} : { body: {} }
    const reply = await owner.client.call(method, SESSION_API_PATH + path, body)
    assert.ok([404, 422].includes(reply.status), `${method} ${url}: ${reply.status}`)
    assert.ok(!JSON.stringify(reply.body).includes(destinationId), url)
  }
})
