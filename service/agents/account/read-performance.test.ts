import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Performance } from '@signalbox/contract/agents/account.ts'
import {
  type AdAccountFixture,
  assertMatchesSchema,
  createAdAccountFixture,
  startAdAccountFixture,
} from '../../../testing/fixtures/ad-account.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { provisionDestination } from '../../program/provisioning/provision-tracker.ts'
import { bindDestination } from '../../signals/delivery/destination-store.ts'
import { saveReport } from '../../signals/reports/reconciliation-store.ts'
import { EVENTS_READ_MAX, type PerformanceContext, readPerformance } from './read-performance.ts'

it('returns stored and accepted events by name and currency', async test => {
  const account = await startAdAccountFixture(test)
  await submitAll(account, [
    { event_id: '1', value_data: { value: '19.95', currency: 'EUR' } },
    { event_id: '2', value_data: { value: '0.10', currency: 'eur' } },
    { event_id: '3', value_data: { value: '123456789012345.678', currency: 'USD' } },
    { event_id: '4', event_name: 'AddToCart', value_data: { value: '7' } },
    { event_id: '5', event_name: 'AddToCart', value_data: undefined },
  ])
  await account.service.deliver()
  await submitAll(account, [{ event_id: '6', value_data: undefined }])
  const performance = await read(account)
  assertMatchesSchema(Performance, performance)
  assert.deepEqual(
    [performance.ad_account_id, performance.since, performance.until],
    [account.adAccountId, '2026-11-15', '2026-11-21'],
  )
  assert.deepEqual(performance.ledger.events, [
    {
      event_name: 'Purchase',
      stored: 4,
      accepted: 3,
      revenue: [
        { currency: 'EUR', amount: '20.05' },
        { currency: 'USD', amount: '123456789012345.678' },
      ],
    },
    { event_name: 'AddToCart', stored: 2, accepted: 2, revenue: [] },
  ])
  assert.deepEqual(performance.platform.events, [])
})

it('counts a late event on its own day, and excludes earlier days', async test => {
  const account = await startAdAccountFixture(test)
  const times = {
    before: '2026-11-19T23:59:59Z',
    first: '2026-11-20T00:00:00Z',
    second: '2026-11-21T11:00:00Z',
    ahead: '2026-11-21T12:04:00Z',
  }
  for (const [event_id, event_time] of Object.entries(times)) {
    await submitAll(account, [{ event_id, event_time }])
  }
  await account.service.deliver()
  const counts = async (days: number) => {
    const { ledger, since } = await read(account, { days })
    const [{ stored, accepted } = { stored: 0, accepted: 0 }] = ledger.events
    return [since, stored, accepted]
  }
  assert.deepEqual(await counts(1), ['2026-11-21', 2, 2])
  assert.deepEqual(await counts(2), ['2026-11-20', 3, 3])
  assert.deepEqual(await counts(3), ['2026-11-19', 4, 4])
  assert.deepEqual(await counts(90), ['2026-08-24', 4, 4])
})

it('counts test events as stored but not accepted, and no lifecycle events', async test => {
  const account = await startAdAccountFixture(test)
  const { service, tracker } = account
  await service.database.query
    .updateTable('destinations')
    .set({ test_event_code: 'TEST1', test_mode_until: new Date('2026-11-22T00:00:00Z') })
    .where('id', '=', tracker.destinationId)
    .execute()
  await submitAll(account, [
    { event_id: 'tried' },
    { event_id: 'gone', event_name: 'consent_withdrawal', ...LIFECYCLE },
    { event_id: 'probe', event_name: 'signal_verification', ...LIFECYCLE },
  ])
  await service.deliver()
  const { ledger } = await read(account)
  assert.deepEqual(
    ledger.events.map(({ event_name, stored, accepted }) => [event_name, stored, accepted]),
    [['Purchase', 1, 0]],
  )
})

it('counts an event accepted by two destinations of a tracker once', async test => {
  const account = await startAdAccountFixture(test)
  await addDestination(account)
  await submitAll(account, [{ event_id: '1' }, { event_id: '2' }])
  await account.service.deliver()
  const [purchase] = (await read(account)).ledger.events
  assert.deepEqual([purchase?.stored, purchase?.accepted], [2, 2])
})

