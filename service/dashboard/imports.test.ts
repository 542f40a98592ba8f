import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import type { TestServiceOptions } from '../../testing/fixtures/service-start.ts'
import { buildTcString } from '../../testing/fixtures/tc-string.ts'

const FILE = { file_name: 'orders.csv', file_digest: 'a'.repeat(64) }

async function openImports(test: TestContext, options: TestServiceOptions = {}) {
  const service = await startTestService(test, options)
  const { owner, path } = await openDashboardWorkspace(service)
  const post = (rest: string, body: object) =>
    owner.client.call('POST', `${path}/imports${rest}`, { body })
  const list = async () => (await owner.client.call('GET', `${path}/imports`)).body.imports
  return { service, owner, path, post, list }
}

it('imports rows as events, counts the outcome of each, and records who did it', async test => {
  const { service, owner, post, list } = await openImports(test)
  const { status, body } = await post('', FILE)
  assert.equal(status, 201)
  assert.partialDeepStrictEqual(body, { file_name: 'orders.csv', stored: 0, finished_at: null })
  const good = ['a', 'b'].map(event_id => samplePurchase({ event_id }))
  const bad = { ...samplePurchase({ event_id: 'c' }), value_data: { value: '1,5' } }
  const sent = await post(`/${body.id}/events`, { events: [...good, bad], unread: 2, blank: 1 })
  assert.equal(sent.status, 200)
  const statuses = sent.body.results.map((result: { status: number }) => result.status)
  assert.deepEqual(statuses, [202, 202, 422])
  assert.match(sent.body.results[2].errors['value_data.value'][0], /decimal text/)
  await post(`/${body.id}/events`, { events: good, is_last: true })
  const [first] = await list()
  assert.deepEqual(first, {
    id: body.id,
    file_name: 'orders.csv',
    stored: 2,
    duplicates: 2,
    refused: 3,
    blank: 1,
    created_at: '2026-11-21T12:00:00.000Z',
    finished_at: '2026-11-21T12:00:00.000Z',
  })
  assert.equal(await service.deliver(), 2)
  const event = await service.request('GET', '/api/v1/events/a')
  assert.equal(event.body.deliveries[0].status, 'accepted')
  const { workspaceId } = service.tracker
  const [entry] = await readAuditEntries(service.database, workspaceId, 'import.started')
  assert.equal(entry?.actor.id, String(owner.userId))
})

it('counts each row against the limit of the tracker secret, and lets the rest wait', async test => {
  let seconds = 0
  const limits = { trackerRatePerSecond: 2 }
  const monotonicSeconds = () => seconds
  const { service, post, list } = await openImports(test, { limits, monotonicSeconds })
  const { body } = await post('', FILE)
  const rows = Array.from({ length: 30 }, (_, row) => samplePurchase({ event_id: `row-${row}` }))
  const first = await post(`/${body.id}/events`, { events: rows })
  assert.equal(first.status, 200)
  const later = first.body.results.filter(({ status }: { status: number }) => status === 429)
  assert.ok(later.length > 0 && later.length < rows.length)
  assert.ok(later[0].retry_after >= 1)
  assert.equal((await service.submit(samplePurchase())).status, 429, 'one limit for both')
  assert.equal((await list())[0].refused, 0, 'a row that waits is not refused')
  seconds += 60
  const rest = rows.slice(rows.length - later.length)
  await post(`/${body.id}/events`, { events: rest.slice(0, 2) })
  assert.equal((await list())[0].stored, rows.length - later.length + 2)
})

it('checks rows by the rules of the API and stores nothing', async test => {
  const { service, post } = await openImports(test)
  const denied = samplePurchase({ event_id: 'b', consent: { advertising: 'unknown' } })
  const events = [samplePurchase(), denied, { event_name: 'Purchase' }]
  const { status, body } = await post('/check', { events })
  assert.equal(status, 200)
  const [good, withheld, invalid] = body.results
  assert.deepEqual([good.is_valid, good.is_withheld, good.is_past_window], [true, false, false])
  assert.deepEqual([withheld.is_valid, withheld.is_withheld], [true, true])
  assert.equal(invalid.is_valid, false)
  assert.ok(Object.keys(invalid.errors).length > 0)
  const { rows } = await service.database.pool.query('select 1 from events')
  assert.deepEqual(rows, [])
})

