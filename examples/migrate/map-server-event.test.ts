import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { startTestService } from '../../testing/fixtures/service.ts'
import { mapServerEvent } from './map-server-event.ts'

it('delivers the body of hand-written Conversions API code unchanged', async test => {
  const service = await startTestService(test)
  const event = {
    event_name: 'Purchase',
    event_time: Date.parse('2026-11-21T11:30:00Z') / 1_000,
    event_id: 'order-9',
    action_source: 'website',
    event_source_url: 'https://shop.example/thanks',
    referrer_url: 'https://search.example/',
    opt_out: true,
    data_processing_options: ['LDU'],
    data_processing_options_country: 1,
    data_processing_options_state: 1_000,
    user_data: { em: [hash('sha256', 'jane@example.com')], client_user_agent: 'Mozilla/5.0' },
    custom_data: {
      value: 142.52,
      currency: 'USD',
      content_type: 'product_group',
      content_ids: ['group-1'],
      predicted_ltv: 300.5,
      status: 'completed',
      delivery_category: 'home_delivery',
      coupon: 'SPRING',
    },
  }
  const consent = { advertising: 'granted', captured_at: '2026-11-21T11:00:00Z' }
  const reply = await service.submit(mapServerEvent(event, consent))
  assert.deepEqual([reply.status, reply.body.notices], [202, []])
  await service.deliver()
  const [received = {}] = (await service.received()).events as Record<string, unknown>[]
  const { event_name, event_time, event_id, user_data, custom_data, ...others } = event
  assert.deepEqual(received.custom_data, custom_data)
  assert.deepEqual(received.user_data, user_data)
  assert.deepEqual(received.other_members, others)
  assert.deepEqual(
    [received.event_name, received.event_time, received.event_id],
    [event_name, event_time, event_id],
  )
})

it('needs nothing but the SDK, so that the mappings can be copied', () => {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).filter(
    name => !/\.test\./.test(name),
  )
  assert.ok(files.length > 3)
  for (const name of files) {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8')
    for (const [, from = ''] of text.matchAll(/ from '([^']+)'/g)) {
      assert.match(from, /^@signalbox\/sdk$|^\.\/[\w-]+\.ts$/, name)
    }
  }
})
