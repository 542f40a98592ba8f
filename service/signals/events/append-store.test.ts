import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import type { EventRecord } from './event-record.ts'
import { findEventsById } from './event-store.ts'
import type { StoredSession } from './session-store.ts'

function after(seconds: number): Date {
  return new Date(STORED_AT.getTime() + seconds * 1_000)
}

/** An event of one visitor, `seconds` after the first. */
function visit(
  eventId: string,
  seconds: number,
  session: { landingSource?: string; clickIds?: Record<string, string>; visitorId?: string } = {},
): EventRecord {
  const { visitorId = 'visitor-1', landingSource = null, clickIds = {} } = session
  const payload = { visitorId, identityMark: 'm', digests: {}, plain: {}, clickIds }
  const createdAt = after(seconds)
  return ledgerEntry({
    eventId,
    createdAt,
    payload,
    session: { visitorId, landingSource, clickIds },
  })
}

async function sessionOf(database: Database, eventId: string): Promise<StoredSession | null> {
  const [event] = await findEventsById(database, TRACKER_ID, [eventId])
  return event?.session ?? null
}

it('stores new events once and returns the new IDs', async test => {
  const { database } = await createTestDatabase(test)
  const [a, b] = [ledgerEntry({ eventId: 'a' }), ledgerEntry({ eventId: 'b' })]
  assert.deepEqual(await storeEntries(database, [a, b]), ['a', 'b'])
  const changed = { ...b, valueAmount: '1.00' }
  assert.deepEqual(await storeEntries(database, [changed, ledgerEntry({ eventId: 'c' })]), ['c'])
  const [stored] = await findEventsById(database, TRACKER_ID, ['b'])
  assert.equal(stored?.valueAmount, '19.90')
})

it('creates a session on the first visit and updates it on the next', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [
    visit('first', 0, { landingSource: 'https://shop.example/', clickIds: { gclid: 'g1' } }),
  ])
  await storeEntries(database, [
    visit('second', 60, { landingSource: 'https://shop.example/later', clickIds: { fbp: 'p1' } }),
  ])
  assert.deepEqual(await sessionOf(database, 'first'), {
    visitorId: 'visitor-1',
    firstSeenAt: STORED_AT,
    lastSeenAt: after(60),
    landingSource: 'https://shop.example/',
    clickIds: {},
    secretClickIds: { gclid: 'g1', fbp: 'p1' },
    pageClickIgnoredAt: null,
  })
})

it('merges several events of one visitor in one commit', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [
    visit('e1', 1, { clickIds: { gclid: 'old', fbp: 'p1' } }),
    visit('e2', 2, { landingSource: 'https://shop.example/2' }),
    visit('e3', 3, { landingSource: 'https://shop.example/3', clickIds: { gclid: 'new' } }),
    visit('other', 3, { visitorId: 'visitor-2', clickIds: { gclid: 'theirs' } }),
  ])
  assert.deepEqual(await sessionOf(database, 'e1'), {
    visitorId: 'visitor-1',
    firstSeenAt: after(1),
    lastSeenAt: after(3),
    landingSource: 'https://shop.example/2',
    clickIds: {},
    secretClickIds: { gclid: 'new', fbp: 'p1' },
    pageClickIgnoredAt: null,
  })
  assert.deepEqual((await sessionOf(database, 'other'))?.secretClickIds, { gclid: 'theirs' })
})

it('does not update the session for a duplicate event', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [visit('e1', 0, { clickIds: { gclid: 'first' } })])
  const before = await sessionOf(database, 'e1')
  await storeEntries(database, [visit('e1', 99, { clickIds: { gclid: 'second' } })])
  assert.deepEqual(await sessionOf(database, 'e1'), before)

  await storeEntries(database, [
    visit('e1', 100, { clickIds: { gclid: 'third' } }),
    visit('e0', 50, { clickIds: { ttclid: 't' } }),
  ])
  assert.deepEqual(await sessionOf(database, 'e1'), {
    visitorId: 'visitor-1',
    firstSeenAt: STORED_AT,
    lastSeenAt: after(50),
    landingSource: null,
    clickIds: {},
    secretClickIds: { gclid: 'first', ttclid: 't' },
    pageClickIgnoredAt: null,
  })
})

