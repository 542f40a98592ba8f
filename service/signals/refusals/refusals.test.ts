import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { hashToken } from '../../runtime/util/token-format.ts'
import { listRefusalCauses } from './refusal-list-store.ts'
import { addRefusals } from './refusal-store.ts'

const PATH = '/api/v1/events'

/** Every stored count of the service, without times. */
async function readCounts({ server, database }: TestService) {
  await server.flushRefusals()
  const { rows } = await database.pool.query(
    `select tracker_id, status, field, rule, requests, errors, last_request_id,
       cardinality(id_digests) as ids
     from refusals order by status, field, rule`,
  )
  return rows
}

const summarize = (rows: Awaited<ReturnType<typeof readCounts>>) =>
  rows.map(row => [row.status, row.field, row.rule, row.requests, row.errors, row.ids])

it('counts invalid events by field and rule, and each request once', async test => {
  const service = await startTestService(test)
  const value_data = { value: '19.95' }
  const invalid = { ...samplePurchase(), value_data, event_time: 1_764_000_000_000 }
  await service.submit({ ...invalid, event_id: 'order-1' })
  const last = await service.submit({ ...invalid, event_id: 'order-2' })
  await service.submit({ ...samplePurchase(), event_time: '30 November' })
  assert.equal(last.status, 422)
  const rows = await readCounts(service)
  assert.deepEqual(summarize(rows), [
    [422, 'event_time', 'event_time_format', 1, 1, 1],
    [422, 'event_time', 'event_time_in_milliseconds', 0, 2, 2],
    [422, 'value_data.currency', 'currency_required', 2, 2, 2],
  ])
  assert.equal(rows[1].last_request_id, last.headers.get('request-id'))
  assert.equal(rows[1].tracker_id, service.tracker.trackerId)
})

it('counts a revoked key, a key of another kind, and no unknown key', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock, request } = service
  const { trackerSecret, forwardingSecret, publishableKey } = tracker
  const send = (secret: string) => request('POST', PATH, { secret, body: samplePurchase() })
  await send(forwardingSecret)
  await send(`${trackerSecret.slice(0, -1)}0`)
  await send('sbx_sk_mistyped')
  await database.pool.query('update tracker_keys set revoked_at = $2 where key_digest = $1', [
    hashToken(publishableKey),
    clock.now(),
  ])
  assert.equal((await send(publishableKey)).status, 401)
  assert.deepEqual(summarize(await readCounts(service)), [
    [401, '', 'key_of_another_kind', 1, 1, 0],
    [401, '', 'key_revoked', 1, 1, 0],
  ])
})

it('joins the refusals of two revoked keys of one tracker', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock, request } = service
  const secrets = [tracker.trackerSecret, tracker.publishableKey]
  await database.pool.query('update tracker_keys set revoked_at = $1', [clock.now()])
  for (const secret of secrets) {
    const { status } = await request('POST', PATH, { secret, body: samplePurchase() })
    assert.equal(status, 401)
  }
  assert.deepEqual(summarize(await readCounts(service)), [[401, '', 'key_revoked', 2, 2, 0]])
})

it('counts a secret from a browser, a foreign origin and a bad forwarding signature', async test => {
  const service = await startTestService(test)
  const { request, tracker } = service
  const origin = { origin: 'https://other.example' }
  const secret = tracker.publishableKey
  const body = samplePurchase()
  await request('POST', PATH, { body, headers: origin })
  await request('POST', PATH, { body, secret, headers: origin })
  await request('POST', PATH, { body, secret, headers: { 'x-signalbox-client-ip': '192.0.2.1' } })
  const rows = await readCounts(service)
  assert.deepEqual(summarize(rows), [
    [401, '', 'forwarding_signature', 1, 1, 0],
    [403, '', 'origin_not_registered', 1, 1, 0],
    [403, '', 'secret_in_browser', 1, 1, 0],
  ])
  assert.ok(rows.every(row => row.tracker_id === tracker.trackerId))
})