it('returns counts of the platform by day and dataset', async test => {
  const account = await startAdAccountFixture(test)
  const { destinationId } = account.tracker
  const twin = await addDestination(account, destinationId)
  const other = await addDestination(account)
  const meta = { Purchase: 10, '<b>Lead</b>\u0000': 3 }
  await report(account, { destinationId, day: '2026-11-19', meta, accepted: { Purchase: 6 } })
  await report(account, { destinationId: twin, day: '2026-11-19', meta, accepted: { Purchase: 2 } })
  await report(account, { destinationId: other, day: '2026-11-20', meta: { Purchase: 5 } })
  await report(account, { destinationId, day: '2026-11-20', meta, status: 'unavailable' })
  await report(account, { destinationId, day: '2026-11-14', meta })
  const { platform } = await read(account)
  assert.deepEqual([platform.source, platform.days_reported], ['platform_reports', 2])
  assert.deepEqual(platform.events, [
    { event_name: 'Purchase', counted: 15, sent: 8 },
    { event_name: '<b>Lead</b>\u0000', counted: 3, sent: 0 },
  ])
})

it('excludes events and reports of other workspaces and ad accounts', async test => {
  const ours = await startAdAccountFixture(test)
  const { service } = ours
  const theirs = await createAdAccountFixture(service, await service.newTracker())
  const { adAccountId: second } = await createAdAccountFixture(service, ours.tracker)
  await submitAll(ours, [{ event_id: 'ours' }])
  await submitAll(theirs, [{ event_id: 'theirs', event_name: 'Theirs' }])
  await service.deliver()
  const { destinationId } = theirs.tracker
  await report(theirs, { destinationId, day: '2026-11-20', meta: { Theirs: 9 } })
  const own = await read(ours)
  assert.deepEqual(
    own.ledger.events.map(({ event_name }) => event_name),
    ['Purchase'],
  )
  assert.deepEqual(own.platform.events, [])
  const sibling = await read({ ...ours, principal: { ...ours.principal, adAccountId: second } })
  assert.deepEqual([sibling.ledger.events, sibling.platform.events], [[], []])
  assert.match(sibling.ledger.explanation, /^Nothing is known: no destination/)
  // IDs of different ad accounts return nothing.
  const { workspaceId } = ours.principal
  const mixed = await read({ ...theirs, principal: { ...theirs.principal, workspaceId } })
  assert.deepEqual([mixed.ledger.events, mixed.platform.events], [[], []])
})

it('returns empty figures for an ad account without events', async test => {
  const account = await startAdAccountFixture(test)
  const { ledger, platform } = await read(account)
  assert.deepEqual([ledger.events, platform.events, platform.days_reported], [[], [], 0])
})

it('combines rare event names, with their accepted events', async test => {
  const account = await startAdAccountFixture(test)
  const names = Array.from({ length: 102 }, (_, index) => `Name ${index + 1_000}`)
  await submitAll(
    account,
    ['Purchase', 'Purchase', ...names].map((event_name, index) => ({
      event_id: `e${index}`,
      event_name,
      value_data: { value: '1', currency: 'EUR' },
    })),
  )
  await account.service.deliver()
  const { events } = (await read(account)).ledger
  assert.equal(events.length, 101)
  assert.deepEqual(events[0]?.stored, 2)
  assert.deepEqual(events.at(-1), {
    event_name: '(other names)',
    stored: 3,
    accepted: 3,
    revenue: [{ currency: 'EUR', amount: '3' }],
  })
})

