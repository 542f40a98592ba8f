import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { findWorkspacesToUpdate } from '../signals/reports/alert-announcement-store.ts'

const REFUSED = { status: 400, code: 100, subcode: 2_804_048 }
const VALUE = { value: '12,50', currency: 'EUR' }

async function openIssues(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const { client } = owner
  const list = async (name: 'issues' | 'refusals') => {
    await service.server.flushRefusals()
    return (await client.call('GET', `${path}/${name}`)).body[name]
  }
  const change = (id: string, state: string) =>
    client.call('PUT', `${path}/issues/${id}`, { body: { state } })
  const fail = async (event_id: string) => {
    await scriptFaults(service.simulatorUrl, [{ times: 1, respond: REFUSED }])
    await service.submit(samplePurchase({ event_id }))
    await service.deliver()
    service.clock.advance(1)
  }
  return { ...service, service, owner, path, list, change, fail }
}

it('says what the API said, shows how the member was written, and sums values', async test => {
  const { submit, list, clock } = await openIssues(test)
  for (const event_id of ['a', 'b', 'c']) {
    await submit({ ...samplePurchase({ event_id }), value_data: VALUE })
  }
  clock.advance(86_400)
  const last = await submit({ ...samplePurchase({ event_id: 'd' }), value_data: VALUE })
  const in_milliseconds = { event_time: 1_764_000_000_000 }
  await submit({ ...samplePurchase({ event_id: 'e' }), ...in_milliseconds })
  await submit({ ...samplePurchase({ event_id: 'e' }), ...in_milliseconds })
  const [decimal, time] = await list('refusals')
  assert.equal(decimal.message, last.body.errors['value_data.value'][0])
  assert.match(decimal.message, /decimal text such as "19.95"/)
  assert.deepEqual(
    decimal.samples.map(({ form }: { form: string }) => form),
    Array(3).fill('"99,99"'),
  )
  assert.equal(decimal.samples[0].request_id, last.headers.get('request-id'))
  assert.deepEqual(decimal.days, [
    { date: '2026-11-21', count: 3 },
    { date: '2026-11-22', count: 1 },
  ])
  assert.deepEqual([decimal.values, decimal.state], [[], 'open'])
  assert.deepEqual(time.values, [{ currency: 'EUR', amount: '39.9', events: 2 }])
  assert.equal(time.samples[0].form, '9999999999999')
})

it('keeps nothing of a refused event that could name a person', async test => {
  const { submit, list, service } = await openIssues(test)
  const user_data = { em: ['jane@example.com'], 'jane@example.com': 'x', ph: { a: 'jane' } }
  await submit({ ...samplePurchase(), event_time: 'jane@example.com', user_data })
  const refusals = await list('refusals')
  assert.equal(refusals[0].samples.length, 1)
  const { rows } = await service.database.pool.query(`select refusals::text from refusals`)
  assert.doesNotMatch(JSON.stringify([refusals, rows]), /jane|example\.com/)
})

it('mutes, resolves and opens an issue, which opens by itself when it happens again', async test => {
  const { list, change, fail, clock, owner, tracker, service } = await openIssues(test)
  await fail('order-1')
  const [{ id, days }] = await list('issues')
  assert.deepEqual(days, [{ date: '2026-11-21', count: 1 }])
  clock.advance(60)
  assert.deepEqual((await change(id, 'resolved')).body, {
    id,
    state: 'resolved',
    decided_at: '2026-11-21T12:01:01.000Z',
  })
  assert.deepEqual(pick(await list('issues')), ['resolved', false])
  clock.advance(60)
  await fail('order-2')
  assert.deepEqual(pick(await list('issues')), ['open', true])
  await change(id, 'muted')
  clock.advance(60)
  await fail('order-3')
  assert.deepEqual(pick(await list('issues')), ['muted', false])
  assert.equal((await change(id, 'open')).body.decided_at, null)
  assert.deepEqual(pick(await list('issues')), ['open', false])
  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  assert.deepEqual(
    entries.filter(({ action }) => action.startsWith('issue.')).map(entry => entry.action),
    ['issue.resolved', 'issue.muted', 'issue.opened'],
  )
  assert.equal(entries.at(-1)?.actor.id, String(owner.userId))
})

