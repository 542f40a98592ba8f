import { randomBytes } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { isCitusCluster } from '../db/distribute-tables.ts'
import type { EventRecord } from '../events/event-record.ts'
import { insertEventsInTransaction } from './store.ts'

const PROBE_MILLISECONDS_MAX = 2_000

/** As long as a body may be: a short row may find room where a group of events does not. */
const PROBE_BYTES = 65_536

/**
 * Stores one event as acceptance does, with the largest payload there may be, and takes it back:
 * throws when no event could be stored. It belongs to no tracker, and no one ever sees it.
 */
export async function probeCommit(
  database: Database,
  at: Date,
  trackerId: string = NIL_TRACKER_ID,
): Promise<void> {
  const isCluster = await isCitusCluster(database)
  const client = await database.pool.connect()
  let isBroken = true
  try {
    await client.query(`begin; set local statement_timeout = ${PROBE_MILLISECONDS_MAX}`)
    const entries = [buildProbeRecord(trackerId, at)]
    await insertEventsInTransaction(client, { entries, deliveries: [], isCluster })
    isBroken = false
  } finally {
    const ended = await client.query('rollback').catch((error: Error) => error)
    client.release(isBroken || ended instanceof Error)
  }
}

const NIL_TRACKER_ID = '00000000-0000-0000-0000-000000000000'

function buildProbeRecord(trackerId: string, at: Date): EventRecord {
  const pageUrl = randomBytes(PROBE_BYTES / 2).toString('hex')
  return {
    trackerId,
    eventId: randomBytes(16).toString('hex'),
    space: 'secret',
    createdAt: at,
    eventTime: at,
    eventName: 'probe',
    eventClass: 'verification',
    actionSource: 'system_generated',
    consentBasis: 'legitimate_interest',
    measurementClass: 'modeled',
    attributionJoin: 'none',
    enforcementScope: 'ledger',
    consentNormalizationVersion: '1',
    consentCapturedAt: null,
    eventSource: null,
    parentEventId: null,
    orderId: null,
    valueAmount: null,
    valueCurrency: null,
    valueData: null,
    consent: null,
    notes: { dropped: [], unknownMembers: [] },
    bodyDigest: Buffer.alloc(0),
    payload: { visitorId: null, digests: {}, plain: {}, clickIds: {}, pageUrl },
    session: null,
    withdrawnKeys: [],
    assumedNotWithdrawn: [],
  }
}
