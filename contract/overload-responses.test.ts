import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../testing/fixtures/service.ts'
import { assertDocumented, findExample } from './assert-documented.ts'
import { BASE_PATH, DOCUMENTED_OPERATIONS, type DocumentedOperation } from './operations.ts'

const steadySeconds = () => 0

it('every operation returns 429 as documented; those of a tracker share one limit', async test => {
  const limits = {
    trackerRatePerSecond: 1,
    sandboxRatePerMinute: 1,
    oauthRatePerMinute: 1,
    agentRatePerMinute: 1,
  }
  const service = await startTestService(test, { limits, monotonicSeconds: steadySeconds })
  for (const count of [1, 2]) await service.read(`nothing-${count}`)
  for (const path of ['/sandbox', '/agent/context', '/agent/workspaces/1/actions']) {
    await service.request('GET', BASE_PATH + path)
  }
  for (const operation of DOCUMENTED_OPERATIONS) {
    const reply = await ask(service, operation)
    const address = addressOf(operation)
    assertDocumented(address, reply, 429)
    assert.deepEqual(reply.body, findExample(address, 429, 'too_fast'))
  }
})

it('every operation returns 503 while the process is overloaded', async test => {
  const clock = { seconds: 0 }
  const service = await startTestService(test, {
    limits: { eventLoopDelayMillisecondsMax: 1_000 },
    readDelaySeconds: () => 5,
    monotonicSeconds: () => clock.seconds,
  })
  for (const second of [1, 2]) {
    clock.seconds = second
    await service.request('GET', '/livez')
  }
  for (const operation of DOCUMENTED_OPERATIONS) {
    const reply = await ask(service, operation)
    assertDocumented(addressOf(operation), reply, 503)
    const message = 'Too many requests at once; wait, then send the same request again.'
    assert.deepEqual(reply.body, { message })
  }
})

/** Without a credential or body: overload is checked before both. */
function ask(service: TestService, { method, url }: DocumentedOperation) {
  return service.request(method, BASE_PATH + url.replaceAll(/:\w+/g, 'x'))
}

function addressOf({ method, url }: DocumentedOperation) {
  return [url.replaceAll(/:(\w+)/g, '{$1}'), method.toLowerCase()] as const
}