function pick([issue]: { state: string; reopened: boolean }[]) {
  return [issue?.state, issue?.reopened]
}

it('keeps one decision of several people at the same time', async test => {
  const { list, change, fail } = await openIssues(test)
  await fail('order-1')
  const [{ id }] = await list('issues')
  const states = ['muted', 'resolved', 'open', 'muted', 'open', 'resolved']
  const replies = await Promise.all(states.map(state => change(id, state)))
  assert.deepEqual(
    replies.map(({ status }) => status),
    Array(6).fill(200),
  )
  assert.equal((await list('issues')).length, 1)
})

it('shows three events of a delivery issue, what the platform said, and the value at stake', async test => {
  const { list, fail, owner, path } = await openIssues(test)
  for (const event_id of ['order-1', 'order-2', 'order-3', 'order-4']) await fail(event_id)
  const [{ id }] = await list('issues')
  const { status, body } = await owner.client.call('GET', `${path}/issues/${id}/samples`)
  assert.equal(status, 200)
  assert.equal(body.samples.length, 3)
  assert.partialDeepStrictEqual(body.samples[0], {
    event_id: 'order-4',
    event_name: 'Purchase',
    value: { amount: '19.95', currency: 'EUR' },
    status: 'failed:permanent',
  })
  assert.ok(body.samples[0].message.length > 0)
  assert.deepEqual(body.at_stake, {
    values: [{ currency: 'EUR', amount: '79.8', events: 4 }],
    is_lower_bound: false,
  })
})

it('answers 404 for an ID that names no issue of the tracker, and 422 for a strange state', async test => {
  const { list, change, fail, service, path, owner } = await openIssues(test)
  await fail('order-1')
  const [{ id }] = await list('issues')
  const other = await openDashboardWorkspace(service, await service.newTracker())
  const encode = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url')
  const unknown = ['x', encode([]), encode(['refusal', 422, 'event_time', 'required'])]
  for (const given of [...unknown, encode(['refusal', '422', 'a', 'b']), encode(null)]) {
    assert.equal((await change(given, 'muted')).status, 404, given)
    const samples = await owner.client.call('GET', `${path}/issues/${given}/samples`)
    assert.equal(samples.status, 404, given)
  }
  const { client } = other.owner
  const foreign = await client.call('PUT', `${other.path}/issues/${id}`, {
    body: { state: 'muted' },
  })
  assert.equal(foreign.status, 404)
  const strange = await change(id, 'closed')
  assert.deepEqual([strange.status, Object.keys(strange.body.errors)], [422, ['state']])
})

it('alerts from the thresholds of the workspace on', async test => {
  const { owner, service, tracker, clock } = await openIssues(test)
  const path = `/browser/workspaces/${tracker.workspaceId}/alert-thresholds`
  const read = async () => (await owner.client.call('GET', path)).body
  const usual = await read()
  assert.deepEqual(usual, {
    score_min: 4,
    score_fall: 1,
    unexplained_events: 10,
    unexplained_percent: 5,
    unreachable_minutes: 15,
  })
  await service.database.pool.query(
    `update destinations set backoff_cause = 'unreachable', backoff_since = $1`,
    [clock.now()],
  )
  const announced = async () =>
    findWorkspacesToUpdate(service.database, { at: clock.now(), limit: 10 })
  clock.advance(16 * 60)
  assert.deepEqual(await announced(), [tracker.workspaceId])
  const changed = { ...usual, unreachable_minutes: 30, score_min: 5.5 }
  const reply = await owner.client.call('PUT', path, { body: changed })
  assert.deepEqual([reply.status, reply.body, await read()], [200, changed, changed])
  assert.deepEqual(await announced(), [])
  const [entry] = await readAuditEntries(
    service.database,
    tracker.workspaceId,
    'alert_thresholds.changed',
  )
  assert.deepEqual(entry?.details, changed)
  const refused = await owner.client.call('PUT', path, {
    body: { ...usual, score_min: 11, unreachable_minutes: 0 },
  })
  assert.deepEqual(
    [refused.status, Object.keys(refused.body.errors).sort()],
    [422, ['score_min', 'unreachable_minutes']],
  )
})
