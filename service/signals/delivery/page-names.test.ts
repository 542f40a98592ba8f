import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  HOLD_SECONDS,
  samplePageOrder,
  sendFromBackEnd,
  sendFromPage,
  sharePageIds,
} from '../../../testing/fixtures/page-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { listConversions, listGoogleReceipts } from '../../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../../testing/fixtures/two-platforms.ts'

/** A page's name for the purchase of the back end, which the platform takes for the same event. */
const OWN_NAMES = [
  { platform: 'pinterest', pageName: 'checkout', routing: {} },
  { platform: 'snapchat', pageName: 'PURCHASE', routing: {} },
  { platform: 'tiktok', pageName: 'CompletePayment', routing: {} },
  { platform: 'openai_ads', pageName: 'order_created', routing: {} },
  { platform: 'reddit', pageName: 'PURCHASE', routing: {} },
  {
    platform: 'google_ads',
    pageName: 'Lead',
    routing: { event_names: { Purchase: '123456', Lead: '123456' } },
  },
  {
    platform: 'linkedin',
    pageName: 'Lead',
    routing: { event_names: { Purchase: '123456', Lead: '123456' } },
  },
  { platform: 'microsoft_ads', pageName: 'Lead', routing: { event_names: { Lead: 'Purchase' } } },
] as const

type Connected = Omit<(typeof OWN_NAMES)[number], 'pageName'>

/** A shop whose back end reports purchases to this platform as well. */
async function startAt(
  test: Parameters<typeof startTestService>[0],
  { platform, routing }: Connected,
): Promise<TestService> {
  const service = await startTestService(test)
  await connectSimulated(service, platform, { routing })
  await sendFromBackEnd(service, samplePageOrder('earlier', '10.00', { visitor_id: 'other' }))
  await service.deliver()
  return service
}

interface ReadInput {
  platform: string
  id: string
  space: 'secret' | 'publishable'
}

/** The delivery of an event to this platform. */
async function readAt(service: TestService, { platform, id, space }: ReadInput) {
  const { body } = await service.request('GET', `/api/v1/events/${id}?space=${space}`)
  const deliveries: { platform: string; status: string; explanation: string }[] = body.deliveries
  const found = deliveries.find(delivery => delivery.platform === platform)
  assert.ok(found)
  return found
}

describe('a page with another name for the purchase of the back end', () => {
  for (const { pageName, ...connected } of OWN_NAMES) {
    const { platform } = connected
    for (const isPageFirst of [true, false]) {
      const order = isPageFirst ? 'first' : 'second'
      it(`is left out at ${platform} as ${pageName}, when it comes ${order}`, async test => {
        const service = await startAt(test, connected)
        const forged = samplePageOrder('order-1', '0.01', { event_name: pageName })
        const senders = [
          () => sendFromPage(service, forged),
          () => sendFromBackEnd(service, samplePageOrder('order-1', '99.00')),
        ]
        for (const send of isPageFirst ? senders : senders.toReversed()) {
          await send()
          await service.deliver()
        }
        service.clock.advance(HOLD_SECONDS)
        await service.deliver()
        const read = { platform, id: 'order-1', space: 'publishable' } as const
        assert.equal((await readAt(service, read)).status, 'skipped:duplicate')
        const list = platform === 'google_ads' ? listGoogleReceipts : listConversions
        const sent = await list(service.simulatorUrl, platform)
        assert.equal(sent.length, 2, 'the earlier purchase and this one')
      })
    }
  }
})

it('sends what it alone reports under its name after the wait', async test => {
  const service = await startAt(test, { platform: 'pinterest', routing: {} })
  await sharePageIds(service, false)
  await sendFromPage(service, samplePageOrder('order-2', '5.00', { event_name: 'checkout' }))
  await service.deliver()
  const read = { platform: 'pinterest', id: 'order-2', space: 'publishable' } as const
  const held = await readAt(service, read)
  assert.equal(held.status, 'queued')
  assert.match(held.explanation, /sends events of this name, or of one that the platform takes for/)
  service.clock.advance(HOLD_SECONDS)
  await service.deliver()
  const [, sent] = await listConversions(service.simulatorUrl, 'pinterest')
  assert.equal(sent?.event.event_id, 'p.order-2')
})

describe('a page whose event ID is the order ID of the back end', () => {
  const connected = {
    platform: 'google_ads',
    routing: { event_names: { Purchase: '123456' } },
  } as const
  const orderOf = (event_id: string, value: string) => samplePageOrder('1001', value, { event_id })

  for (const isPageFirst of [true, false]) {
    it(`is left out, when it comes ${isPageFirst ? 'first' : 'second'}`, async test => {
      const service = await startAt(test, connected)
      const page = samplePageOrder('1001', '0.01', {
        value_data: { value: '0.01', currency: 'EUR' },
      })
      const senders = [
        () => sendFromPage(service, page),
        () => sendFromBackEnd(service, orderOf('purchase-7', '99.00')),
      ]
      for (const send of isPageFirst ? senders : senders.toReversed()) {
        await send()
        await service.deliver()
      }
      service.clock.advance(HOLD_SECONDS)
      await service.deliver()
      const { platform } = connected
      const read = { platform, id: '1001', space: 'publishable' } as const
      assert.equal((await readAt(service, read)).status, 'skipped:duplicate')
      const sent = await listGoogleReceipts(service.simulatorUrl)
      const values = sent.map(({ transaction_id, event }) => [
        transaction_id,
        event.conversionValue,
      ])
      assert.deepEqual(values, [
        ['earlier', 10],
        ['1001', 99],
      ])
    })
  }
})
