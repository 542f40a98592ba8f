import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import {
  type RequestOptions,
  startTestService,
  type TestService,
} from '../testing/fixtures/service.ts'
import { assertDocumented, document, findExample, jsonContent } from './assert-documented.ts'

const DELETE = ['/user-data', 'delete'] as const
const { any, email } = jsonContent(document.paths['/user-data'].delete.requestBody).examples

function forget(service: TestService, options: RequestOptions) {
  return service.request('DELETE', '/api/v1/user-data', options)
}

it('200 erases for each documented request, and then finds nothing to erase', async test => {
  for (const { value: body } of [any, email]) {
    const service = await startTestService(test)
    for (const event_id of ['one', 'two', 'three'])
      await service.submit(samplePurchase({ event_id }))
    const first = await forget(service, { body })
    assertDocumented(DELETE, first, 200)
    const { deletion_request_id } = first.body
    const completed = { deletion_request_id, completed_at: '2026-11-21T12:00:00.000Z' }
    assert.deepEqual(first.body, { ...findExample(DELETE, 200, 'erased'), ...completed })

    service.clock.advance(300)
    const again = await forget(service, { body })
    assertDocumented(DELETE, again, 200)
    assert.deepEqual(again.body, { ...findExample(DELETE, 200, 'again'), deletion_request_id })
  }
})

it('returns 400, 401, 403, 413, 415 and 422 as documented', async test => {
  const service = await startTestService(test)
  const refused: [number, string, RequestOptions][] = [
    [400, 'not_json', { rawBody: '{' }],
    [401, 'unauthenticated', { secret: null }],
    [403, 'from_a_browser', { headers: { origin: 'https://shop.example' } }],
    [413, 'too_large', { rawBody: 'x'.repeat(65_537) }],
    [415, 'wrong_type', { rawBody: 'x', headers: { 'content-type': 'text/csv' } }],
    [422, 'no_digest', { body: {} }],
  ]
  for (const [status, name, options] of refused) {
    const reply = await forget(service, options)
    assertDocumented(DELETE, reply, status)
    assert.deepEqual(reply.body, findExample(DELETE, status, name))
  }
})

it('500 for an internal error', async test => {
  const service = await startTestService(test)
  await service.database.pool.query('drop table erased_identifiers cascade')
  const reply = await forget(service, { body: any.value })
  assertDocumented(DELETE, reply, 500)
  assert.deepEqual(reply.body, findExample(DELETE, 500, 'fault'))
})
