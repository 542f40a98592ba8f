import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken, scriptFaults } from '../testing/fixtures/simulator.ts'
import {
  type Address,
  assertDocumented,
  document,
  findExample,
  jsonContent,
} from './assert-documented.ts'

const TEST_MODE = ['/destinations/{destination}/test-mode', 'patch'] as const
const TEST_PURCHASE = ['/destinations/{destination}/test-purchase', 'post'] as const
const REPLAY = ['/deliveries/replay', 'post'] as const
const OPERATIONS: readonly Address[] = [TEST_MODE, TEST_PURCHASE, REPLAY]

function send(
  service: TestService,
  [path, method]: Address,
  options: object = {},
  destination = service.tracker.destinationId,
) {
  const filled = path.replace('{destination}', destination)
  return service.request(method.toUpperCase(), `/api/v1${filled}`, options)
}

function requestOf([path, method]: Address, name: string): unknown {
  return jsonContent(document.paths[path][method].requestBody).examples[name].value
}

it('200 changes test mode for each documented request', async test => {
  const service = await startTestService(test)
  const { destinationId, trackerId } = service.tracker
  for (const name of ['on', 'off']) {
    const reply = await send(service, TEST_MODE, { body: requestOf(TEST_MODE, name) })
    assertDocumented(TEST_MODE, reply, 200)
    const example = findExample(TEST_MODE, 200, name)
    const { dataset_id } = reply.body.destination.config
    const named = { id: destinationId, signal_tracker_id: trackerId }
    const config = { ...example.destination.config, dataset_id }
    const { workspace_id } = reply.body.destination
    const destination = { ...example.destination, ...named, workspace_id, config }
    assert.deepEqual(reply.body, { ...example, destination })
  }
})

it('200 sends each documented test purchase, and 502 when the platform refuses it', async test => {
  const service = await startTestService(test)
  await send(service, TEST_MODE, { body: { enabled: true } })
  for (const name of ['plain', 'with_value']) {
    const reply = await send(service, TEST_PURCHASE, { body: requestOf(TEST_PURCHASE, name) })
    assertDocumented(TEST_PURCHASE, reply, 200)
    assert.equal(reply.body.status, findExample(TEST_PURCHASE, 200, 'accepted').status)
  }
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  const refused = await send(service, TEST_PURCHASE)
  assertDocumented(TEST_PURCHASE, refused, 502)
  assert.equal(refused.body.status, findExample(TEST_PURCHASE, 502, 'refused').status)
})

it('200 replays deliveries for each documented request', async test => {
  const service = await startTestService(test)
  for (const name of ['everything', 'some']) {
    const reply = await send(service, REPLAY, { body: requestOf(REPLAY, name) })
    assertDocumented(REPLAY, reply, 200)
    assert.deepEqual(reply.body, findExample(REPLAY, 200, 'nothing'))
  }
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100 } }])
  const event = {
    event_name: 'Purchase',
    consent_basis: 'consent',
    user_data: { em: 'a@b.example' },
  }
  const value_data = { value: '1.00', currency: 'EUR' }
  for (const event_id of ['one', 'two']) await service.submit({ ...event, event_id, value_data })
  const old = { event_id: 'three', event_time: '2026-11-14T12:30:00Z' }
  await service.submit({ ...event, value_data, ...old })
  await service.deliver()
  service.clock.advance(3_600)
  const reply = await send(service, REPLAY)
  assertDocumented(REPLAY, reply, 200)
  assert.deepEqual(reply.body, findExample(REPLAY, 200, 'some'))
})

it('returns 400, 401, 403, 413 and 415 as documented', async test => {
  const service = await startTestService(test)
  for (const address of OPERATIONS) {
    const text = { 'content-type': 'text/csv' }
    for (const [status, name, options] of [
      [400, 'not_json', { rawBody: '{' }],
      [401, 'unauthenticated', { secret: null }],
      [403, 'from_a_browser', { headers: { origin: 'https://shop.example' } }],
      [413, 'too_large', { rawBody: 'x'.repeat((address === REPLAY ? 262_144 : 65_536) + 1) }],
      [415, 'wrong_type', { rawBody: 'x', headers: text }],
    ] as const) {
      const answer = await send(service, address, options)
      assertDocumented(address, answer, status)
      assert.deepEqual(answer.body, findExample(address, status, name))
    }
  }
})

it('404 for an unknown destination, as documented', async test => {
  const service = await startTestService(test)
  for (const address of [TEST_MODE, TEST_PURCHASE] as const) {
    const nobodys = '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11'
    const answer = await send(service, address, { body: { enabled: true } }, nobodys)
    assertDocumented(address, answer, 404)
    assert.deepEqual(answer.body, findExample(address, 404, 'no_such_destination'))
  }
})

it('422 names every invalid field, as documented', async test => {
  const service = await startTestService(test)
  for (const [address, name, body] of [
    [TEST_MODE, 'no_switch', {}],
    [TEST_PURCHASE, 'test_mode_off', {}],
    [TEST_PURCHASE, 'wrong_value', { value: '-1' }],
    [REPLAY, 'limit_too_high', { limit: 10_001 }],
  ] as const) {
    const answer = await send(service, address, { body })
    assertDocumented(address, answer, 422)
    assert.deepEqual(answer.body, findExample(address, 422, name))
  }
})
