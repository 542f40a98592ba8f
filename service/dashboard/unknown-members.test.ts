import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { SESSION_OPERATIONS } from '@signalbox/contract/session/session-operations.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'

const PERSON = 'jane@people.example'

/** As members that are sent, not as what they mean to JavaScript. */
const HOSTILE_NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']

interface Operation {
  method: string
  url: string
  config: { operationId: string }
  schema: { body?: object; response: object }
}

const OPERATIONS: readonly Operation[] = SESSION_OPERATIONS

it('returns 422 for an unknown member in the body of each operation of the dashboard', async test => {
  const service = await startTestService(test)
  const { owner } = await openDashboardWorkspace(service)
  const withBody = OPERATIONS.filter(({ schema }) => schema.body !== undefined)
  assert.ok(withBody.length >= 20)
  for (const { method, url, config } of withBody) {
    const path = SESSION_API_PATH + url.replaceAll(/:\w+/g, '1')
    const replies = [
      await owner.client.call(method, path, { body: { note: PERSON } }),
      await owner.client.call(method, path, { body: { [PERSON]: true } }),
      ...(await Promise.all(
        HOSTILE_NAMES.map(name => owner.client.call(method, path, { body: { [name]: {} } })),
      )),
    ]
    for (const { status, body } of replies) {
      assert.equal(status, 422, config.operationId)
      assert.doesNotMatch(JSON.stringify(body), /jane/, config.operationId)
    }
    const { note } = replies[0]?.body.errors ?? {}
    const { errors: prototype = {} } = replies[2]?.body ?? {}
    assert.ok(Object.hasOwn(prototype, '__proto__'), config.operationId)
    assert.deepEqual(note, ['The note field is not known here; remove it.'], config.operationId)
  }
  assert.equal(await countEntriesAbout(service), 0)
})

it('keeps what a replay names out of the audit log, unless it is a cause that exists', async test => {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const replay = (cause: object) =>
    owner.client.call('POST', `${path}/replays`, { body: { cause } })
  const refused = await replay({ note: PERSON })
  assert.equal(refused.status, 422)
  assert.deepEqual(Object.keys(refused.body.errors), ['cause.note'])
  // Letters that match no failed delivery could be anything.
  assert.equal((await replay({ class: 'jane_example' })).status, 200)
  assert.equal((await replay({ code: 155_512_345 })).status, 200)
  const { rows } = await service.database.pool.query(
    `select body::jsonb -> 'details' as details from audit_entries
     where action = 'deliveries.replayed'`,
  )
  assert.equal(rows.length, 2)
  assert.deepEqual(
    rows.filter(({ details }) => 'cause' in details),
    [],
  )
})

it('stores no unknown member that a tracker sends with an audited operation', async test => {
  const service = await startTestService(test)
  const { destinationId } = service.tracker
  const base = '/api/v1'
  const note = { note: PERSON, nested: { note: PERSON } }
  const calls = [
    ['POST', '/deliveries/replay', { ...note }],
    ['PATCH', `/destinations/${destinationId}/test-mode`, { enabled: true, ...note }],
    ['POST', `/destinations/${destinationId}/test-purchase`, { ...note }],
    ['DELETE', '/user-data', { identifier_hash: 'a'.repeat(64), ...note }],
  ] as const
  for (const [method, path, body] of calls) {
    const { status } = await service.request(method, base + path, { body })
    assert.equal(status, 200, path)
  }
  const { rows } = await service.database.pool.query('select count(*)::integer from audit_entries')
  assert.ok(rows[0].count >= 3)
  assert.equal(await countEntriesAbout(service), 0)
})

async function countEntriesAbout({ database }: TestService): Promise<number> {
  const { rows } = await database.pool.query(
    `select count(*)::integer as count from audit_entries where body like '%jane%'`,
  )
  return rows[0].count
}
