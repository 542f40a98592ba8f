import { randomBytes } from 'node:crypto'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import { UNMARKED_IDENTITY } from '../events/column-encoding.ts'
import type { EventRecord } from '../events/event-record.ts'
import { insertEventsInTransaction } from './commit-store.ts'

const PROBE_MILLISECONDS_MAX = 2_000

/** The size limit of a body: on a full disk, a short row may still fit where events do not. */
const PROBE_BYTES = 65_536

/**
 * Inserts one event of the largest size as ingestion does and rolls it back. Throws when events
 * cannot be stored. The event belongs to no tracker and is never visible.
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
    const records = [buildProbeRecord(trackerId, at)]
    await insertEventsInTransaction(client, { records, deliveries: [], isCluster })
    isBroken = false
  } finally {
    const rolledBack = await client.query('rollback').catch((error: Error) => error)
    client.release(isBroken || rolledBack instanceof Error)
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
    notes: { dropped: [], unknownMembers: [], redacted: [] },
    bodyDigest: Buffer.alloc(0),
    payload: {
      visitorId: null,
      identityMark: UNMARKED_IDENTITY,
      digests: {},
      plain: {},
      clickIds: {},
      pageUrl,
    },
    session: null,
    withdrawnKeys: [],
    assumedNotWithdrawn: [],
  }
}