it('checks and imports by the categories of the tracker and by settings', async test => {
  const { service, owner, path, post } = await openImports(test, { additionalConsentProvider: 89 })
  const changed = { consent_categories: { 'ads-eu': 'advertising', stats: 'other' } }
  assert.equal((await owner.client.call('PATCH', path, { body: changed })).status, 204)
  const tcString = buildTcString()
  const forms = [
    { consent: { advertising: 'granted', 'ads-eu': false } },
    { consent: { 'ads-eu': true, stats: false } },
    { tcf: { tcString, addtlConsent: '2~311~dv.89' }, consent: undefined },
    { tcf: { tcString, addtlConsent: '2~89.311~dv.9' }, consent: undefined },
  ]
  const events = forms.map((form, index) =>
    samplePurchase({
      event_id: `row-${index}`,
      visitor_id: `visitor-${index}`,
      user_data: { em: `row-${index}@example.com` },
      ...form,
    }),
  )
  const check = await post('/check', { events })
  const found = check.body.results.map((row: { is_valid: boolean; is_withheld: boolean }) =>
    row.is_valid ? (row.is_withheld ? 'withheld' : 'granted') : 'refused',
  )
  const started = await post('', FILE)
  const sent = await post(`/${started.body.id}/events`, { events })
  const outcomes = []
  for (const [index, { status }] of sent.body.results.entries()) {
    if (status !== 202) outcomes.push('refused')
    else {
      const { body } = await service.request('GET', `/api/v1/events/row-${index}`)
      const isGranted = body.event.consent.decision.outcome === 'granted'
      outcomes.push(isGranted ? 'granted' : 'withheld')
    }
  }
  assert.deepEqual(found, outcomes)
  assert.deepEqual(outcomes, ['refused', 'granted', 'refused', 'granted'])
})

it('answers 404 for an import of another tracker, and 422 for a strange body', async test => {
  const { service, post } = await openImports(test)
  const other = await openDashboardWorkspace(service, await service.newTracker())
  const foreign = await other.owner.client.call('POST', `${other.path}/imports`, { body: FILE })
  const events = [samplePurchase()]
  for (const id of [foreign.body.id, 'x', 'ffffffff-ffff-7fff-8fff-ffffffffffff']) {
    assert.equal((await post(`/${id}/events`, { events })).status, 404, id)
  }
  const fieldsOf = async (rest: string, body: object) => {
    const reply = await post(rest, body)
    return [reply.status, Object.keys(reply.body.errors)]
  }
  assert.deepEqual(await fieldsOf('', { file_name: '', file_digest: 'x' }), [
    422,
    ['file_name', 'file_digest'],
  ])
  const tooMany = Array.from({ length: 101 }, () => ({}))
  assert.deepEqual(await fieldsOf('/check', { events: tooMany }), [422, ['events']])
  const mine = await post('', FILE)
  assert.deepEqual(await fieldsOf(`/${mine.body.id}/events`, { events: tooMany }), [
    422,
    ['events'],
  ])
})

it('stores each row once when the same rows arrive at the same time', async test => {
  const { service, post } = await openImports(test)
  const { body } = await post('', FILE)
  const events = ['a', 'b', 'c'].map(event_id => samplePurchase({ event_id }))
  await Promise.all([1, 2, 3].map(() => post(`/${body.id}/events`, { events })))
  const { rows } = await service.database.pool.query(
    'select stored, duplicates, refused from imports',
  )
  assert.deepEqual(rows, [{ stored: 3, duplicates: 6, refused: 0 }])
})