it('counts rate limits, broken JSON, large bodies and other types with the ID of the header', async test => {
  const limits = { trackerRatePerSecond: 1 }
  const service = await startTestService(test, { limits, monotonicSeconds: () => 1_000 })
  const { request, tracker } = service
  const headers = { 'idempotency-key': 'order-9' }
  const secret = tracker.publishableKey
  await request('POST', PATH, { secret, rawBody: '{', headers })
  await request('POST', PATH, { secret, rawBody: '<a/>', headers: { 'content-type': 'text/xml' } })
  await request('POST', PATH, { secret, body: { text: 'x'.repeat(70_000) } })
  for (let count = 0; count < 4; count += 1) {
    await request('POST', PATH, { body: samplePurchase(), headers })
  }
  assert.deepEqual(summarize(await readCounts(service)), [
    [400, '', 'unreadable_body', 1, 1, 1],
    [413, '', 'body_too_large', 1, 1, 0],
    [415, '', 'wrong_content_type', 1, 1, 0],
    [422, 'event_id', 'event_ids_differ', 2, 2, 1],
    [429, '', 'tracker_rate_limit', 2, 2, 1],
  ])
})

it('stores no value of a body, and no member name that a person could be named by', async test => {
  const service = await startTestService(test)
  const email = 'anna.muster@example.com'
  await service.submit({ ...samplePurchase(), event_id: email })
  await service.submit({
    ...samplePurchase(),
    event_id: 'order-7',
    contents: email,
    event_time: email,
  })
  const { pool } = service.database
  await service.server.flushRefusals()
  const { rows } = await pool.query('select row_to_json(refusals)::text as text from refusals')
  assert.ok(rows.length > 0)
  for (const { text } of rows) assert.doesNotMatch(text, /anna|order-7/)
})

it('loses no count of processes that store the same causes at the same time', async test => {
  const { database, tracker, clock } = await startTestService(test)
  const { trackerId } = tracker
  const at = clock.now()
  const times = { hour: at, firstAt: at, lastAt: at, lastRequestId: 'req_1' }
  const rules = ['required', 'wrong_type', 'empty'] as const
  const counts = rules.map(rule => ({
    ...times,
    status: 422,
    field: 'event_name',
    rule,
    requests: 1,
    errors: 2,
    idDigests: ['a'.repeat(64)],
    sentence: 'The event_name field is required.',
    samples: [{ at, requestId: 'req_1', form: 'missing' }],
    values: new Map([['EUR', { millionths: 1_500_000n, requests: 1 }]]),
  }))
  const inEitherOrder = [counts, counts.toReversed()]
  await Promise.all(
    Array.from({ length: 20 }, (_, process) =>
      addRefusals(database, trackerId, inEitherOrder[process % 2] ?? counts),
    ),
  )
  const causes = await listRefusalCauses(database, { trackerId, from: at, limit: 10 })
  const found = causes.map(({ rule, requests, errors }) => [rule, requests, errors])
  assert.deepEqual(
    found,
    [...rules].sort().map(rule => [rule, 20, 40]),
  )
})

it('adds what a process counts later, and keeps the three latest event IDs', async test => {
  const service = await startTestService(test)
  for (const number of [1, 2, 3, 4, 4, 4]) {
    await service.submit({ ...samplePurchase({ event_id: `order-${number}` }), event_time: 'x' })
    await service.server.flushRefusals()
  }
  const [row] = await readCounts(service)
  assert.deepEqual([row.requests, row.ids], [6, 3])
})

it('stores a flood of different causes in a thousand rows of a day at most', async test => {
  const service = await startTestService(test)
  const { pool } = service.database
  await pool.query(
    `insert into refusals
     select $1, $2, 422, 'field_' || number, 'required', 1, 1, $2, $2, 'req_1', '{}'
     from generate_series(1, 799) number`,
    [service.tracker.trackerId, service.clock.now()],
  )
  const bad = { ...samplePurchase(), event_time: 'x', visitor_id: 1, click_ids: 1, tcf: 1 }
  await service.submit(bad)
  await service.submit(bad)
  await service.server.flushRefusals()
  const { rows } = await pool.query(
    `select count(*) as rows, sum(errors) filter (where rule = 'other') as others from refusals`,
  )
  assert.deepEqual(rows, [{ rows: 801, others: 6 }])
})