it('starts on a later day for a busy ad account, and explains it', async test => {
  const account = await startAdAccountFixture(test)
  for (let day = 0; day < 3; day += 1) {
    if (day > 0) account.service.clock.advance(2 * 86_400)
    await submitAll(account, [{ event_id: `${day}-a` }, { event_id: `${day}-b` }])
  }
  const begin = async (eventsReadMax: number) => {
    const { since, ledger } = await read(account, {}, { eventsReadMax })
    assert.equal(/these begin on/.test(ledger.explanation), since !== '2026-11-19')
    return [since, ledger.events[0]?.stored]
  }
  assert.deepEqual(await begin(EVENTS_READ_MAX), ['2026-11-19', 6])
  assert.deepEqual(await begin(6), ['2026-11-19', 6])
  assert.deepEqual(await begin(5), ['2026-11-22', 4])
  assert.deepEqual(await begin(3), ['2026-11-24', 2])
  assert.deepEqual(await begin(1), ['2026-11-25', 2])
})

it('returns 422 naming invalid and unknown arguments', async test => {
  const account = await startAdAccountFixture(test)
  for (const days of [0, 91, 1.5, -1, '7', null, [7], 1e9]) {
    await assertRefused(account, { days }, ['days'])
  }
  await assertRefused(account, { ad_account_id: 2 }, ['ad_account_id'])
  await assertRefused(account, { days: 0, account_id: 1, workspace_id: 1 }, [
    ...['account_id', 'days', 'workspace_id'],
  ])
  await assertRefused(account, [], ['body'])
  assert.equal((await read(account, null)).since, '2026-11-15')
})

it('returns 403 without the permission to read', async test => {
  const { service, principal } = await startAdAccountFixture(test)
  const context = { database: service.database, now: service.clock.now }
  const withoutPermission = { ...principal, permissions: [] }
  await assert.rejects(readPerformance(context, withoutPermission, {}), {
    name: 'Refusal',
    status: 403,
  })
})

const LIFECYCLE = {
  consent_basis: 'legitimate_interest',
  user_data: undefined,
  consent: undefined,
  value_data: undefined,
  event_source: undefined,
}

function read(
  { service, principal }: Pick<AdAccountFixture, 'service' | 'principal'>,
  input: unknown = {},
  changes: Partial<PerformanceContext> = {},
) {
  const context = { database: service.database, now: service.clock.now, ...changes }
  return readPerformance(context, principal, input)
}

async function assertRefused(account: AdAccountFixture, input: unknown, fields: string[]) {
  await assert.rejects(read(account, input), error => {
    const { status, errors } = error as { status: number; errors: object }
    assert.deepEqual([status, Object.keys(errors).toSorted()], [422, fields])
    return true
  })
}

async function submitAll(
  { submit }: AdAccountFixture,
  changes: readonly Record<string, unknown>[],
): Promise<void> {
  const replies = await Promise.all(changes.map(change => submit(samplePurchase(change))))
  for (const { status, text } of replies) assert.equal(status, 202, text)
}

/** Adds a destination of the tracker for the ad account, optionally with a shared dataset. */
async function addDestination(
  { service, tracker: { trackerId }, adAccountId }: AdAccountFixture,
  sharedDatasetOf?: string,
): Promise<string> {
  const { database, clock, delivery } = service
  const { credentialKeys } = delivery
  const request = { trackerId, at: clock.now(), credentialKeys }
  const destinationId = await provisionDestination(database, request)
  await bindDestination(database, { trackerId, destinationId, adAccountId })
  if (sharedDatasetOf) {
    await database.pool.query(
      `update destinations set config = (select config from destinations where id = $2)
       where id = $1`,
      [destinationId, sharedDatasetOf],
    )
  }
  return destinationId
}

interface ReportInput {
  destinationId: string
  day: string
  meta: Record<string, number>
  accepted?: Record<string, number>
  status?: 'explained' | 'unavailable'
}

function report({ service, tracker: { trackerId } }: AdAccountFixture, input: ReportInput) {
  const { destinationId, day, meta, accepted = {}, status = 'explained' } = input
  const bucket = { count: 0, basis: 'measured', explanation: 'None.' } as const
  return saveReport(service.database, {
    trackerId,
    destinationId,
    day,
    madeAt: service.clock.now(),
    reconciliation: {
      acceptedCount: 0,
      platformCount: 0,
      eventCounts: { accepted, meta },
      unexplainedResidual: 0,
      status,
      buckets: { pending: bucket } as never,
    },
  })
}
