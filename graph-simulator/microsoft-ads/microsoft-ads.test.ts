import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'

const NOW_SECONDS = Math.floor(SAMPLE_NOW.getTime() / 1_000)

function sampleEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    eventType: 'custom',
    eventName: 'purchase',
    eventId: 'order-1',
    eventTime: NOW_SECONDS - 60,
    adStorageConsent: 'G',
    userData: { em: 'ab'.repeat(32) },
    customData: { value: 19.9, currency: 'EUR' },
    ...members,
  }
}

async function microsoftUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (data: unknown[], request: Record<string, unknown> = {}) =>
    simulator.send(
      { data, continueOnValidationError: true, ...request },
      {
        path: '/v1/97247724/events',
        headers: { authorization: 'Bearer token-a', 'content-type': 'application/json' },
      },
    )
  const control = (method: string, path: string) =>
    simulator.control(method, `microsoft_ads/${path}`)
  return { post, control }
}

it('keeps the valid events of a request and names the others, if it is asked to', async test => {
  const { post, control } = await microsoftUnderTest(test)
  const bad = sampleEvent({ eventId: 'bad', userData: { em: 'jane@example.com' } })
  const { status, body } = await post([sampleEvent(), bad])
  assert.deepEqual([status, body.eventsReceived], [200, 1])
  const [detail] = body.error.details
  assert.deepEqual([detail.index, detail.attemptedValue], [1, 'jane@example.com'])
  const whole = await post([sampleEvent(), bad], { continueOnValidationError: false })
  assert.deepEqual([whole.status, whole.body.eventsReceived], [400, undefined])
  assert.equal((await control('GET', 'received')).body.count, 1)
})

it('refuses what is missing, unknown, too old or without an identifier', async test => {
  const { post } = await microsoftUnderTest(test)
  for (const [members, place] of [
    [{ eventName: undefined }, 'eventName'],
    [{ eventType: 'pageLoad' }, 'eventSourceUrl'],
    [{ eventType: 'view' }, 'eventType'],
    [{ color: 'red' }, 'color'],
    [{ userData: { clientUserAgent: 'B/1' } }, 'userData'],
    [{ userData: { msclkid: 'click' } }, 'userData.msclkid'],
    [{ customData: { value: '19.90' } }, 'customData.value'],
    [{ eventTime: NOW_SECONDS - 8 * 86_400 }, 'eventTime'],
  ] as const) {
    const { body } = await post([sampleEvent(members)])
    assert.deepEqual([body.eventsReceived, body.error?.details[0].propertyName], [0, place])
  }
  assert.equal((await post([])).status, 400)
})

it('counts a copy of an event and its name once', async test => {
  const { post, control } = await microsoftUnderTest(test)
  await post([sampleEvent(), sampleEvent({ eventName: 'lead' })])
  await post([sampleEvent()])
  const { counted, deduplicated } = (await control('GET', 'summary')).body
  assert.deepEqual({ counted, deduplicated }, { counted: 2, deduplicated: 1 })
})