it('keeps the first time of a repeated click ID and replaces it with a new click ID', async test => {
  const { database } = await createTestDatabase(test)
  const clicks = async (eventId: string, fbc: string) => {
    await storeEntries(database, [visit(eventId, 1, { clickIds: { fbc } })])
    return (await sessionOf(database, eventId))?.secretClickIds.fbc
  }
  assert.equal(await clicks('a', 'fb.1.1795262400000.AbC'), 'fb.1.1795262400000.AbC')
  assert.equal(await clicks('b', 'fb.1.1795262499999.AbC'), 'fb.1.1795262400000.AbC')
  assert.equal(await clicks('c', 'fb.1.1795262500000.aBc'), 'fb.1.1795262500000.aBc')
})

it('keeps the newer click when an event with an older one arrives late', async test => {
  const { database } = await createTestDatabase(test)
  const newer = { clickIds: { fbc: 'fb.1.1795262500000.new', gclid: 'first' } }
  const older = { clickIds: { fbc: 'fb.1.1795262400000.old', gclid: 'second' } }
  await storeEntries(database, [visit('stored', 1, newer)])
  await storeEntries(database, [visit('late', 2, older)])
  const joined = { fbc: 'fb.1.1795262500000.new', gclid: 'second' }
  assert.deepEqual((await sessionOf(database, 'late'))?.secretClickIds, joined)

  const other = { visitorId: 'visitor-2' }
  await storeEntries(database, [
    visit('same-1', 1, { ...other, ...newer }),
    visit('same-2', 2, { ...other, ...older }),
  ])
  assert.deepEqual((await sessionOf(database, 'same-2'))?.secretClickIds, joined)
})

it('does not write the session of a visitor who brings nothing new within an hour', async test => {
  const { database } = await createTestDatabase(test)
  if (await isCitusCluster(database)) return test.skip('a cluster writes every session')
  const versionOf = async () => {
    const { rows } = await database.pool.query('select xmin::text, ctid::text from sessions')
    return rows
  }
  const fbc = (milliseconds: number) => `fb.1.${milliseconds}.AbC`
  const clickIds = { gclid: 'g1', fbc: fbc(1_795_262_400_000) }
  const landingSource = 'https://shop.example/'
  const first = visit('first', 0, { landingSource, clickIds })
  await storeEntries(database, [first])
  const stored = await versionOf()
  const session = { visitorId: 'visitor-1', landingSource, clickIds: {} }
  const known: [string, Record<string, string>][] = [
    ['no click', {}],
    ['the same clicks', clickIds],
    ['one of them', { gclid: 'g1' }],
    ['the same click, seen later', { fbc: fbc(1_795_262_499_999) }],
    ['an older click', { fbc: 'fb.1.1795262300000.old' }],
  ]
  for (const [name, named] of known) {
    const other = { landingSource: 'https://shop.example/other', clickIds: named }
    await storeEntries(database, [visit(name, 3_599, other)])
    assert.deepEqual(await versionOf(), stored, name)
  }
  assert.deepEqual((await sessionOf(database, 'first'))?.lastSeenAt, STORED_AT)
  // After an hour, after a lookup of withdrawals, and with a click that is new.
  const changes: [EventRecord, number][] = [
    [visit('later', 3_600), 3_600],
    [{ ...visit('due', 3_700), session: { ...session, isDue: true } }, 3_700],
    [visit('new', 3_701, { clickIds: { gclid: 'g2' } }), 3_701],
    [visit('more', 3_702, { clickIds: { ttclid: 't1' } }), 3_702],
  ]
  for (const [event, seconds] of changes) {
    await storeEntries(database, [event])
    assert.deepEqual(
      (await sessionOf(database, 'first'))?.lastSeenAt,
      after(seconds),
      event.eventId,
    )
  }
  assert.deepEqual((await sessionOf(database, 'first'))?.secretClickIds, {
    gclid: 'g2',
    fbc: fbc(1_795_262_400_000),
    ttclid: 't1',
  })
})

