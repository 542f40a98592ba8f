import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  ledgerEntry,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { findEventsById, recordDifferingSubmissions } from './event-store.ts'
import { findChildEvents } from './lineage-store.ts'

const OTHER_TRACKER_ID = '0190aaaa-0000-7000-8000-000000000002'

const PAGE_URL = 'https://shop.example/?a=1&b="2"'

it('returns every member of an event as stored', async test => {
  const { database } = await createTestDatabase(test)
  const event = ledgerEntry({
    eventId: 'odd "id", {with} \\ everything',
    eventTime: new Date('2026-11-20T10:00:00.123Z'),
    consentCapturedAt: new Date('2026-11-19T00:00:00.000Z'),
    eventSource: 'https://shop.example/',
    parentEventId: 'parent',
    orderId: '1001',
    valueAmount: '123456789012345.678900',
    valueData: '{"value":"123456789012345.678900","contents":[{"id":"sku"}]}',
    consent: '{"decision":{"outcome":"granted"}}',
    notes: {
      dropped: [{ field: 'user_data.em', reason: 'no email' }],
      unknownMembers: ['color'],
      redacted: ['value_data.order_id'],
    },
    payload: {
      visitorId: 'visitor-1',
      identityMark: 'm',
      digests: { em: ['a'.repeat(64), 'b'.repeat(64)] },
      plain: { client_ip_address: '203.0.113.7' },
      clickIds: { fbp: 'fb.1.1795262400000.1' },
      pageUrl: PAGE_URL,
      details: { referrer_url: 'https://mail.example/', app_data: { vendor_id: 'v' } },
    },
    session: { visitorId: 'visitor-1', landingSource: 'https://shop.example/', clickIds: {} },
  })
  await storeEntries(database, [event])
  const [stored] = await findEventsById(database, TRACKER_ID, [event.eventId])
  const { pageUrl: _, ...payload } = event.payload ?? {}
  assert.deepEqual(stored, {
    eventId: event.eventId,
    space: 0,
    createdAt: STORED_AT,
    eventTime: event.eventTime,
    eventName: 'Purchase',
    eventClass: 'conversion',
    actionSource: 'website',
    consentBasis: 'consent',
    measurementClass: 'advertising',
    attributionJoin: 'allowed',
    enforcementScope: 'event',
    consentNormalizationVersion: '1',
    consentCapturedAt: event.consentCapturedAt,
    eventSource: PAGE_URL,
    parentEventId: 'parent',
    orderId: '1001',
    valueAmount: '123456789012345.678900',
    valueCurrency: 'EUR',
    valueData: { value: '123456789012345.678900', contents: [{ id: 'sku' }] },
    consent: { decision: { outcome: 'granted' } },
    notes: {
      dropped: [{ field: 'user_data.em', reason: 'no email' }],
      unknown_members: ['color'],
      redacted: ['value_data.order_id'],
    },
    isErased: false,
    differingSubmissions: 0,
    lastDifferingAt: null,
    payload,
    session: {
      visitorId: 'visitor-1',
      firstSeenAt: STORED_AT,
      lastSeenAt: STORED_AT,
      landingSource: 'https://shop.example/',
      clickIds: {},
      secretClickIds: {},
      pageClickIgnoredAt: null,
    },
  })
})

it('stores default values as null and returns them', async test => {
  const { database } = await createTestDatabase(test)
  const uncommon = {
    eventClass: 'lifecycle',
    actionSource: 'physical_store',
    consentBasis: 'legitimate_interest',
    measurementClass: 'ledger_only',
    attributionJoin: 'none',
    enforcementScope: 'ledger',
    consentNormalizationVersion: '2',
  } as const
  await storeEntries(database, [ledgerEntry(), ledgerEntry({ eventId: 'event-2', ...uncommon })])
  const columns = `event_class, action_source, consent_basis, measurement_class, attribution_join,
    enforcement_scope, consent_normalization_version`
  const { rows } = await database.pool.query(`select ${columns} from events order by event_id`)
  assert.deepEqual(
    rows.map(row => Object.values(row)),
    [Array(7).fill(null), Object.values(uncommon)],
  )
  const [common] = await findEventsById(database, TRACKER_ID, ['event-1'])
  const [second] = await findEventsById(database, TRACKER_ID, ['event-2'])
  const membersOf = (event: object = {}) =>
    Object.keys(uncommon).map(name => event[name as keyof typeof event])
  assert.deepEqual(membersOf(common), membersOf(ledgerEntry()))
  assert.deepEqual(membersOf(second), Object.values(uncommon))
})

