import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { decideAccepted, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { singleNode } from '../../runtime/db/store-nodes.ts'
import type { StoreActivity } from '../delivery/destination-queue-store.ts'
import { DestinationRouteCache } from '../delivery/plan-store.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { type CommitOutcome, createEventCommitter } from './commit-events.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import { GroupCommit } from './group-commit.ts'

const PLATFORMS = createOfflinePlatforms()

/** SQLSTATE: PostgreSQL takes no NUL in text. The checks at the border never let one through. */
const NUL_IN_TEXT = '22021'

it('stores the other events of a group when PostgreSQL rejects one', async test => {
  const service = await startTestService(test)
  const commits = committer(service)
  const drafts = Array.from({ length: 9 }, (_, index) =>
    draftOf(service, `event-${index}`, index === 4 ? 'bad\0name' : 'Purchase'),
  )
  const results = await Promise.allSettled(drafts.map(draft => commits.submit(draft)))
  for (const [index, result] of results.entries()) {
    const read = await service.read(`event-${index}`)
    if (index === 4) {
      assert.equal(result.status === 'rejected' && result.reason.code, NUL_IN_TEXT)
      assert.equal(read.status, 404)
    } else {
      assert.deepEqual(result, { status: 'fulfilled', value: { isNew: true } })
      assert.equal(read.body.deliveries.length, 1)
    }
  }
})

it('does not halve a group that waits for a lock', async test => {
  const service = await startTestService(test)
  const holder = await service.database.pool.connect()
  test.after(() => holder.release())
  await holder.query('begin; lock table events in access exclusive mode')
  const sizes: number[] = []
  const commits = committer(service, { onCommit: size => sizes.push(size) })
  const drafts = ['a', 'b', 'c', 'd'].map(id => draftOf(service, id, 'Purchase'))
  const results = await Promise.allSettled(drafts.map(draft => commits.submit(draft)))
  await holder.query('commit')
  const codes = results.map(result => result.status === 'rejected' && result.reason.code)
  assert.deepEqual(codes, ['55P03', '55P03', '55P03', '55P03'])
  assert.deepEqual(sizes, [4])
})

it('treats the first draft of an event ID in a group as new and the others as duplicates', async test => {
  const service = await startTestService(test)
  const names = ['Purchase', 'Purchase', 'Lead', 'Refund']
  const drafts = names.map(name => draftOf(service, 'same', name))
  const commits = committer(service)
  const outcomes = await Promise.all(drafts.map(draft => commits.submit(draft)))
  assert.deepEqual(
    outcomes.map(({ isNew }) => isNew),
    [true, false, false, false],
  )
  const { event, deliveries } = (await service.read('same')).body
  assert.equal(event.event_name, 'Purchase')
  assert.match(deliveries[0].explanation, /received again 2 times with a different body/)
})

it('accepts duplicates even when recording them fails', async test => {
  const service = await startTestService(test)
  const failures: unknown[] = []
  const commits = committer(service, { onNoteError: error => failures.push(error) })
  await commits.submit(draftOf(service, 'same', 'Purchase'))
  await service.database.pool.query(
    'alter table events add constraint never check (differing_submissions = 0)',
  )
  assert.deepEqual(await commits.submit(draftOf(service, 'same', 'Lead')), { isNew: false })
  assert.equal(failures.length, 1)
})

it('announces the trackers of stored events, and whether deliveries are due', async test => {
  const service = await startTestService(test)
  const announced: boolean[] = []
  const commits = committer(service, {
    onEventsStored: ({ trackerIds, hasDueDeliveries }) => {
      assert.deepEqual([...trackerIds], [service.tracker.trackerId])
      announced.push(hasDueDeliveries)
    },
  })
  const purchase = draftOf(service, 'one', 'Purchase')
  await commits.submit(purchase)
  assert.deepEqual(announced, [true])
  await commits.submit(purchase)
  await commits.submit(draftOf(service, 'bye', 'consent_withdrawal'))
  assert.deepEqual(announced, [true, false])
})

it('looks up the destinations and delivery ids of all trackers of a group at once', async test => {
  const service = await startTestService(test)
  const trackers = [service.tracker]
  while (trackers.length < 20) trackers.push(await service.newTracker())
  const commits = committer(service)
  const query = test.mock.method(service.database.pool, 'query')
  const drafts = trackers.map(({ trackerId }) => ({
    ...draftOf(service, 'one', 'Purchase'),
    trackerId,
  }))
  const outcomes = await Promise.all(drafts.map(draft => commits.submit(draft)))
  assert.ok(outcomes.every(({ isNew }) => isNew))
  const names = query.mock.calls.map(({ arguments: [asked] }) => (asked as { name?: string }).name)
  // The one without a name asks once whether the store is a cluster.
  const prepared = names.filter(name => name !== undefined)
  assert.deepEqual(prepared, ['find-destination-routes', 'reserve-delivery-ids', 'insert-events'])
  const { rows } = await service.database.pool.query(
    'select count(distinct tracker_id) as count from delivery_queue',
  )
  assert.equal(rows[0].count, 20)
})

it('releases the parameters of a finished commit', async test => {
  const service = await startTestService(test)
  const { pool } = service.database
  const asked: { name?: string; values?: string[] }[] = []
  const query = pool.query.bind(pool) as (asked: object) => Promise<unknown>
  Object.assign(pool, {
    query: (statement: object, ...rest: []) => {
      asked.push(statement)
      return query(statement, ...rest)
    },
  })
  assert.deepEqual(await committer(service).submit(draftOf(service, 'one', 'Purchase')), {
    isNew: true,
  })
  const inserts = asked.filter(({ name }) => name === 'insert-events')
  assert.deepEqual(
    inserts.map(({ values }) => values),
    [[]],
  )
})

it('sees a withdrawal that commits after the tracker was looked up', async test => {
  const service = await startTestService(test)
  const { pool } = service.database
  const { trackerId } = service.tracker
  const withdraw = (visitorId: string) =>
    pool.query(
      `insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
       values ($1::uuid, $2::text, $3::timestamptz)`,
      [trackerId, visitorId, service.clock.now()],
    )
  // The tracker has a withdrawal of another person, of which the committer does not know yet.
  await withdraw('another')
  let inserts = 0
  const query = pool.query.bind(pool) as (asked: object) => Promise<unknown>
  Object.assign(pool, {
    query: async (statement: { name?: string }, ...rest: []) => {
      if (statement.name === 'insert-events') {
        inserts += 1
        if (inserts === 2) await withdraw('v-withdrawing')
      }
      return query(statement, ...rest)
    },
  })
  const draft = { ...draftOf(service, 'racing', 'Purchase'), visitorId: 'v-withdrawing' }
  const other = { ...draftOf(service, 'unaffected', 'Purchase'), visitorId: 'v-other' }
  const commits = committer(service)
  const outcomes = await Promise.all([commits.submit(draft), commits.submit(other)])
  assert.deepEqual(outcomes, [{ isNew: true }, { isNew: true }])
  assert.equal(inserts, 3)
  const statusOf = async (id: string) => (await service.read(id)).body.deliveries[0].status
  assert.equal(await statusOf('racing'), 'skipped:consent')
  assert.equal(await statusOf('unaffected'), 'queued')
  // Now it knows of the tracker and checks the keys at once.
  await commits.submit({ ...draftOf(service, 'next', 'Purchase'), visitorId: 'v-next' })
  assert.equal(inserts, 4)
})

interface Observers {
  onNoteError?: (error: unknown) => void
  onEventsStored?: (activity: StoreActivity) => void
  /** Gets the size of each group. */
  onCommit?: (size: number) => void
}

function committer(
  { database, delivery, clock }: TestService,
  { onNoteError = assert.ifError, onEventsStored = () => {}, onCommit = () => {} }: Observers = {},
): GroupCommit<EventDraft, CommitOutcome> {
  const { platforms } = delivery
  const routes = new DestinationRouteCache(singleNode(database), clock.now)
  const erasureKey = () => Promise.reject(new Error('no person is erased here'))
  const commit = createEventCommitter({
    database,
    platforms,
    routes,
    erasureKey,
    onEventsStored,
    onDuplicateRecordError: onNoteError,
  })
  return new GroupCommit({
    commit: drafts => {
      onCommit(drafts.length)
      return commit(drafts)
    },
    itemsMax: 1_000,
    queueMax: 1_000,
  })
}

function draftOf(service: TestService, eventId: string, event_name: string): EventDraft {
  const body = samplePurchase({ event_name }) as unknown as EventSubmission
  const receivedAt = service.clock.now()
  const moment = { receivedAt, eventTime: receivedAt }
  const decision = decideAccepted(body, receivedAt)
  const { trackerId } = service.tracker
  return draftEvent(body, { platforms: PLATFORMS, trackerId, eventId, decision, ...moment })
}