it('writes a page session for what is new and for a click that is ignored', async test => {
  const { database } = await createTestDatabase(test)
  if (await isCitusCluster(database)) return test.skip('a cluster writes every session')
  const ofPage = (eventId: string, seconds: number, clickIds: Record<string, string>) => ({
    ...visit(eventId, seconds, { clickIds }),
    space: 'publishable' as const,
  })
  const stateOf = async () => {
    const { rows } = await database.pool.query(
      'select click_ids, last_seen_at, page_click_ignored_at from sessions',
    )
    return rows[0]
  }
  await storeEntries(database, [ofPage('first', 0, { gclid: 'g1' })])
  await storeEntries(database, [ofPage('same', 10, { gclid: 'g1' })])
  assert.deepEqual(await stateOf(), {
    click_ids: { gclid: 'g1' },
    last_seen_at: STORED_AT,
    page_click_ignored_at: null,
  })
  await storeEntries(database, [ofPage('another', 20, { gclid: 'g2' })])
  assert.deepEqual((await stateOf()).page_click_ignored_at, after(20))
  await storeEntries(database, [ofPage('more', 30, { ttclid: 't1' })])
  assert.deepEqual((await stateOf()).click_ids, { ttclid: 't1', gclid: 'g1' })
  await storeEntries(database, [ofPage('less', 40, { gclid: 'g1' })])
  assert.deepEqual((await stateOf()).last_seen_at, after(30))
  // What the tracker secret names has a column of its own.
  await storeEntries(database, [visit('secret', 31, { clickIds: { gclid: 'g1' } })])
  assert.deepEqual((await sessionOf(database, 'first'))?.secretClickIds, { gclid: 'g1' })
})

it('never moves the time of the last visit back', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [visit('e1', 60)])
  await storeEntries(database, [visit('e2', 10)])
  assert.deepEqual((await sessionOf(database, 'e2'))?.lastSeenAt, after(60))
})

it('stores the latest withdrawal of a visitor under each of their keys', async test => {
  const { database } = await createTestDatabase(test)
  const withdrawal = (eventId: string, seconds: number) =>
    ledgerEntry({
      eventId,
      createdAt: after(seconds),
      eventName: 'consent_withdrawal',
      payload: null,
      withdrawnKeys: ['visitor-1', 'external_id:abc'],
    })
  await storeEntries(database, [withdrawal('w1', 10), withdrawal('w2', 30)])
  await storeEntries(database, [withdrawal('w3', 20)])
  await storeEntries(database, [withdrawal('w2', 90)])
  const { rows } = await database.pool.query(
    'select visitor_id, withdrawn_at from consent_withdrawals order by visitor_id',
  )
  assert.deepEqual(rows, [
    { visitor_id: 'external_id:abc', withdrawn_at: after(30) },
    { visitor_id: 'visitor-1', withdrawn_at: after(30) },
  ])
})

it('separates two trackers that use the same IDs', async test => {
  const { database } = await createTestDatabase(test)
  const trackerId = '0190aaaa-0000-7000-8000-000000000002'
  const own = visit('same', 0, { clickIds: { gclid: 'own' } })
  const other = { ...visit('same', 0, { clickIds: { gclid: 'other' } }), trackerId }
  await storeEntries(database, [own, other])
  assert.deepEqual((await sessionOf(database, 'same'))?.secretClickIds, { gclid: 'own' })
  const [event] = await findEventsById(database, trackerId, ['same'])
  assert.deepEqual(event?.session?.secretClickIds, { gclid: 'other' })
})

it('commits overlapping batches of two processes without a deadlock', async test => {
  const { database } = await createTestDatabase(test)
  const group = (name: string, visitors: readonly number[]) =>
    visitors.map(number => {
      const visitorId = `visitor-${number}`
      const event = visit(`${name}-${number}`, 1, { visitorId })
      return { ...event, withdrawnKeys: [visitorId] }
    })
  const numbers = Array.from({ length: 200 }, (_, index) => index)
  const rounds = Array.from({ length: 8 }, (_, round) =>
    storeEntries(database, group(`r${round}`, round % 2 ? numbers : numbers.toReversed())),
  )
  const stored = await Promise.all(rounds)
  assert.equal(stored.flat().length, 1_600)
})