it('finds events of the given tracker only', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [ledgerEntry()])
  assert.deepEqual(await findEventsById(database, OTHER_TRACKER_ID, ['event-1']), [])
  assert.deepEqual(await findEventsById(database, TRACKER_ID, ['event-2', '']), [])
})

it('finds a thousand events in one query', async test => {
  const { database } = await createTestDatabase(test)
  const ids = Array.from({ length: 1_000 }, (_, index) => `event-${index}`)
  await storeEntries(
    database,
    ids.map(eventId => ledgerEntry({ eventId })),
  )
  const found = await findEventsById(database, TRACKER_ID, ids)
  assert.deepEqual(found.map(({ eventId }) => eventId).sort(), ids.toSorted())
})

it('finds up to a hundred children of an event, oldest first', async test => {
  const { database } = await createTestDatabase(test)
  const child = (index: number) =>
    ledgerEntry({
      eventId: `child-${index}`,
      parentEventId: 'parent',
      createdAt: new Date(STORED_AT.getTime() - index * 1_000),
    })
  const children = Array.from({ length: 101 }, (_, index) => child(index))
  const otherTracker = { ...child(500), trackerId: OTHER_TRACKER_ID }
  await storeEntries(database, [...children, otherTracker, ledgerEntry({ eventId: 'parent' })])
  const found = await findChildEvents(database, TRACKER_ID, { eventId: 'parent', space: 0 })
  assert.equal(found.length, 100)
  assert.equal(found[0]?.eventId, 'child-100')
  assert.equal(found[99]?.eventId, 'child-1')
})

it('counts only submissions with a different body', async test => {
  const { database } = await createTestDatabase(test)
  const event = ledgerEntry()
  await storeEntries(database, [event, ledgerEntry({ eventId: 'event-2' })])
  const again = (eventId: string, seconds: number, bodyDigest: Buffer) => ({
    trackerId: TRACKER_ID,
    space: 'secret' as const,
    eventId,
    bodyDigest,
    at: new Date(STORED_AT.getTime() + seconds * 1_000),
  })
  const other = Buffer.alloc(32, 1)
  const submissions = [
    again('event-1', 10, event.bodyDigest),
    again('event-1', 30, other),
    again('event-1', 20, other),
    again('unknown', 20, other),
  ]
  const differing = await recordDifferingSubmissions(database, submissions)
  assert.deepEqual(differing, submissions.slice(1, 3))
  const [first] = await findEventsById(database, TRACKER_ID, ['event-1'])
  assert.equal(first?.differingSubmissions, 2)
  assert.deepEqual(first?.lastDifferingAt, new Date(STORED_AT.getTime() + 30_000))
  const [second] = await findEventsById(database, TRACKER_ID, ['event-2'])
  assert.equal(second?.differingSubmissions, 0)
})

it('compares a body with a digest stored in full length', async test => {
  const { database } = await createTestDatabase(test)
  const event = ledgerEntry()
  await storeEntries(database, [event])
  await database.pool.query('update events set body_digest = $1', [event.bodyDigest])
  const again = {
    trackerId: TRACKER_ID,
    space: 'secret',
    eventId: 'event-1',
    at: STORED_AT,
  } as const
  await recordDifferingSubmissions(database, [
    { ...again, bodyDigest: event.bodyDigest },
    { ...again, bodyDigest: Buffer.alloc(32, 1) },
  ])
  const [stored] = await findEventsById(database, TRACKER_ID, ['event-1'])
  assert.equal(stored?.differingSubmissions, 1)
})
