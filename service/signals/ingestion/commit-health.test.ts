import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { CommitHealth } from './commit-health.ts'

const EVERY_TABLE = ['events', 'event_payloads', 'sessions', 'event_counts', 'deliveries']

async function serviceOnClock(test: TestContext) {
  const clock = { seconds: 1_000 }
  const service = await startTestService(test, { monotonicSeconds: () => clock.seconds })
  let orders = 0
  const submit = async () => {
    orders += 1
    return (await service.submit(samplePurchase({ event_id: `order-${orders}` }))).status
  }
  const ready = async () => {
    const { status, body } = await service.request('GET', '/readyz', { secret: null })
    return [status, ...body.failed]
  }
  return { service, clock, submit, ready }
}

/** PostgreSQL refuses every event, as it does when its disk is full; the function ends that. */
async function refuseEvents({ database: { pool } }: TestService, condition: string) {
  await pool.query(
    `create function refuse() returns trigger language plpgsql as
       $$ begin raise exception 'no' using errcode = '${condition}'; end $$;
     create trigger refuse before insert on events for each row execute function refuse()`,
  )
  return async () => void (await pool.query('drop function refuse cascade'))
}

it('returns 503 from /readyz while the disk is full and recovers by itself', async test => {
  const { service, clock, submit, ready } = await serviceOnClock(test)
  const mend = await refuseEvents(service, 'disk_full')
  assert.equal(await submit(), 503)
  assert.equal(await submit(), 503)
  assert.deepEqual(await ready(), [200])
  assert.equal(await submit(), 503)
  assert.deepEqual(await ready(), [503, 'commits'])
  clock.seconds += 2
  assert.deepEqual(await ready(), [503, 'commits'], 'a probe fails')
  await mend()
  assert.deepEqual(await ready(), [503, 'commits'], 'it probes every other second')
  clock.seconds += 2
  assert.deepEqual(await ready(), [200])
  assert.equal(await submit(), 202)
  assert.deepEqual({ ...service.server.commitHealth.failures }, { store: 3, event: 0 })
  const told = service
    .logged()
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
  const ofCommits = told.filter(({ msg }) => /commit/.test(msg))
  assert.deepEqual(
    ofCommits.map(({ level, msg, err, cause }) => [level, msg, err?.code, cause]),
    [
      ['warn', 'a commit failed', '53100', 'disk_full'],
      [
        'error',
        'commits are failing; /readyz returns 503 until one succeeds',
        '53100',
        'disk_full',
      ],
      ['info', 'commits work again', undefined, undefined],
    ],
  )
})

it('says of a full disk, and of nothing else, that it is full', async test => {
  const { service, clock, submit } = await serviceOnClock(test)
  const mend = await refuseEvents(service, 'disk_full')
  const refused = await service.submit(samplePurchase({ event_id: 'refused' }))
  assert.deepEqual(
    [refused.status, refused.body.message],
    [503, 'The disk of the store is full, so nothing can be stored; try again later.'],
  )
  for (let count = 0; count < 2; count += 1) await submit()
  const readiness = async () =>
    (await service.request('GET', '/readyz', { secret: null })).body.causes
  assert.deepEqual(await readiness(), { commits: 'disk_full' }, 'by the commits that failed')
  clock.seconds += 2
  assert.deepEqual(await readiness(), { commits: 'disk_full' }, 'by the probe')
  await mend()
  await refuseEvents(service, 'too_many_connections')
  const other = await service.submit(samplePurchase({ event_id: 'other' }))
  assert.deepEqual(
    [other.status, other.body.message],
    [503, 'The store is unavailable; try again.'],
  )
  assert.deepEqual(await readiness(), { commits: 'too_many_connections' })
  clock.seconds += 2
  assert.deepEqual(await readiness(), { commits: 'too_many_connections' })
})

it('returns 200 from /readyz after a successful commit, without a probe', async test => {
  const { service, submit, ready } = await serviceOnClock(test)
  const mend = await refuseEvents(service, 'disk_full')
  for (let count = 0; count < 4; count += 1) assert.equal(await submit(), 503)
  assert.deepEqual(await ready(), [503, 'commits'])
  assert.equal(service.server.commitHealth.consecutiveFailures, 4)
  await mend()
  assert.equal(await submit(), 202)
  assert.equal(service.server.commitHealth.consecutiveFailures, 0)
  assert.deepEqual(await ready(), [200])
})

it('returns 200 from /readyz when commits fail only because of their events', async test => {
  const { service, submit, ready } = await serviceOnClock(test)
  await refuseEvents(service, 'check_violation')
  for (let count = 0; count < 4; count += 1) assert.equal(await submit(), 500)
  assert.deepEqual(await ready(), [200])
  assert.deepEqual({ ...service.server.commitHealth.failures }, { store: 0, event: 4 })
})

it('stores nothing when it probes', async test => {
  const { service, submit, ready } = await serviceOnClock(test)
  const mend = await refuseEvents(service, 'disk_full')
  for (let count = 0; count < 3; count += 1) await submit()
  await mend()
  assert.deepEqual(await ready(), [200])
  for (const table of EVERY_TABLE) {
    const { rows } = await service.database.pool.query(`select count(*) from ${table}`)
    assert.equal(rows[0].count, 0, table)
  }
})

it('stays ready while one node commits and reports the failures of the worst node', async () => {
  const told: string[] = []
  const away = Object.assign(new Error('away'), { code: '08006' })
  const health = new CommitHealth({
    probe: () => Promise.reject(away),
    monotonicSeconds: () => 0,
    onFailed: () => told.push('failed'),
    onUnready: () => told.push('unready'),
    onReady: () => told.push('ready'),
  })
  let isAway = false
  const commit = () => (isAway ? Promise.reject(away) : Promise.resolve())
  const first = health.trackCommits(commit)
  const second = health.trackCommits(commit)
  isAway = true
  for (let count = 0; count < 5; count += 1) await assert.rejects(first(null))
  await health.check()
  assert.equal(health.consecutiveFailures, 5)
  for (let count = 0; count < 3; count += 1) await assert.rejects(second(null))
  await assert.rejects(health.check(), /away/)
  isAway = false
  await second(null)
  await health.check()
  assert.equal(health.consecutiveFailures, 5)
  await first(null)
  assert.equal(health.consecutiveFailures, 0)
  assert.deepEqual(told, ['failed', 'failed', 'unready', 'ready'])
})
