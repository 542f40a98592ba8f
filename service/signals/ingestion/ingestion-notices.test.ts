import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { NOTICES_MAX } from './ingestion-notices.ts'

it('returns no notices for an event of which every member counts', async test => {
  const service = await startTestService(test)
  assert.deepEqual((await service.submit(samplePurchase())).body.notices, [])
})

it('returns notices for ignored members and names them in the trace', async test => {
  const service = await startTestService(test)
  const body = samplePurchase({ color: 'red', 'jane@example.com': 1, value2: true })
  const reply = await service.submit(body)
  assert.deepEqual(reply.body.notices, [
    {
      code: 'member_ignored',
      field: 'color',
      message: 'The color field is not a member of this API and was ignored.',
    },
    {
      code: 'member_ignored',
      field: '*',
      message: 'The * field is not a member of this API and was ignored.',
    },
  ])
  const { deliveries } = (await service.read('order-1001')).body
  assert.match(deliveries[0].explanation, /Ignored unknown members: color, \*\./)
})

it('returns notices for dropped identity and for unreadable consent', async test => {
  const service = await startTestService(test)
  const { body } = await service.submit(
    samplePurchase({
      user_data: { em: 'jane@example.com', ph: '12' },
      consent: { ad_user_data: 'perhaps' },
    }),
  )
  assert.deepEqual(
    body.notices.map(({ code, field }: { code: string; field: string }) => [code, field]),
    [
      ['consent_unreadable', 'consent.ad_user_data'],
      ['member_dropped', 'user_data.ph'],
      ['member_dropped', 'consent.ad_user_data'],
    ],
  )
  assert.match(body.notices[0].message, /neither granted nor denied/)
  assert.match(body.notices[1].message, /^The user_data\.ph field was dropped: this is not /)
})

it('returns 200 without notices for a duplicate, and a bounded number of them', async test => {
  const service = await startTestService(test)
  const user_data = Object.fromEntries(
    Array.from({ length: 80 }, (_, index) => [`unknown_${'x'.repeat(index % 20)}${index}`, 'x']),
  )
  const first = await service.submit(samplePurchase({ user_data, click_ids: user_data }))
  assert.equal(first.status, 202)
  assert.equal(first.body.notices.length, NOTICES_MAX)
  const again = await service.submit(samplePurchase({ user_data, click_ids: user_data }))
  assert.deepEqual(again.body, { event_id: 'order-1001', duplicate: true })
})
